//! Writing of rows straight into blocks: in binary if possible, otherwise with the bytes of the input.

use std::convert::Infallible;

use pgsluice_core::bucket::{Block, BlockRow, Scheduler, Shard, Wire};
use pgsluice_core::encode::{Encoder, NotEncodable};
use pgsluice_core::parse::Fields;

use crate::plan::Plan;
use crate::route::row::Routed;
use crate::source::Split;

/// A buffer of blocks for rows: a shard and its memory.
pub(crate) trait RowBuffer {
    /// Returns the shard.
    fn shard(&mut self) -> &mut Shard;

    /// Returns a block for the row at `at` of about `bytes` bytes, or `None` if the memory is used up.
    fn block(&mut self, bytes: usize, at: BlockRow) -> Option<Block>;

    /// Counts the memory by which blocks have grown, and takes back an unused block.
    fn account(&mut self, grown: usize, unused: Option<Block>);

    /// Adds a row to `bucket`. `write` appends about `bytes` bytes, or nothing if it fails. Returns `None` if
    /// the memory is used up.
    #[inline]
    fn push<E>(
        &mut self,
        bucket: usize,
        at: BlockRow,
        bytes: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Option<Result<(), E>> {
        let pushed = match self.shard().room(bucket, bytes) {
            Ok(room) => room.push(at, write),
            Err(bytes) => {
                let block = self.block(bytes, at)?;
                self.shard().add_block(bucket, block).push(at, write)
            }
        };
        let shard = self.shard();
        let unused = if pushed.is_err() { shard.take_empty(bucket) } else { None };
        let grown = shard.take_growth();
        self.account(grown, unused);
        Some(pushed)
    }
}

/// The result of writing a row.
pub(crate) struct WrittenRow {
    pub(crate) bucket: usize,
    /// The reason why it is text although other rows are not.
    pub(crate) not_encodable: Option<NotEncodable>,
}

/// Writes a row into the bucket of its node. Returns `None` if the memory is used up.
#[inline]
pub(crate) fn write(
    plan: &Plan,
    split: &Split,
    routed: &Routed<'_>,
    buffer: &mut impl RowBuffer,
) -> Option<WrittenRow> {
    let bucket = |wire| Scheduler::choose_bucket(plan.tree.nodes.len(), routed.node(), wire);
    let row = &split.rows[routed.index];
    let at = BlockRow::new(split.number, row.start, row.line);
    let not_encodable = match BinaryRow::encode(plan, split, routed) {
        Ok(binary) => {
            let bucket = bucket(Wire::Binary);
            match buffer.push(bucket, at, binary.room(), |block| binary.put(block))? {
                Ok(()) => return Some(WrittenRow { bucket, not_encodable: None }),
                Err(why) => Some(why),
            }
        }
        Err(why) => why,
    };
    let (bucket, text) = (bucket(Wire::Text), split.text(routed.index));
    let Ok(()) = buffer.push(bucket, at, text.len() + 1, |block| {
        block.extend_from_slice(text);
        block.push(b'\n');
        Ok::<(), Infallible>(())
    })?;
    Some(WrittenRow { bucket, not_encodable })
}

/// Returns the reason why [`write`] would write a row as text although others are not, if it would.
/// Overwrites `scratch`.
pub(crate) fn find_obstacle(
    plan: &Plan,
    split: &Split,
    routed: &Routed<'_>,
    scratch: &mut Vec<u8>,
) -> Option<NotEncodable> {
    scratch.clear();
    match BinaryRow::encode(plan, split, routed) {
        Ok(binary) => binary.put(scratch).err(),
        Err(why) => why,
    }
}

/// A row to be written in binary.
enum BinaryRow<'r> {
    /// Already encoded when its split was read.
    Done(&'r [u8]),
    /// Not encoded yet: the encoder, the bytes and the fields.
    Open(&'r Encoder, &'r [u8], &'r Fields),
}

impl<'r> BinaryRow<'r> {
    /// Returns the binary form of a row. The error is the reason why this row has none, or `None` if no row
    /// of its kind has one.
    #[inline]
    fn encode(
        plan: &'r Plan,
        split: &'r Split,
        routed: &Routed<'r>,
    ) -> Result<Self, Option<NotEncodable>> {
        // Rows in both formats would be in two buckets, and their order would be lost.
        let may_encode = !routed.has_no_keys && !plan.is_in_order();
        let Some(encoder) = plan.encoder.as_ref().filter(|_| may_encode) else { return Err(None) };
        match split.encoded(routed.index) {
            Some(encoded) => encoded.map(Self::Done).map_err(Some),
            None => Ok(Self::Open(encoder, split.text(routed.index), routed.fields)),
        }
    }

    /// Returns a number of bytes that the row will rarely exceed.
    fn room(&self) -> usize {
        match self {
            Self::Done(encoded) => encoded.len(),
            Self::Open(encoder, text, _) => encoder.room_for(text.len()),
        }
    }

    /// Appends the row to a block.
    #[inline]
    fn put(&self, block: &mut Vec<u8>) -> Result<(), NotEncodable> {
        match self {
            Self::Done(encoded) => {
                block.extend_from_slice(encoded);
                Ok(())
            }
            Self::Open(encoder, text, fields) => encoder.encode(text, fields, block),
        }
    }
}
