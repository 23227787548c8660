//! The Rust API of pgsluice: plan and load, the partition tree, and the embedded server.
//!
//! [`load::load`] is the whole flow; [`config`] says what can be asked of it.

mod atomic;
mod bucket;
pub mod config;
pub mod control;
pub mod counts;
pub mod embedded;
pub mod error;
pub mod exchange;
mod fate;
pub mod inspect;
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

pub use error::kind::Kind;
pub use error::{Error, Result};
pub use pg::runtime::runtime;
pub use pgsluice_core as core;
