//! Arrow values as PostgreSQL's: rows of COPY BINARY and of COPY text. The column of the target determines how a
//! value is written. The crate uses no files, sockets, threads, clock, async or SQL.
//!
//! ```text
//! batch -> source -> fit -> binary, text
//! arrays   a row's   does   the two ways
//!          value     it?    to write it
//! ```
//!
//! A [`Mapping`] rejects fields that no row could load, as a [`FieldMismatch`]. A value that its column cannot hold
//! without loss is an [`UnfitValue`]: nothing is truncated or moved to another time zone, and only [`Inexact::Round`]
//! rounds. The two writers are independent, so that a mistake of one shows in a comparison with the other.

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

pub use bound::{BoundBatch, RowError, UnfitValue};
pub use inexact::Inexact;
pub use mapping::{FieldMismatch, Mapping};
