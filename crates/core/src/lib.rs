//! The pure part of pgsluice: bytes in, bytes out. No files, sockets, threads, clock, async or SQL.

pub mod hash;
pub mod position;
pub mod types;
