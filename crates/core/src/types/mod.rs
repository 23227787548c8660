//! The key types that are understood natively: text to datum, binary to datum, order and hash,
//! as PostgreSQL 13 to 18 has them. One file for each family of types; here the types' common face.
//!
//! A text is turned into a datum only where the result is proven to be what the server's own input
//! function gives, whatever DateStyle, IntervalStyle, locale or version. Everything else is `None`:
//! also what the server will refuse, because it is the server that words the error.

mod boolean;
mod datetime;
mod integer;
mod text;
mod uuid;

use crate::hash;

/// One partition key value that is not null, in a form that compares and hashes as PostgreSQL's.
///
/// Only datums of one and the same type are comparable. The order of `Bytes` is that of C collation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Datum<'a> {
    /// `boolean` (0 or 1), the integers, `date` (days from 2000-01-01) and `timestamp` with or
    /// without time zone (microseconds from 2000-01-01, in UTC for the former).
    Int(i64),
    /// `uuid`, the first byte highest.
    Uuid(u128),
    /// The string types; `bpchar` without its trailing blanks.
    Bytes(&'a [u8]),
}

/// A datum with its own bytes, for bounds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OwnedDatum {
    /// See [`Datum::Int`].
    Int(i64),
    /// See [`Datum::Uuid`].
    Uuid(u128),
    /// See [`Datum::Bytes`].
    Bytes(Box<[u8]>),
}

impl OwnedDatum {
    /// The datum, borrowed.
    #[must_use]
    pub fn as_datum(&self) -> Datum<'_> {
        match self {
            Self::Int(value) => Datum::Int(*value),
            Self::Uuid(value) => Datum::Uuid(*value),
            Self::Bytes(bytes) => Datum::Bytes(bytes),
        }
    }
}

impl From<Datum<'_>> for OwnedDatum {
    fn from(datum: Datum<'_>) -> Self {
        match datum {
            Datum::Int(value) => Self::Int(value),
            Datum::Uuid(value) => Self::Uuid(value),
            Datum::Bytes(bytes) => Self::Bytes(bytes.into()),
        }
    }
}

/// A key type that is understood natively, with what of its modifier and of the session matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyType {
    /// `boolean`
    Bool,
    /// `smallint`
    Int2,
    /// `integer`
    Int4,
    /// `bigint`
    Int8,
    /// `text`
    Text,
    /// `character varying`
    Varchar {
        /// The declared length in characters, if there is one.
        max: Option<u32>,
    },
    /// `character`
    Bpchar {
        /// The declared length in characters; none for a bare `bpchar`.
        max: Option<u32>,
    },
    /// `uuid`
    Uuid,
    /// `date`
    Date,
    /// `timestamp without time zone`
    Timestamp {
        /// Digits of a second's fraction, 0 to 6; 6 where none are declared.
        precision: u8,
    },
    /// `timestamp with time zone`
    ///
    /// The caller vouches for the session reading `Z` as UTC, as it does under every
    /// `timezone_abbreviations` that PostgreSQL ships (unless, from version 18 on, its own time zone
    /// is abbreviated so).
    Timestamptz {
        /// Digits of a second's fraction, 0 to 6; 6 where none are declared.
        precision: u8,
        /// The session's time zone in seconds east of UTC, if its offset is one and always the same.
        zone: Option<i32>,
    },
}

impl KeyType {
    /// The datum that PostgreSQL's input function gives for `text`, or `None` where that is not
    /// proven: then the server decides.
    ///
    /// The strings are taken to be valid in the server's encoding, and that to be UTF-8 (or the
    /// string to be ASCII).
    #[must_use]
    pub fn parse<'a>(&self, text: &'a [u8]) -> Option<Datum<'a>> {
        match *self {
            Self::Int2 => integer::parse(text, i16::MIN.into(), i16::MAX.into()).map(Datum::Int),
            Self::Int4 => integer::parse(text, i32::MIN.into(), i32::MAX.into()).map(Datum::Int),
            Self::Int8 => integer::parse(text, i64::MIN, i64::MAX).map(Datum::Int),
            Self::Bool => boolean::parse(text).map(|value| Datum::Int(value.into())),
            Self::Text => Some(Datum::Bytes(text)),
            Self::Varchar { max } => text::parse_varchar(text, max).map(Datum::Bytes),
            Self::Bpchar { max } => text::parse_bpchar(text, max).map(Datum::Bytes),
            Self::Uuid => uuid::parse(text).map(Datum::Uuid),
            Self::Date => datetime::parse_date(text).map(Datum::Int),
            Self::Timestamp { precision } => {
                datetime::parse_timestamp(text, precision).map(Datum::Int)
            }
            Self::Timestamptz { precision, zone } => {
                datetime::parse_timestamptz(text, precision, zone).map(Datum::Int)
            }
        }
    }

    /// Decodes the binary wire format, as the type's send function writes it. `None` if `bytes`
    /// are not of the type's length.
    ///
    /// The infinities of `date` and `timestamp` are the ends of the 32-bit and the 64-bit range
    /// here as they are there.
    #[must_use]
    pub fn from_binary<'a>(&self, bytes: &'a [u8]) -> Option<Datum<'a>> {
        match self {
            Self::Bool => match bytes {
                [value @ (0 | 1)] => Some(Datum::Int((*value).into())),
                _ => None,
            },
            Self::Int2 => fixed(bytes).map(|b| Datum::Int(i16::from_be_bytes(b).into())),
            Self::Int4 | Self::Date => {
                fixed(bytes).map(|b| Datum::Int(i32::from_be_bytes(b).into()))
            }
            Self::Int8 | Self::Timestamp { .. } | Self::Timestamptz { .. } => {
                fixed(bytes).map(|b| Datum::Int(i64::from_be_bytes(b)))
            }
            Self::Uuid => fixed(bytes).map(|b| Datum::Uuid(u128::from_be_bytes(b))),
            Self::Text | Self::Varchar { .. } => Some(Datum::Bytes(bytes)),
            Self::Bpchar { .. } => Some(Datum::Bytes(text::without_trailing_blanks(bytes))),
        }
    }

    /// The type's extended hash function with `seed`; [`hash::PARTITION_SEED`] for routing.
    ///
    /// `hashcharextended` (boolean), `hashint2extended`, `hashint4extended` (also date) and
    /// `hashint8extended` of `src/backend/access/hash/hashfunc.c`, `timestamp_hash_extended`,
    /// `uuid_hash_extended`, `hashtextextended` and `hashbpcharextended`, PostgreSQL 13 to 18; in 18
    /// boolean, date and timestamptz have functions of their own that give the same. The strings'
    /// are those of a deterministic collation.
    #[must_use]
    pub fn hash(&self, datum: Datum<'_>, seed: u64) -> u64 {
        // The datum alone tells: PostgreSQL hashes equal integers of any width to the same value.
        match datum {
            Datum::Int(value) => integer::hash_extended(value, seed),
            Datum::Uuid(value) => hash::bytes_extended(&value.to_be_bytes(), seed),
            Datum::Bytes(bytes) => hash::bytes_extended(bytes, seed),
        }
    }
}

fn fixed<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::{Datum, KeyType, OwnedDatum};

    #[test]
    fn binary_of_another_length_is_no_datum() {
        for key_type in [KeyType::Bool, KeyType::Int2, KeyType::Int4, KeyType::Int8, KeyType::Uuid]
        {
            for length in [0, 3, 5, 9, 15, 17] {
                assert_eq!(key_type.from_binary(&vec![0; length]), None);
            }
        }
        assert_eq!(KeyType::Bool.from_binary(&[2]), None);
    }

    #[test]
    fn infinities_are_the_ends_of_the_range() {
        let (never, forever) = (i32::MIN.to_be_bytes(), i32::MAX.to_be_bytes());
        let [never, forever] = [&never, &forever].map(|binary| KeyType::Date.from_binary(binary));
        let late = KeyType::Date.parse(b"9999-12-31");
        assert_eq!(never, Some(Datum::Int(i32::MIN.into())));
        assert!(never < late && late < forever);
    }

    #[test]
    fn an_owned_datum_orders_as_its_datum() {
        let datums =
            [Datum::Bytes(b""), Datum::Bytes(b"A"), Datum::Bytes(b"AB"), Datum::Bytes(b"a")];
        assert!(datums.is_sorted());
        let owned = datums.map(OwnedDatum::from);
        assert!(owned.is_sorted());
        assert_eq!(owned.each_ref().map(OwnedDatum::as_datum), datums);
    }
}
