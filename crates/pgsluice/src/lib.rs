//! The Rust API of pgsluice: plan and load, the partition tree, and the embedded server.
//!
//! [`load::load`] is the whole flow; [`config`] says what can be asked of it.

mod again;
mod ask;
mod atomic;
pub mod backoff;
mod bucketing;
mod busy;
mod caution;
mod closing;
pub mod config;
pub mod control;
pub mod embedded;
pub mod ending;
pub mod error;
pub mod exchange;
pub mod failpoint;
pub mod flaw;
mod flow;
mod handful;
mod kind;
mod lag;
pub mod ledger;
pub mod load;
mod lock_watch;
mod opening;
mod outcome;
pub mod partitions;
pub mod pg;
pub mod plan;
pub mod policy;
pub mod preview;
mod queue;
mod reading;

mod reconcile;
mod rejects;
pub mod report;
mod routing;
mod runtime;
pub mod selftest;
mod sink;
pub mod source;
mod splits;
pub mod survey;
pub mod tree;
pub mod verify;
mod walk;

pub use error::{Error, Result};
pub use kind::Kind;
pub use pgsluice_core as core;
pub use runtime::runtime;
