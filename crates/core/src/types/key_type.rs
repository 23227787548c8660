//! The key types, each with the relevant part of its modifier, mapped to the functions of its family.

use super::{
    Datum, Labels, OwnedDatum, Scale, array, boolean, bytea, datetime, float, integer, interval,
    jsonb, lsn, mac, network, numeric, range, text, time, uuid,
};
use crate::hash;

/// A key type with native support, and the relevant parts of its modifier and of the session settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyType {
    /// `boolean`
    Bool,
    /// `smallint`
    Int2,
    /// `integer`
    Int4,
    /// `bigint`
    Int8,
    /// `numeric`
    Numeric {
        /// The declared precision and scale, if any.
        scale: Option<Scale>,
    },
    /// `real`
    Float4,
    /// `double precision`
    Float8,
    /// `oid`
    Oid,
    /// `pg_lsn`
    PgLsn,
    /// `"char"`
    Char,
    /// `name`
    Name,
    /// `bytea`
    Bytea,
    /// `text`
    Text,
    /// `character varying`
    Varchar {
        /// The declared length in characters, if any.
        max: Option<u32>,
    },
    /// `character`
    Bpchar {
        /// The declared length in characters; `None` for a bare `bpchar`.
        max: Option<u32>,
    },
    /// `uuid`
    Uuid,
    /// `macaddr`
    Macaddr,
    /// `macaddr8`
    Macaddr8,
    /// `inet`
    Inet,
    /// `cidr`
    Cidr,
    /// An enum.
    Enum(Labels),
    /// `date`
    Date,
    /// `time without time zone`
    Time {
        /// Fractional digits of a second, 0 to 6; 6 if not declared.
        precision: u8,
    },
    /// `time with time zone`
    ///
    /// The caller guarantees the meaning of `Z` as for [`KeyType::Timestamptz`].
    Timetz {
        /// Fractional digits of a second, 0 to 6; 6 if not declared.
        precision: u8,
        /// The session's time zone, as for [`KeyType::Timestamptz`].
        zone: Option<i32>,
    },
    /// `interval` with all of its fields.
    Interval {
        /// Fractional digits of a second, 0 to 6; 6 if not declared.
        precision: u8,
    },
    /// `timestamp without time zone`
    Timestamp {
        /// Fractional digits of a second, 0 to 6; 6 if not declared.
        precision: u8,
    },
    /// `timestamp with time zone`
    ///
    /// The caller guarantees that the session reads `Z` as UTC. It does under every `timezone_abbreviations`
    /// file that PostgreSQL ships, unless (from version 18 on) `Z` is an abbreviation of the session's own time
    /// zone.
    Timestamptz {
        /// Fractional digits of a second, 0 to 6; 6 if not declared.
        precision: u8,
        /// The session's time zone in seconds east of UTC, if its offset is constant.
        zone: Option<i32>,
    },
    /// `jsonb`, in the order of a database whose collation sorts by bytes.
    Jsonb,
    /// An array of any of the other types, with the modifier declared for the array.
    ///
    /// The caller guarantees that `array_nulls` is on in the session.
    Array(Box<KeyType>),
    /// One of the six built-in range types: a range of `integer`, `bigint`, `numeric`, `date`, `timestamp` or
    /// `timestamptz`.
    Range(Box<KeyType>),
}

impl KeyType {
    /// Parses `text` into the datum that PostgreSQL's input function returns, or returns `None` if that is not
    /// proven; then the server decides. The datum is stored in `scratch` if it is not part of the text.
    ///
    /// Strings must be valid in the server's encoding, and that must be UTF-8 (or the string ASCII).
    #[must_use]
    pub fn parse<'a>(&self, text: &'a [u8], scratch: &'a mut Vec<u8>) -> Option<Datum<'a>> {
        scratch.clear();
        match *self {
            Self::Numeric { scale } => written(numeric::parse(text, scale, scratch), scratch),
            Self::Name => text::parse_name(text).map(Datum::Bytes),
            Self::Bytea => written(bytea::parse(text, scratch), scratch),
            Self::Text => Some(Datum::Bytes(text)),
            Self::Varchar { max } => text::parse_varchar(text, max).map(Datum::Bytes),
            Self::Bpchar { max } => text::parse_bpchar(text, max).map(Datum::Bytes),
            Self::Uuid => uuid::parse(text).map(Datum::Uuid),
            Self::Macaddr => written(mac::parse(text, scratch), scratch),
            Self::Macaddr8 => written(mac::parse8(text, scratch), scratch),
            Self::Inet => network::parse_inet(text).map(Datum::Network),
            Self::Cidr => network::parse_cidr(text).map(Datum::Network),
            Self::Timetz { precision, zone } => {
                time::parse_zoned(text, precision, zone).map(Datum::Wide)
            }
            Self::Interval { precision } => interval::parse(text, precision).map(Datum::Wide),
            Self::Jsonb => written(jsonb::parse(text, scratch), scratch),
            Self::Array(ref ty) => written(array::parse(ty, text, scratch), scratch),
            Self::Range(ref subtype) => written(range::parse(subtype, text, scratch), scratch),
            _ => self.parse_int(text).map(Datum::Int),
        }
    }

    /// Parses like [`Self::parse`] for the types whose datum is [`Datum::Int`]; returns `None` for all others.
    #[inline]
    #[must_use]
    pub fn parse_int(&self, text: &[u8]) -> Option<i64> {
        match *self {
            Self::Int2 => integer::parse(text, i16::MIN.into(), i16::MAX.into()),
            Self::Int4 => integer::parse(text, i32::MIN.into(), i32::MAX.into()),
            Self::Int8 => integer::parse(text, i64::MIN, i64::MAX),
            Self::Date => datetime::parse_date(text),
            Self::Timestamp { precision } => datetime::parse_timestamp(text, precision),
            Self::Timestamptz { precision, zone } => {
                datetime::parse_timestamptz(text, precision, zone)
            }
            Self::Float4 => float::parse_float4(text),
            Self::Float8 => float::parse_float8(text),
            Self::Oid => integer::parse_oid(text),
            Self::PgLsn => lsn::parse(text),
            Self::Bool => boolean::parse(text).map(i64::from),
            Self::Char => text::parse_char(text),
            Self::Enum(ref labels) => labels.parse(text),
            Self::Time { precision } => time::parse(text, precision),
            _ => None,
        }
    }

    /// Decodes `bytes`, in binary, into the datum that PostgreSQL's receive function returns. Returns `None` if
    /// that is not proven, or if the modifier would change the value. If [`Self::parse`] reads a text and
    /// [`Codec::encode`](super::Codec::encode) encodes it, this function decodes the result to the same datum.
    /// The datum is stored in `scratch` if it is not part of `bytes`.
    ///
    /// The infinities of `date` and `timestamp` are the ends of the 32-bit and the 64-bit range, here as in
    /// PostgreSQL.
    #[must_use]
    pub fn receive<'a>(&self, bytes: &'a [u8], scratch: &'a mut Vec<u8>) -> Option<Datum<'a>> {
        scratch.clear();
        match *self {
            Self::Numeric { scale } => written(numeric::receive(bytes, scale, scratch), scratch),
            Self::Name => text::parse_name(bytes).map(Datum::Bytes),
            Self::Bytea | Self::Text => Some(Datum::Bytes(bytes)),
            Self::Varchar { max } => text::parse_varchar(bytes, max).map(Datum::Bytes),
            Self::Bpchar { max } => text::parse_bpchar(bytes, max).map(Datum::Bytes),
            Self::Uuid => fixed(bytes).map(u128::from_be_bytes).map(Datum::Uuid),
            Self::Macaddr => fixed::<6>(bytes).map(|_| Datum::Bytes(bytes)),
            Self::Macaddr8 => fixed::<8>(bytes).map(|_| Datum::Bytes(bytes)),
            Self::Inet | Self::Cidr => network::from_binary(bytes).map(Datum::Network),
            Self::Timetz { precision, .. } => {
                time::receive_zoned(bytes, precision).map(Datum::Wide)
            }
            Self::Interval { precision } => interval::receive(bytes, precision).map(Datum::Wide),
            Self::Jsonb => written(jsonb::receive(bytes, scratch), scratch),
            Self::Array(ref ty) => written(array::receive(ty, bytes, scratch), scratch),
            Self::Range(ref subtype) => written(range::receive(subtype, bytes, scratch), scratch),
            _ => self.receive_int(bytes).map(Datum::Int),
        }
    }

    /// Decodes like [`Self::receive`] for the types whose datum is [`Datum::Int`]; returns `None` for all
    /// others.
    #[inline]
    #[must_use]
    pub fn receive_int(&self, bytes: &[u8]) -> Option<i64> {
        Some(match *self {
            Self::Int8 => i64::from_be_bytes(fixed(bytes)?),
            Self::Int4 | Self::Date => i32::from_be_bytes(fixed(bytes)?).into(),
            Self::Timestamp { precision }
            | Self::Timestamptz { precision, .. }
            | Self::Time { precision } => {
                let usecs = i64::from_be_bytes(fixed(bytes)?);
                let is_infinite = matches!(usecs, i64::MIN | i64::MAX);
                (is_infinite || datetime::is_exact(usecs, precision)).then_some(usecs)?
            }
            Self::Int2 => i16::from_be_bytes(fixed(bytes)?).into(),
            Self::Bool => match bytes {
                [value @ (0 | 1)] => (*value).into(),
                _ => return None,
            },
            Self::Float4 => float::sortable(f32::from_be_bytes(fixed(bytes)?).into()),
            Self::Float8 => float::sortable(f64::from_be_bytes(fixed(bytes)?)),
            Self::Oid => u32::from_be_bytes(fixed(bytes)?).into(),
            Self::PgLsn => lsn::sortable(u64::from_be_bytes(fixed(bytes)?)),
            Self::Char => text::parse_char(bytes.strip_suffix(b"\0").unwrap_or(bytes))?,
            Self::Enum(ref labels) => labels.parse(bytes)?,
            _ => return None,
        })
    }

    /// Decodes a value in the binary form that the type's send function writes. Works like [`Self::receive`],
    /// but does not check the modifier, because the server has applied it. Returns `None` if `bytes` are not a
    /// value of the type.
    #[must_use]
    pub fn from_binary(&self, bytes: &[u8]) -> Option<OwnedDatum> {
        self.without_modifier().receive(bytes, &mut Vec::new()).map(OwnedDatum::from)
    }

    fn without_modifier(&self) -> Self {
        match self {
            Self::Numeric { .. } => Self::Numeric { scale: None },
            Self::Varchar { .. } => Self::Varchar { max: None },
            Self::Bpchar { .. } => Self::Bpchar { max: None },
            Self::Time { .. } => Self::Time { precision: 6 },
            Self::Timetz { zone, .. } => Self::Timetz { precision: 6, zone: *zone },
            Self::Interval { .. } => Self::Interval { precision: 6 },
            Self::Timestamp { .. } => Self::Timestamp { precision: 6 },
            Self::Timestamptz { zone, .. } => Self::Timestamptz { precision: 6, zone: *zone },
            Self::Array(ty) => Self::Array(ty.without_modifier().into()),
            other => other.clone(),
        }
    }

    /// Hashes a datum with the type's extended hash function and `seed`; routing uses [`hash::PARTITION_SEED`].
    ///
    /// The functions are `hashcharextended` (boolean, "char"), `hashint2extended`, `hashint4extended` (also
    /// date), `hashint8extended`, `hashoidextended` and `hashnameextended` of
    /// `src/backend/access/hash/hashfunc.c`, `time_hash_extended`, `timestamp_hash_extended`,
    /// `uuid_hash_extended`, `hashtextextended`, `hashbpcharextended`, `hashvarlenaextended`,
    /// `hashmacaddrextended` and `hashmacaddr8extended`, PostgreSQL 13 to 18. In version 18, boolean, date,
    /// timestamptz and bytea have functions of their own that return the same hashes. Strings are hashed as
    /// under a deterministic collation. The functions of the other types are named at their definitions here.
    #[inline]
    #[must_use]
    pub fn hash(&self, datum: Datum<'_>, seed: u64) -> u64 {
        match datum {
            Datum::Int(value) => match self {
                Self::Float4 | Self::Float8 => float::hash_extended(value, seed),
                Self::PgLsn => lsn::hash_extended(value, seed),
                Self::Enum(labels) => labels.hash_extended(value, seed),
                // PostgreSQL hashes equal integers of any width to the same value.
                _ => integer::hash_extended(value, seed),
            },
            Datum::Wide(value) => match self {
                Self::Timetz { .. } => time::hash_zoned(value, seed),
                _ => interval::hash_extended(value, seed),
            },
            Datum::Uuid(value) => hash::bytes_extended(&value.to_be_bytes(), seed),
            Datum::Network(network) => network::hash_extended(&network, seed),
            Datum::Bytes(bytes) => match self {
                Self::Numeric { .. } => numeric::hash_extended(bytes, seed),
                Self::Jsonb => jsonb::hash_extended(&mut &*bytes, seed),
                Self::Array(ty) => array::hash_extended(ty, bytes, seed),
                Self::Range(subtype) => range::hash_extended(subtype, &mut &*bytes, seed),
                _ => hash::bytes_extended(bytes, seed),
            },
        }
    }
}

/// Returns the bytes that a parser wrote to `scratch` as a datum.
fn written(parsed: Option<()>, scratch: &[u8]) -> Option<Datum<'_>> {
    parsed.map(|()| Datum::Bytes(scratch))
}

fn fixed<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::{KeyType, OwnedDatum};

    #[test]
    fn binary_of_another_length_is_no_datum() {
        for key_type in [
            KeyType::Bool,
            KeyType::Int2,
            KeyType::Int4,
            KeyType::Int8,
            KeyType::Uuid,
            KeyType::Float4,
            KeyType::Float8,
            KeyType::Oid,
            KeyType::PgLsn,
            KeyType::Numeric { scale: None },
            KeyType::Macaddr,
            KeyType::Macaddr8,
            KeyType::Inet,
            KeyType::Timetz { precision: 6, zone: None },
            KeyType::Interval { precision: 6 },
        ] {
            for length in [0, 3, 5, 9, 15, 17] {
                assert_eq!(key_type.from_binary(&vec![0; length]), None, "{key_type:?}");
            }
        }
        assert_eq!(KeyType::Bool.from_binary(&[2]), None);
        assert_eq!(KeyType::Char.from_binary(&[0x80]), None);
    }

    #[test]
    fn infinities_are_the_ends_of_the_range() {
        let (never, forever) = (i32::MIN.to_be_bytes(), i32::MAX.to_be_bytes());
        let [never, forever] = [&never, &forever].map(|binary| KeyType::Date.from_binary(binary));
        let late = KeyType::Date.parse(b"9999-12-31", &mut Vec::new()).map(OwnedDatum::from);
        assert_eq!(never, Some(OwnedDatum::Int(i32::MIN.into())));
        assert!(never < late && late < forever);
    }
}
