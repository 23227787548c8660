//! Bucket: gathers the rows of each node into payloads, within a memory budget.
//!
//! ```text
//!     routers       Shard 0    Shard 1    Shard 2        one lock each, held for many rows
//!     node 7 text   [blocks]   [blocks]   [blocks]  \
//!     node 7 binary [blocks]   [blocks]   [blocks]   >   Scheduler: the fullest -> Payload -> connection
//!     node 8 text   [blocks]   [blocks]   [blocks]  /
//!                         Pool of blocks  <---------------------- used again ------'
//! ```
//!
//! 1. A bucket takes the rows of one node in one format. Each router has a [`Shard`] with its share of
//!    every bucket. Memory comes in blocks of one size from one [`Pool`].
//! 2. A connection that is free takes the fullest bucket that is worth a COPY. Under memory pressure, or at
//!    the end of the input, it takes any.
//! 3. With it may go those of several other leaves, in turns, through the root (`turns`): the queue says
//!    whether that is cheaper.
//! 4. A node has one writer at a time, unless no other work is left. So one leaf alone keeps all
//!    connections busy.
//! 5. Under memory pressure and at the end, remainders of few rows travel together ([`FEW_ROWS`]). They come
//!    from at most 256 leaves, because the server keeps a lock on each.
//! 6. A payload's [`Claim`]s say which rows are in once it is committed.
//! 7. If the order of the rows decides which of them are stored, all rows come from one shard, as text. Each node then
//!    sends one payload after the other ([`Scheduler::in_order`]).
//!
//! The threshold is measured: each load times three empty COPYs. A payload waits until that cost is at most
//! an eighth of what its rows take. Waiting costs nothing while input is fast. While it is slow, 64 KiB are
//! enough. Payloads that are not sorted grow to 4 MiB as the server falls behind, and where a COPY costs
//! milliseconds, over a network with delay, to more.
//!
//! A payload is sorted for one of its leaf's indexes, unless its rows are in that order already ([`SendOrder`]).
//! Only binary rows are: by the first sixteen bytes of the key, in payloads of up to a sixteenth of the
//! memory. More rows then share a page of the index. Only speed depends on this order: without it, rows
//! keep that of the input.

mod block;
mod claim;
mod gather;
mod payload;
mod pool;
mod scheduler;
mod shard;
mod sort;
mod turns;

pub use block::{Block, RowAt};
pub use claim::{Claim, Mark, Span};
pub use gather::{gather, gather_each};
pub use payload::Payload;
pub use pool::Pool;
pub use scheduler::{Scheduler, Worth};
pub use shard::{Room, Shard};
pub use sort::{Order, SendOrder, SortColumn};
pub use turns::TOGETHER;

/// A payload takes blocks until it has this many bytes, if it is not sorted.
pub const SEALED_BYTES: usize = 4 << 20;

/// Fewer rows than this are not worth a COPY of their own: the remainders of several leaves then
/// travel through the root. Measured with rows of 100 bytes in 800 leaves on two
/// levels, by the processor time of client and server. With 50 rows a leaf it takes half, with 200 four
/// fifths, from 400 on the same.
pub const FEW_ROWS: usize = 300;

/// This many bytes are worth a COPY of their own, however few the rows.
const FEW_BYTES: usize = 64 << 10;

/// Remainders that travel together are no more than this many bytes.
const GATHERED_BYTES: usize = 1 << 20;

/// Nor are they of more nodes than this. The server keeps a lock on each until they are committed, and
/// its table of locks has room for a few thousand.
const GATHERED_NODES: usize = 256;

/// What COPY BINARY begins with: `BinarySignature`, no flags, no extension
/// (`src/backend/commands/copyfromparse.c`, PostgreSQL 13 to 18).
const BINARY_HEADER: &[u8] = b"PGCOPY\n\xFF\r\n\0\0\0\0\0\0\0\0\0";

/// What ends it: a row of -1 fields.
const BINARY_TRAILER: &[u8] = &(-1_i16).to_be_bytes();

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// In the input's own format, as they stand there.
    Text,
    /// In COPY BINARY.
    Binary,
}

impl Wire {
    /// Returns what is sent before the rows.
    pub fn header(self) -> &'static [u8] {
        match self {
            Self::Text => b"",
            Self::Binary => BINARY_HEADER,
        }
    }

    /// Returns what is sent behind the rows.
    pub fn trailer(self) -> &'static [u8] {
        match self {
            Self::Text => b"",
            Self::Binary => BINARY_TRAILER,
        }
    }
}
