//! Sort: puts the rows of a payload into the order of an index, by the first bytes of its key.
//!
//! Rows that are inserted in the order of an index touch each of its pages once. Nothing depends on an exact
//! order, so keys are compared by sixteen bytes that sort as the keys do, or nearly so.
//!
//! For a table with several indexes, rows are sorted for the index over which they would scatter most. A sample
//! of a payload's rows measures how far they scatter.

use std::ops::Range;
use std::sync::Arc;

use super::block::{Block, Slice};
use crate::encode::field;

/// The conversion of a column's bytes in COPY BINARY to bytes that sort as its values do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The bytes sort without a conversion.
    Bytes,
    /// A signed integer.
    Signed,
}

/// A column of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortColumn {
    /// Position of the field in the row, from 0.
    pub field: usize,
    /// Comparison of the column's values.
    pub order: Order,
    /// Whether the greatest value comes first.
    pub descending: bool,
}

/// The order in which the rows of a node are sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SendOrder {
    /// The order of the input.
    #[default]
    Input,
    /// The order of a key.
    Key(Arc<[SortColumn]>),
    /// The order of the index over which the rows of a payload scatter most, or the first one if several are
    /// similar. If the rows scatter over no index, the order of the input.
    Index(Arc<[Arc<[SortColumn]>]>),
}

impl SendOrder {
    /// Returns the columns by which the rows of `blocks[within]`, which are in COPY BINARY, are sorted, if any.
    pub(super) fn choose(&self, blocks: &[Block], within: Range<usize>) -> Option<&[SortColumn]> {
        match self {
            Self::Input => None,
            Self::Key(columns) => Some(columns),
            Self::Index(indexes) => {
                let scatters =
                    indexes.iter().map(|columns| scatter(blocks, within.clone(), columns));
                let scatters: Vec<usize> = scatters.collect();
                let max = scatters.iter().max().filter(|max| **max > 0)?;
                // Samples of random keys differ a little.
                let first = scatters.iter().position(|scatter| scatter * 4 > max * 3)?;
                Some(&indexes[first])
            }
        }
    }
}

/// Number of rows of a payload that are sampled to measure how far they scatter.
const SAMPLE: usize = 1024;

/// Rows scatter if successive rows are on average farther apart than a 64th of all keys.
const NEAR: usize = 64;

/// Measures how far apart successive rows of `blocks[within]` are in an index on `columns`. Returns the average
/// number of distinct sampled keys between two rows, or 0 if the rows are in the order of the index or nearly
/// so.
fn scatter(blocks: &[Block], within: Range<usize>, columns: &[SortColumn]) -> usize {
    let count: usize = blocks[within.clone()].iter().map(|block| block.rows().len()).sum();
    let rows = rows_with_places(blocks, within).step_by(count.div_ceil(SAMPLE).max(1));
    let sample: Vec<u128> = rows.map(|(_, row)| prefix(row, columns)).collect();
    let mut keys = sample.clone();
    keys.sort_unstable();
    keys.dedup();
    let ranks: Vec<usize> =
        sample.iter().map(|key| keys.partition_point(|other| other < key)).collect();
    let steps: usize = ranks.windows(2).map(|pair| pair[0].abs_diff(pair[1])).sum();
    if steps * NEAR > sample.len() * sample.len() { steps / sample.len() } else { 0 }
}

const WIDTH: usize = size_of::<u128>();

/// Returns the first bytes of the key of `row`, which is in COPY BINARY. NULL sorts above all values.
fn prefix(row: &[u8], columns: &[SortColumn]) -> u128 {
    let mut prefix = [0; WIDTH];
    let mut length = 0;
    for column in columns {
        let begin = length;
        match field(row, column.field) {
            Some(value) => {
                let taken = value.len().min(WIDTH - length);
                prefix[length..length + taken].copy_from_slice(&value[..taken]);
                if taken > 0 && column.order == Order::Signed {
                    prefix[length] ^= 0x80;
                }
                length += taken;
            }
            None => {
                prefix[length..].fill(0xFF);
                length = WIDTH;
            }
        }
        if column.descending {
            prefix[begin..length].iter_mut().for_each(|byte| *byte = !*byte);
        }
        if length == WIDTH {
            break;
        }
    }
    u128::from_be_bytes(prefix)
}

/// The location of a row. It is the lower half of the number that is sorted, so that no lookup is needed
/// afterwards.
#[derive(Clone, Copy)]
struct RowPlace {
    block: u16,
    start: u32,
    /// Length of the row, or [`LONG`] if it is that long or longer.
    length: u16,
}

const LONG: u16 = u16::MAX;

impl RowPlace {
    fn new(block: usize, start: u32, end: u32) -> Self {
        let length = u16::try_from(end - start).unwrap_or(LONG);
        Self { block: block as u16, start, length }
    }

    fn bits(self) -> u128 {
        u128::from(self.block) << 48 | u128::from(self.start) << 16 | u128::from(self.length)
    }

    fn read(bits: u128) -> Self {
        Self { block: (bits >> 48) as u16, start: (bits >> 16) as u32, length: bits as u16 }
    }
}

/// The maximum number of blocks that are sorted; [`RowPlace`] cannot represent more.
const MAX_BLOCKS: usize = 1 << 16;

/// Returns the rows of `blocks[within]`, which are in COPY BINARY, in the order of an index on `columns`; `None`
/// if there are too many blocks.
pub(super) fn sort_rows(
    blocks: &[Block],
    within: Range<usize>,
    columns: &[SortColumn],
) -> Option<Vec<Slice>> {
    if blocks.len() > MAX_BLOCKS {
        return None;
    }
    // Leading bits that all keys share do not matter. The next 64 bits are enough.
    let rows = || rows_with_places(blocks, within.clone());
    let mut prefixes = rows().map(|(_, row)| prefix(row, columns));
    let first = prefixes.next().unwrap_or_default();
    let different = prefixes.fold(0, |bits, prefix| bits | prefix ^ first);
    let common = different.leading_zeros().min(64);
    let keyed =
        rows().map(|(place, row)| (prefix(row, columns) << common >> 64 << 64) | place.bits());
    let count = blocks[within.clone()].iter().map(|block| block.rows().len()).sum();
    let mut rows: Vec<u128> = Vec::with_capacity(count);
    rows.extend(keyed);
    rows.sort_unstable();
    let slices = rows.into_iter().map(|row| {
        let RowPlace { block, start, length } = RowPlace::read(row);
        let end = match length {
            LONG => end_of_row(&blocks[usize::from(block)], start),
            _ => start + u32::from(length),
        };
        Slice { block: block.into(), start, end }
    });
    Some(slices.collect())
}

fn rows_with_places(
    blocks: &[Block],
    within: Range<usize>,
) -> impl Iterator<Item = (RowPlace, &[u8])> {
    let numbered = blocks.iter().enumerate().take(within.end).skip(within.start);
    numbered.flat_map(|(number, block)| {
        let rows = block.rows_in(0, u32::MAX);
        rows.map(move |(_, start, end)| {
            (RowPlace::new(number, start, end), block.slice(start, end))
        })
    })
}

fn end_of_row(block: &Block, start: u32) -> u32 {
    block.rows_in(start, u32::MAX).next().map_or(start, |(_, _, end)| end)
}

#[cfg(test)]
mod tests {
    use super::super::{BlockRow, Payload, Wire};
    use super::*;

    fn row(fields: &[Option<&[u8]>]) -> Vec<u8> {
        let mut row = (fields.len() as u16).to_be_bytes().to_vec();
        for field in fields {
            row.extend(field.map_or(-1, |value| value.len() as i32).to_be_bytes());
            row.extend(field.unwrap_or_default());
        }
        row
    }

    fn column(field: usize, order: Order) -> SortColumn {
        SortColumn { field, order, descending: false }
    }

    #[test]
    fn prefixes_sort_as_keys_do() {
        let columns = [column(1, Order::Signed), column(0, Order::Bytes)];
        let key = |number: i32, text: &str| {
            prefix(&row(&[Some(text.as_bytes()), Some(&number.to_be_bytes())]), &columns)
        };
        let ascending =
            [key(i32::MIN, "z"), key(-1, "a"), key(0, ""), key(0, "a"), key(0, "ab"), key(7, "")];
        assert!(ascending.is_sorted(), "{ascending:x?}");
        let null = prefix(&row(&[Some(b"a"), None]), &columns);
        assert!(null > key(i32::MAX, "zzzzzzzzzzzz"));
        assert_eq!(prefix(b"\0", &columns), u128::MAX);
    }

    #[test]
    fn a_descending_column_sorts_the_other_way() {
        let columns = [SortColumn { descending: true, ..column(0, Order::Signed) }];
        let key = |number: i16| prefix(&row(&[Some(&number.to_be_bytes())]), &columns);
        assert!(key(1) < key(0) && key(0) < key(-1));
    }

    #[test]
    fn rows_are_sorted_whatever_their_length() {
        // The bits that differ are below the first 64.
        let keys = [3_i64, 1, 2, 1, 3, i64::MAX, 0];
        let long = vec![b'x'; 70_000];
        let mut blocks = Vec::new();
        for keys in keys.chunks(3) {
            let mut block = Block::new(200);
            for key in keys {
                let more = if *key == 2 { &long[..] } else { b"" };
                let row = row(&[Some(b"samesame"), Some(&key.to_be_bytes()), Some(more)]);
                let at = BlockRow::new(0, block.rows().len() as u32 + 10 * blocks.len() as u32, 0);
                block
                    .push(at, |block| {
                        block.extend_from_slice(&row);
                        Ok::<(), ()>(())
                    })
                    .unwrap();
            }
            blocks.push(block);
        }
        let mut payload = Payload::new(0, Wire::Binary, blocks);
        let columns = [column(0, Order::Bytes), column(1, Order::Signed)];
        let order = SendOrder::Key(columns.into());
        payload.arrange(|_| &order);
        let rows: Vec<_> = payload
            .in_order()
            .map(|(at, row)| (i64::from_be_bytes(row[18..26].try_into().unwrap()), at.start.offset))
            .collect();
        assert_eq!(rows, [(0, 20), (1, 1), (1, 10), (2, 2), (3, 0), (3, 11), (i64::MAX, 12)]);
        assert_eq!((payload.slices(), payload.rows()), (7, 7));
    }

    /// Returns a block of rows with two numbers each.
    fn block(rows: impl IntoIterator<Item = [u32; 2]>) -> Block {
        let mut block = Block::new(1 << 20);
        for (number, row) in rows.into_iter().enumerate() {
            let [one, other] = row.map(u32::to_be_bytes);
            let row = self::row(&[Some(&one), Some(&other)]);
            let pushed = block.push(BlockRow::new(0, number as u32, 0), |block| {
                block.extend_from_slice(&row);
                Ok::<(), ()>(())
            });
            pushed.unwrap();
        }
        block
    }

    /// Returns which of the two numbers the rows are sorted by, if each has an index.
    fn choose_column(rows: impl IntoIterator<Item = [u32; 2]>) -> Option<usize> {
        let index = |field| Arc::from([column(field, Order::Signed)]);
        let order = SendOrder::Index([index(0), index(1)].into());
        let blocks = [block(rows)];
        order.choose(&blocks, 0..1).map(|columns| columns[0].field)
    }

    /// Returns numbers in no particular order.
    fn scramble(number: u32) -> u32 {
        number.wrapping_mul(0x9E37_79B9) >> 1
    }

    #[test]
    fn rows_are_sorted_for_the_index_that_they_scatter_over() {
        for rows in [300, 20_000] {
            assert_eq!(choose_column((0..rows).map(|it| [it, scramble(it)])), Some(1), "{rows}");
            assert_eq!(choose_column((0..rows).map(|it| [scramble(it), it])), Some(0), "{rows}");
            let random = |it| [scramble(it), scramble(it + 12_345)];
            assert_eq!(choose_column((0..rows).map(random)), Some(0), "{rows}");
            assert_eq!(
                choose_column((0..rows).map(random).map(|[one, other]| [other, one])),
                Some(0)
            );
        }
    }

    #[test]
    fn rows_that_are_near_each_other_are_not_sorted() {
        assert_eq!(choose_column((0..20_000).map(|it| [it, it / 7])), None);
        assert_eq!(choose_column((0..20_000).map(|it| [20_000 - it, it % 3])), None);
        // Each row is a little early or late.
        assert_eq!(choose_column((0..20_000).map(|it| [it + scramble(it) % 100, 0])), None);
        assert_eq!(choose_column([]), None);
        assert_eq!(choose_column([[1, 1]]), None);
    }
}
