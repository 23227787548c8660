//! Arrow values as PostgreSQL's: rows of COPY BINARY and of COPY text. How a value is written is chosen by
//! the column of the target. No files, sockets, threads, clock, async or SQL.
//!
//! ```text
//! batch -> source -> fit -> binary, text
//! arrays   a row's   does   the two ways
//!          value     it?    to write it
//! ```
//!
//! A [`Mapping`] refuses what no row of a schema could give the table, a [`Misfit`]. A value that its
//! column cannot hold without loss is an [`Unfit`]: nothing is cut or moved to another zone, and only
//! [`Inexact::Round`] rounds.
//! The two writers know nothing of each other: what one gets wrong, the other shows.

mod admit;
mod array;
mod binary;
mod bound;
mod codec;
mod composite;
mod decimal;
mod extension;
mod fit;
mod inexact;
mod json;
mod mapping;
mod oid;
mod quote;
mod scalar;
mod source;
mod spell;
mod text;
mod time;
mod writer;

pub use bound::{BoundBatch, Unfit, Unwritten};
pub use inexact::Inexact;
pub use mapping::{Mapping, Misfit};
