//! The Rust API of pgsluice: sources, catalogue, plan, load, and the embedded server.

pub mod embedded;
pub mod error;
pub mod pg;

pub use error::{Error, Kind, Result};
