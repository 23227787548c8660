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
//! 1. A bucket contains the rows of one node in one format. Each router has a [`Shard`] with its share of every
//!    bucket. Memory comes in blocks of one size from one [`Pool`].
//! 2. An idle connection takes the fullest bucket that is large enough for a COPY. Under memory pressure, or at
//!    the end of the input, it takes any bucket.
//! 3. The payload may also contain rows of several other leaves, sent in turns through the root (`turns`), if the
//!    queue finds that cheaper.
//! 4. A node has one writer at a time, unless no other work is left. Then a single leaf can keep all connections
//!    busy.
//! 5. Under memory pressure and at the end, remainders of few rows are sent together ([`MIN_COPY_ROWS`]). They come
//!    from at most 256 leaves, because the server keeps a lock on each.
//! 6. The [`Claim`]s of a payload say which rows are in the table once it is committed.
//! 7. If the order of the rows determines which of them are stored, all rows come from one shard, as text. Each
//!    node then sends one payload after the other ([`Scheduler::in_order`]).
//!
//! The threshold is measured: each load times three empty COPYs. A payload waits until that cost is at most an
//! eighth of the time for its rows. Waiting costs nothing while input is fast. While input is slow, 64 KiB are
//! enough. Payloads that are not sorted grow to 4 MiB as the server falls behind, and further if a COPY takes
//! milliseconds, as over a network with delay.
//!
//! A payload is sorted for one of its leaf's indexes, unless its rows are already in that order ([`SendOrder`]).
//! Only binary rows are sorted, by the first sixteen bytes of the key, in payloads of up to a sixteenth of the
//! memory. More rows then share a page of the index. The order affects only speed; unsorted rows keep the order
//! of the input.

mod block;
mod claim;
mod gather;
mod payload;
mod pool;
mod scheduler;
mod shard;
mod sort;
mod turns;

pub use block::{Block, BlockRow, SplitOffset};
pub use claim::{Claim, Span};
pub use gather::{gather, gather_each};
pub use payload::Payload;
pub use pool::Pool;
pub use scheduler::{PayloadSize, Scheduler};
pub use shard::{Room, Shard};
pub use sort::{Order, SendOrder, SortColumn};
pub use turns::TOGETHER;

/// Size at which a payload that is not sorted takes no more blocks.
pub const SEALED_BYTES: usize = 4 << 20;

/// Minimum number of rows that are worth a COPY of their own. Smaller remainders of several leaves are sent
/// together through the root. Measured by the processor time of client and server, with rows of 100 bytes in 800
/// leaves on two levels: sending them together takes half the time with 50 rows per leaf, four fifths with 200,
/// and the same from 400 on.
pub const MIN_COPY_ROWS: usize = 300;

/// Minimum number of bytes that are worth a COPY of their own, however few the rows.
const MIN_COPY_BYTES: usize = 64 << 10;

/// Maximum size of remainders that are sent together.
const JOINED_BYTES: usize = 1 << 20;

/// Maximum number of nodes whose remainders are sent together. The server keeps a lock on each until they are
/// committed, and its lock table has room for a few thousand.
const JOINED_NODES: usize = 256;

/// The header of COPY BINARY: `BinarySignature`, no flags, no extension (`src/backend/commands/copyfromparse.c`,
/// PostgreSQL 13 to 18).
const BINARY_HEADER: &[u8] = b"PGCOPY\n\xFF\r\n\0\0\0\0\0\0\0\0\0";

/// The trailer of COPY BINARY: a row of -1 fields.
const BINARY_TRAILER: &[u8] = &(-1_i16).to_be_bytes();

/// The format in which rows are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// The input's own format, unchanged.
    Text,
    /// COPY BINARY.
    Binary,
}

impl Wire {
    /// Returns the bytes that are sent before the rows.
    pub fn header(self) -> &'static [u8] {
        match self {
            Self::Text => b"",
            Self::Binary => BINARY_HEADER,
        }
    }

    /// Returns the bytes that are sent after the rows.
    pub fn trailer(self) -> &'static [u8] {
        match self {
            Self::Text => b"",
            Self::Binary => BINARY_TRAILER,
        }
    }
}
