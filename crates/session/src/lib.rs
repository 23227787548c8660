//! A session of PostgreSQL, from the connection string to its end: libpq's rules for connecting, TLS, liveness, and
//! the class of each failure.
//!
//! The modules, from the ground up: [`error`] is the error type and its classes; `failure` words connection
//! failures; `tls` and [`conninfo`] are libpq's rules; [`connect`] opens connections; [`template`] fills in SQL.
//! The crate knows no tables: its caller decides what a session is for.

pub mod connect;
pub mod conninfo;
pub mod error;
mod failure;
pub mod lost;
pub mod runtime;
pub mod template;
mod tls;

pub use error::kind::Kind;
pub use error::{Error, Result};
