//! The pure part of pgsluice: bytes in, bytes out. No files, sockets, threads, clock, async or SQL.
//!
//! The modules in the order of the flow: [`split`], [`parse`], [`route`], [`encode`], [`bucket`]; beside them
//! what they share: the [`catalog`] that rows are routed by, the input's [`mod@format`], the native key
//! [`types`] with their [`hash`], the [`expr`]essions over them, and the [`position`] that travels with
//! every row.

pub mod bucket;
pub mod catalog;
pub mod encode;
pub mod expr;
pub mod format;
pub mod hash;
mod marks;
pub mod parse;
pub mod position;
pub mod route;
pub mod split;
pub mod types;
