//! Loads rows into partitioned PostgreSQL tables, and into plain ones.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use pgsluice::{Control, Inputs, Job, Load, Target};
//!
//! // CREATE TABLE events (id int8, at timestamptz) PARTITION BY RANGE (at)
//! let mut job = Job::new("events");
//! job.input.files = Inputs::resolve(["events-*.csv.gz"])?;
//! job.input.format = pgsluice::core::format::Format::csv();
//! let target = Target::from_url("postgresql://localhost/shop")?;
//! let summary = Load::new(job, target).run(&Arc::new(Control::default()))?;
//! println!("{} rows are in the table", summary.rows_loaded);
//! # Ok::<(), pgsluice::Error>(())
//! ```
//!
//! A [`Job`] contains all options, a [`Load`] runs it, and a [`Control`] watches and stops it. A [`Writer`]
//! takes rows and record batches from a long-running program.
//!
//! The hidden modules serve the command line and the Python package, and may change in any release.

mod bucket;
#[doc(hidden)]
pub mod control;
#[doc(hidden)]
pub mod counts;
mod duplicates;
#[doc(hidden)]
pub mod error;
#[doc(hidden)]
pub mod exchange;
#[doc(hidden)]
pub mod gather;
#[doc(hidden)]
pub mod inspect;
#[doc(hidden)]
pub mod job;
#[doc(hidden)]
pub mod ledger;
#[doc(hidden)]
pub mod load;
#[doc(hidden)]
pub mod metrics;
#[doc(hidden)]
pub mod moving;
#[doc(hidden)]
pub mod partitions;
#[doc(hidden)]
pub mod pg;
#[doc(hidden)]
pub mod plan;
mod rejects;
mod route;
#[doc(hidden)]
pub mod row_counts;
mod sink;
#[doc(hidden)]
pub mod source;
#[doc(hidden)]
pub mod testing;
#[doc(hidden)]
pub mod writer;

pub use control::{Control, Event, Events, Level, WaitReason};
pub use counts::summary::Summary;
pub use error::kind::Kind;
pub use error::{Error, Result};
pub use job::{InputOptions, Job};
pub use load::Load;
pub use metrics::MetricsFile;
pub use pg::conninfo::Target;
pub use pgsluice_core as core;
#[doc(hidden)]
pub use pgsluice_session::runtime::runtime;
pub use source::{FileFormat, Header, Inputs, Relation};
pub use writer::{Durability, Receipt, Writer};
