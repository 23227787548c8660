//! The pure part of pgsluice: bytes in, bytes out. No files, sockets, threads, clock, async or SQL.
//!
//! The modules in the order of the flow are [`split`], [`parse`], [`route`], [`encode`] and [`bucket`]. They
//! share the [`catalog`] by which rows are routed, the input's [`mod@format`], the native key [`types`] with
//! their [`hash`], and the [`expr`]essions over them. [`duplicates`] chooses one row per key. [`column_lookup`] maps
//! names to columns, and an [`origin`] travels with every row. [`words`] name options in messages.

pub mod bucket;
pub mod catalog;
pub mod column_lookup;
pub mod duplicates;
pub mod encode;
pub mod expr;
pub mod format;
pub mod hash;
mod marks;
pub mod origin;
pub mod parse;
pub mod route;
pub mod split;
pub mod types;
pub mod words;
