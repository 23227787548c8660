//! The Rust API of pgsluice: plan and load, and the partition tree.
//!
//! [`Loader::run`] is the whole flow; a [`Job`] says what can be asked of it.

mod bucket;
pub mod control;
pub mod counts;
mod duplicates;
pub mod error;
pub mod exchange;
pub mod fate;
pub mod gather;
pub mod inspect;
pub mod job;
pub mod ledger;
pub mod load;
pub mod partitions;
pub mod pg;
pub mod plan;
mod rejects;
mod route;
mod sink;
pub mod source;
pub mod testing;
pub mod writer;

pub use control::Control;
pub use counts::summary::Summary;
pub use error::kind::Kind;
pub use error::{Error, Result};
pub use job::Job;
pub use load::Loader;
pub use pg::conninfo::Target;
pub use pgsluice_core as core;
pub use pgsluice_session::runtime::runtime;
pub use source::{Header, Inputs};
pub use writer::Writer;
