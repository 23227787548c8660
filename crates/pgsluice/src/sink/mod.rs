//! Sinks: a [`connection`] of the load stores each payload in a [`transaction`], and [`null`] drops them.
//! Writers use the same transaction.
//!
//! 0. The first transaction of a load has several payloads: about the first 8 MiB of the input. Other
//!    connections send rows in the meantime, but commit nothing before it. So an input that ends within it is
//!    stored completely or not at all, and a mistake in how it is read leaves nothing behind.
//! 1. Each later payload is one transaction. It locks the tables from the root down to the leaf, and checks
//!    that the leaf (or the root, if rows go through it) is still the same table. If the rows are binary, it
//!    also checks that the columns still have the same types (`recheck`).
//! 2. Rows count as loaded when COMMIT has been answered, because constraints may be deferred to it.
//! 3. Sessions commit asynchronously, and each ends with a synchronous commit on the same connection. If the
//!    server crashes in between, that connection is lost too, and the load is resumed.
//! 4. Behind a pooler the connection might survive a crash. So each connection remembers the server's session
//!    that it began with (`pg::connect::backend`) and refuses any other.
//! 5. The ledger's record of an attempt is durable before the attempt sends its first row.
//!
//! Rows of several leaves go through the root and are counted by leaf afterwards (`proof`), or they go leaf
//! by leaf (`store`). If the server refuses a transaction because of a row, its good rows are salvaged
//! (`salvage`).

pub(crate) mod flow;

pub(crate) mod channel;
mod chunk_size;
mod commit;
pub(crate) mod connection;
pub(crate) mod context;
mod earliest;
pub(crate) mod failure;
pub(crate) mod fence;
mod flush;
pub(crate) mod held;
mod judge;
pub(crate) mod key;
mod lines;
pub(crate) mod merge;
pub(crate) mod null;
mod original;
pub(crate) mod part;
mod pieces;
mod proof;
pub(crate) mod recheck;
pub(crate) mod refusal;
mod rejecting;
mod resolve;
mod salvage;
mod settled;
pub(crate) mod sql;
mod stage;
pub(crate) mod stage_merge;
pub(crate) mod statements;
mod store;
pub(crate) mod transaction;
mod unrouted;
mod writer;
