//! What rows of one key are compared by, beside their places.

use crate::types::Datum;

/// What an entry is compared by: [`RankedValue`], or [`NoRank`] where only the places count.
pub trait Rank: Copy + Ord {
    /// The bytes that [`Self::write`] appends.
    const BYTES: usize;

    /// Appends it to what [`Self::take`] takes.
    fn write(&self, bytes: &mut Vec<u8>);

    /// Takes what [`Self::write`] has written.
    fn take(bytes: &mut &[u8]) -> Option<Self>;
}

/// Nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NoRank;

impl Rank for NoRank {
    const BYTES: usize = 0;

    fn write(&self, _: &mut Vec<u8>) {}

    fn take(_: &mut &[u8]) -> Option<Self> {
        Some(Self)
    }
}

/// The bytes of a value that are compared. A longer one is refused, so that no two are taken for equal.
const LONGEST: usize = 22;

/// A value of one column in bytes of the same order; the default is NULL, which is below any other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RankedValue([u8; LONGEST + 2]);

/// The value has more bytes than are compared, or another order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

impl RankedValue {
    /// Returns the value of a datum. All that are compared are of one type.
    pub fn of(datum: Datum<'_>) -> Result<Self, TooLong> {
        match datum {
            Datum::Int(value) => Self::of_bytes(&(value ^ i64::MIN).to_be_bytes()),
            Datum::Wide(value) => Self::of_bytes(&(value ^ i128::MIN).to_be_bytes()),
            Datum::Uuid(value) => Self::of_bytes(&value.to_be_bytes()),
            Datum::Network(_) => Err(TooLong),
            Datum::Bytes(bytes) => Self::of_bytes(bytes),
        }
    }

    /// One byte in front says that there is a value. One behind says how long it is: of two that are
    /// otherwise equal the longer one is greater.
    fn of_bytes(value: &[u8]) -> Result<Self, TooLong> {
        let mut bytes = [0; LONGEST + 2];
        bytes[0] = 1;
        bytes[1..=LONGEST].get_mut(..value.len()).ok_or(TooLong)?.copy_from_slice(value);
        bytes[LONGEST + 1] = value.len() as u8;
        Ok(Self(bytes))
    }
}

impl Rank for RankedValue {
    const BYTES: usize = LONGEST + 2;

    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.0);
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        let (value, rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        Some(Self(*value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_sort_as_datums_do() {
        let is_ascending = |datums: &[Datum<'_>]| {
            let values = datums.iter().map(|datum| RankedValue::of(*datum).expect("a short one"));
            let values: Vec<RankedValue> =
                std::iter::once(RankedValue::default()).chain(values).collect();
            values.is_sorted_by(|one, next| one < next)
        };
        assert!(is_ascending(&[i64::MIN, -1, 0, 1, i64::MAX].map(Datum::Int)));
        assert!(is_ascending(&[i128::MIN, -1, 0, 1 << 70, i128::MAX].map(Datum::Wide)));
        assert!(is_ascending(&[0, 1, u128::MAX].map(Datum::Uuid)));
        let bytes: [&[u8]; 6] = [b"", b"\0", b"\0\0", b"\0a", b"a", &[0xFF; LONGEST]];
        assert!(is_ascending(&bytes.map(Datum::Bytes)));
        assert_eq!(RankedValue::of(Datum::Bytes(&[0; LONGEST + 1])), Err(TooLong));
    }
}
