//! The pure part of pgsluice: bytes in, bytes out. No files, sockets, threads, clock, async or SQL.

pub mod format;
pub mod parse;
pub mod position;
pub mod split;
