//! Where bytes come from: files, directories, glob patterns and standard input.

pub(crate) mod reading;
pub(crate) mod splits;
pub(crate) mod starts;

mod ahead;
mod fingerprint;
mod header;
mod inputs;
mod kept;
mod original;
mod reader;

pub(crate) use fingerprint::{Fingerprint, OfStream, changed};
pub use header::Header;
pub use inputs::{Input, Inputs};
pub use reader::{Reader, Split};
