//! The error type of the session crate, and the types that describe errors in more detail.

pub use pgsluice_session::error::{
    CommandChange, Error, Left, Location, Named, Remedy, Result, Setting, TABLE, Unit, Words,
    backoff, command, is_stream, on_one_line, option, plain_io, policy, printable, quote_shell,
};
pub(crate) use pgsluice_session::error::{kind, sqlstate};
