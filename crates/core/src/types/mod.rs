//! The types with native support, as in PostgreSQL 13 to 18. Key types ([`KeyType`]) parse text and binary into
//! datums, which they compare and hash; codecs ([`Codec`]) encode columns from text to binary. Each family of
//! types has its own file, and this module contains their common interface.
//!
//! A text becomes a datum only if that datum is proven equal to the result of the server's own input function,
//! under any DateStyle, IntervalStyle, locale or version. Everything else is `None`, also a text that the server
//! will reject, because the server words the error. The server may still reject an encoded value if its receive
//! function checks it as its input function does.

mod array;
mod bit;
mod boolean;
mod bytea;
mod codec;
mod column_type;
pub(crate) mod datetime;
mod digits;
mod element;
pub(crate) mod float;
mod geometry;
mod integer;
mod interval;
mod json;
mod jsonb;
mod key_type;
mod label;
mod lsn;
mod mac;
mod money;
mod network;
pub(crate) mod numeric;
mod range;
mod record;
mod text;
mod time;
mod unquoted;
mod uuid;
pub mod wire;

pub use codec::Codec;
pub use column_type::{Column, ColumnType, TypeStructure};
pub use key_type::KeyType;
pub use label::Labels;
pub use network::Network;
pub use numeric::Scale;

/// A partition key value that is not null, in a form that compares and hashes as PostgreSQL's datums do.
///
/// Only datums of the same type are comparable. `Bytes` are ordered as under the C collation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Datum<'a> {
    /// `boolean` (0 or 1), the integers, `oid`, `"char"`, `date` (days from 2000-01-01), `timestamp` with or
    /// without time zone (microseconds from 2000-01-01, in UTC for the former), `time` (microseconds). Also the
    /// position of an enum's label, and the floating-point types and `pg_lsn` as integers that sort in the same
    /// order.
    Int(i64),
    /// `interval` (microseconds, a month being 30 days) and `timetz` (by UTC, then by zone).
    Wide(i128),
    /// `uuid`, with the first byte highest.
    Uuid(u128),
    /// `inet` and `cidr`.
    Network(Network),
    /// The string types (`bpchar` without its trailing blanks), `bytea`, `macaddr` and `macaddr8`; also
    /// `numeric`, `jsonb`, arrays and ranges, in bytes that sort in the same order.
    Bytes(&'a [u8]),
}

/// A datum that owns its bytes, for bounds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OwnedDatum {
    /// See [`Datum::Int`].
    Int(i64),
    /// See [`Datum::Wide`].
    Wide(i128),
    /// See [`Datum::Uuid`].
    Uuid(u128),
    /// See [`Datum::Network`].
    Network(Network),
    /// See [`Datum::Bytes`].
    Bytes(Box<[u8]>),
}

impl OwnedDatum {
    /// Borrows the datum.
    #[must_use]
    pub fn as_datum(&self) -> Datum<'_> {
        match self {
            Self::Int(value) => Datum::Int(*value),
            Self::Wide(value) => Datum::Wide(*value),
            Self::Uuid(value) => Datum::Uuid(*value),
            Self::Network(value) => Datum::Network(*value),
            Self::Bytes(bytes) => Datum::Bytes(bytes),
        }
    }
}

impl From<Datum<'_>> for OwnedDatum {
    fn from(datum: Datum<'_>) -> Self {
        match datum {
            Datum::Int(value) => Self::Int(value),
            Datum::Wide(value) => Self::Wide(value),
            Datum::Uuid(value) => Self::Uuid(value),
            Datum::Network(value) => Self::Network(value),
            Datum::Bytes(bytes) => Self::Bytes(bytes.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Datum, OwnedDatum};

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
