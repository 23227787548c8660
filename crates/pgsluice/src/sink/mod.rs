//! Where payloads go: [`copy`], a COPY into the payload's node or its shadow, or [`null`].
//!
//! ```text
//!     round trip 1    BEGIN, lock, fence, recheck -> COPY begins
//!                     rows
//!     round trip 2    end of COPY, receipts, COMMIT -> the rows count as loaded
//! ```
//!
//! 0. The first transaction of a load has several payloads: about the first 8 MiB of the input. Other
//!    connections send meanwhile, but commit nothing before it. So an input that ends in it is in whole or not
//!    at all, and a mistake in how it is read leaves nothing.
//! 1. Each payload after it is one transaction. It locks from the root down to the leaf, and checks that the leaf,
//!    or the root if rows go through it, is still the table that it was. If the rows are binary, it also checks that the columns still have
//!    the types (`recheck`).
//! 2. Rows count as loaded when COMMIT has answered, because constraints may be deferred to it.
//! 3. Sessions commit asynchronously, and each ends with one synchronous commit on the same connection. If
//!    the server has crashed meanwhile, that connection is lost too, and the load is resumed.
//! 4. Behind a pooler the connection might survive. So each connection knows the server's session that it
//!    began with (`pg::connect::backend`) and refuses any other.
//! 5. How an attempt begins in the ledger is durable before its first row.
//!
//! Rows of several leaves go through the root, and are then counted by leaf (`proof`), or go leaf by leaf (`apart`). A payload that the
//! server refuses because of a row goes to `salvage`.

pub(crate) mod flow;

mod apart;
mod chunk_size;
mod commit;
pub(crate) mod context;
pub(crate) mod copy;
mod earliest;
mod failure;
mod flush;
pub(crate) mod held;
mod judge;
pub(crate) mod key;
mod lines;
pub(crate) mod null;
mod original;
mod pieces;
mod proof;
mod prove;
pub(crate) mod recheck;
pub(crate) mod refusal;
mod salvage;
mod settled;
mod stage;
pub(crate) mod statements;
pub(crate) mod taken;
mod transaction;
mod unrouted;
mod way;
mod writer;
