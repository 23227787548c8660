//! Sort: the rows of a payload in the order of an index, as far as the first bytes of its key tell.
//!
//! Rows that go into an index in its order touch each of its pages once. Nothing depends on the order
//! being exact, so keys are compared by sixteen bytes that sort as they do, or nearly so.

use super::payload::{Payload, Piece};

/// How the bytes of a column in COPY BINARY become bytes that sort as its values do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// They do so as they are.
    Bytes,
    /// An integer with a sign.
    Signed,
}

/// A column of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Which field of the row it is, from 0.
    pub field: usize,
    /// How its values are compared.
    pub order: Order,
    /// The greatest comes first.
    pub descending: bool,
}

const WIDTH: usize = size_of::<u128>();

/// The first bytes of the key of `row`, which is in COPY BINARY. NULL is above all values.
fn prefix(row: &[u8], columns: &[Column]) -> u128 {
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

/// The value of a field; None is NULL, or a field that is not there.
fn field(row: &[u8], index: usize) -> Option<&[u8]> {
    let mut rest = row.get(2..)?;
    for _ in 0..index {
        let (length, after) = rest.split_first_chunk()?;
        let length = i32::from_be_bytes(*length);
        rest = after.get(usize::try_from(length).unwrap_or(0)..)?;
    }
    let (length, after) = rest.split_first_chunk()?;
    after.get(..usize::try_from(i32::from_be_bytes(*length)).ok()?)
}

impl Payload {
    /// The memory that [`Self::sort`] takes while it runs, and what of it the order needs from then on.
    pub fn sorting_memory(&self) -> [usize; 2] {
        let order = self.rows() * size_of::<Piece>();
        [self.rows() * 2 * size_of::<u128>() + order, order]
    }

    /// Puts the rows into the order of an index on `columns`; rows that are equal stay as they are.
    pub fn sort(&mut self, columns: &[Column]) {
        let prefixes: Vec<u128> = self.in_order().map(|(_, row)| prefix(row, columns)).collect();
        // Bits that all have in common do not matter; of the others the first 64 are enough.
        let first = prefixes.first().copied().unwrap_or_default();
        let different = prefixes.iter().fold(0, |bits, prefix| bits | prefix ^ first);
        let common = different.leading_zeros().min(64);
        let places = prefixes.iter().zip(0_u128..).map(|(prefix, row)| {
            let key = prefix << common >> 64;
            key << 64 | row
        });
        let mut places: Vec<u128> = places.collect();
        drop(prefixes);
        places.sort_unstable();
        let rows: Vec<Piece> = self.single_rows().collect();
        self.pieces.clear();
        self.pieces.extend(places.into_iter().map(|place| rows[place as u32 as usize]));
        self.is_sorted = true;
    }

    /// A piece for each row.
    fn single_rows(&self) -> impl Iterator<Item = Piece> {
        self.pieces.iter().flat_map(|piece| {
            (piece.first..piece.end).map(|first| Piece { first, end: first + 1, ..*piece })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Part, RowAt, Wire};
    use super::*;

    fn row(fields: &[Option<&[u8]>]) -> Vec<u8> {
        let mut row = (fields.len() as u16).to_be_bytes().to_vec();
        for field in fields {
            row.extend(field.map_or(-1, |value| value.len() as i32).to_be_bytes());
            row.extend(field.unwrap_or_default());
        }
        row
    }

    fn column(field: usize, order: Order) -> Column {
        Column { field, order, descending: false }
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
        let columns = [Column { descending: true, ..column(0, Order::Signed) }];
        let key = |number: i16| prefix(&row(&[Some(&number.to_be_bytes())]), &columns);
        assert!(key(1) < key(0) && key(0) < key(-1));
    }

    #[test]
    fn rows_are_sorted_and_equal_ones_stay_as_they_are() {
        // The bits that differ lie below the first 64.
        let keys = [3_i64, 1, 2, 1, 3, i64::MAX, 0];
        let mut parts = Vec::new();
        for keys in keys.chunks(3) {
            let mut part = Part::new(200);
            for key in keys {
                let row = row(&[Some(b"samesame"), Some(&key.to_be_bytes())]);
                let at = RowAt::new(0, part.rows().len() as u32 + 10 * parts.len() as u32, 0);
                part.push(at, |block| {
                    block.extend_from_slice(&row);
                    Ok::<(), ()>(())
                })
                .unwrap();
            }
            parts.push(part);
        }
        let mut payload = Payload::new(vec![0], Wire::Binary, parts);
        payload.sort(&[column(0, Order::Bytes), column(1, Order::Signed)]);
        let rows: Vec<_> = payload
            .in_order()
            .map(|(at, row)| (*row.last_chunk().unwrap(), at.offset))
            .map(|(key, at)| (i64::from_be_bytes(key), at))
            .collect();
        assert_eq!(rows, [(0, 20), (1, 1), (1, 10), (2, 2), (3, 0), (3, 11), (i64::MAX, 12)]);
        assert_eq!((payload.pieces(), payload.rows()), (7, 7));
    }
}
