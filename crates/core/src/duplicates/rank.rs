//! Values by which rows of the same key are compared, in addition to their places.

use crate::types::Datum;

/// A value by which entries are compared: a [`RankedValue`], or [`NoRank`] if only the places matter.
pub trait Rank: Copy + Ord {
    /// Number of bytes that [`Self::write`] appends.
    const BYTES: usize;

    /// Appends the value in the form that [`Self::take`] reads.
    fn write(&self, bytes: &mut Vec<u8>);

    /// Takes a value that [`Self::write`] wrote.
    fn take(bytes: &mut &[u8]) -> Option<Self>;
}

/// An empty value, which never decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NoRank;

impl Rank for NoRank {
    const BYTES: usize = 0;

    fn write(&self, _: &mut Vec<u8>) {}

    fn take(_: &mut &[u8]) -> Option<Self> {
        Some(Self)
    }
}

/// Maximum length of a value in bytes. Longer values are rejected, so that no two are mistaken for equal.
const LONGEST: usize = 22;

/// A value of one column in bytes that sort in the same order. The default is NULL, which sorts below all other
/// values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RankedValue([u8; LONGEST + 2]);

/// An error: the value is too long, or its order is not that of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

impl RankedValue {
    /// Converts a datum. Only values of the same type are comparable.
    pub fn from_datum(datum: Datum<'_>) -> Result<Self, TooLong> {
        match datum {
            Datum::Int(value) => Self::from_bytes(&(value ^ i64::MIN).to_be_bytes()),
            Datum::Wide(value) => Self::from_bytes(&(value ^ i128::MIN).to_be_bytes()),
            Datum::Uuid(value) => Self::from_bytes(&value.to_be_bytes()),
            Datum::Network(_) => Err(TooLong),
            Datum::Bytes(bytes) => Self::from_bytes(bytes),
        }
    }

    /// Encodes a value with a first byte that says that it is not NULL, and a last byte that is its length. Of
    /// two values that are otherwise equal, the longer one is greater.
    fn from_bytes(value: &[u8]) -> Result<Self, TooLong> {
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
            let values =
                datums.iter().map(|datum| RankedValue::from_datum(*datum).expect("a short one"));
            let values: Vec<RankedValue> =
                std::iter::once(RankedValue::default()).chain(values).collect();
            values.is_sorted_by(|one, next| one < next)
        };
        assert!(is_ascending(&[i64::MIN, -1, 0, 1, i64::MAX].map(Datum::Int)));
        assert!(is_ascending(&[i128::MIN, -1, 0, 1 << 70, i128::MAX].map(Datum::Wide)));
        assert!(is_ascending(&[0, 1, u128::MAX].map(Datum::Uuid)));
        let bytes: [&[u8]; 6] = [b"", b"\0", b"\0\0", b"\0a", b"a", &[0xFF; LONGEST]];
        assert!(is_ascending(&bytes.map(Datum::Bytes)));
        assert_eq!(RankedValue::from_datum(Datum::Bytes(&[0; LONGEST + 1])), Err(TooLong));
    }
}
