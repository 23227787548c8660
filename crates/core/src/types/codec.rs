//! The types whose values are encoded here, each mapped to the functions of its family.

use super::{
    array, bit, boolean, bytea, datetime, float, geometry, integer, interval, jsonb, lsn, mac,
    money, network, numeric, range, record, text, time, uuid,
};

/// A type whose values are encoded from text into fields of COPY BINARY, with the session settings that matter.
///
/// A column's modifier does not matter: the server's receive functions apply it, and reject values, exactly as
/// its input functions do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Codec {
    /// `boolean`
    Bool,
    /// `smallint`
    Int2,
    /// `integer`
    Int4,
    /// `bigint`
    Int8,
    /// `numeric`
    Numeric,
    /// `real`
    Float4,
    /// `double precision`
    Float8,
    /// `oid`
    Oid,
    /// `pg_lsn`
    PgLsn,
    /// `money`
    ///
    /// The caller guarantees that the session writes `-$1,234.56` as an English locale does.
    Money,
    /// `"char"`
    Char,
    /// `name`
    Name,
    /// `text`, `character varying`, `character`, `json` and enums, which are sent unchanged.
    Text,
    /// `character` with a length.
    Padded,
    /// `xml`
    Xml,
    /// `bytea`
    Bytea,
    /// `bit` and `bit varying`
    Bit,
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
    /// `date`
    Date,
    /// `time without time zone`
    Time,
    /// `time with time zone`
    ///
    /// The caller guarantees the meaning of `Z` as for [`super::KeyType::Timestamptz`].
    Timetz {
        /// The session's time zone, as for [`super::KeyType::Timestamptz`].
        zone: Option<i32>,
    },
    /// `interval` with all of its fields.
    Interval,
    /// `timestamp without time zone`
    Timestamp,
    /// `timestamp with time zone`
    ///
    /// The caller guarantees the meaning of `Z` as for [`super::KeyType::Timestamptz`].
    Timestamptz {
        /// The session's time zone, as for [`super::KeyType::Timestamptz`].
        zone: Option<i32>,
    },
    /// `jsonb`
    Jsonb,
    /// `point`
    Point,
    /// `line`
    Line,
    /// `lseg`
    Lseg,
    /// `box`
    Box,
    /// `path`
    Path,
    /// `polygon`
    Polygon,
    /// `circle`
    Circle,
    /// An array.
    ///
    /// The caller guarantees that `array_nulls` is on in the session.
    Array {
        /// The type of the elements.
        oid: u32,
        /// The character between the elements.
        delimiter: u8,
        /// Codec of the elements.
        element: Box<Codec>,
    },
    /// A range of any type.
    Range(Box<Codec>),
    /// A multirange of any type.
    Multirange(Box<Codec>),
    /// A composite type: the type and the codec of each column.
    Composite(Box<[(u32, Codec)]>),
}

impl Codec {
    /// Appends the field in the format of COPY BINARY: its length in four bytes, then its value. Returns `None`
    /// unless the value is proven equal to the one that the server's input function makes of `text`. After
    /// `None`, `field` may end with a part of the value.
    ///
    /// `text` need not be valid UTF-8 (the server's encoding), because the server checks it.
    #[inline]
    #[must_use]
    pub fn encode(&self, text: &[u8], field: &mut Vec<u8>) -> Option<()> {
        // Most columns have these types. The other types have a function of their own, which keeps this one
        // small.
        match self {
            Self::Int4 => integer::encode4(text, field),
            Self::Int8 => integer::encode8(text, field),
            Self::Numeric => numeric::encode(text, field),
            Self::Text => text::encode(text, field),
            Self::Padded => text::encode_padded(text, field),
            Self::Uuid => uuid::encode(text, field),
            Self::Date => datetime::encode_date(text, field),
            Self::Timestamp => datetime::encode_timestamp(text, field),
            Self::Timestamptz { zone } => datetime::encode_timestamptz(text, *zone, field),
            _ => self.encode_rare(text, field),
        }
    }

    #[inline(never)]
    fn encode_rare(&self, text: &[u8], field: &mut Vec<u8>) -> Option<()> {
        match self {
            Self::Bool => boolean::encode(text, field),
            Self::Int2 => integer::encode2(text, field),
            Self::Float4 => float::encode4(text, field),
            Self::Float8 => float::encode8(text, field),
            Self::Oid => integer::encode_oid(text, field),
            Self::PgLsn => lsn::encode(text, field),
            Self::Money => money::encode(text, field),
            Self::Char => text::encode_char(text, field),
            Self::Name => text::encode_name(text, field),
            Self::Xml => text::encode_xml(text, field),
            Self::Bytea => bytea::encode(text, field),
            Self::Bit => bit::encode(text, field),
            Self::Macaddr => mac::encode(text, field),
            Self::Macaddr8 => mac::encode8(text, field),
            Self::Inet => network::encode_inet(text, field),
            Self::Cidr => network::encode_cidr(text, field),
            Self::Time => time::encode(text, field),
            Self::Timetz { zone } => time::encode_zoned(text, *zone, field),
            Self::Interval => interval::encode(text, field),
            Self::Jsonb => jsonb::encode(text, field),
            Self::Point => geometry::encode_point(text, field),
            Self::Line => geometry::encode_line(text, field),
            Self::Lseg => geometry::encode_lseg(text, field),
            Self::Box => geometry::encode_box(text, field),
            Self::Path => geometry::encode_path(text, field),
            Self::Polygon => geometry::encode_polygon(text, field),
            Self::Circle => geometry::encode_circle(text, field),
            Self::Array { oid, delimiter, element } => {
                array::encode(*oid, *delimiter, element, text, field)
            }
            Self::Range(subtype) => range::encode(subtype, text, field),
            Self::Multirange(subtype) => range::encode_multirange(subtype, text, field),
            Self::Composite(columns) => record::encode(columns, text, field),
            // Handled by `encode`.
            Self::Int4
            | Self::Int8
            | Self::Numeric
            | Self::Text
            | Self::Padded
            | Self::Uuid
            | Self::Date
            | Self::Timestamp
            | Self::Timestamptz { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Codec;

    /// Returns a codec of each type, with a text for it.
    fn all() -> Vec<(Codec, &'static str)> {
        let array = Codec::Array { oid: 25, delimiter: b',', element: Codec::Text.into() };
        vec![
            (Codec::Bool, "t"),
            (Codec::Int2, "1"),
            (Codec::Int4, "1"),
            (Codec::Int8, "1"),
            (Codec::Numeric, "1"),
            (Codec::Float4, "1"),
            (Codec::Float8, "1"),
            (Codec::Oid, "1"),
            (Codec::PgLsn, "1/1"),
            (Codec::Money, "1"),
            (Codec::Char, ""),
            (Codec::Name, "a"),
            (Codec::Text, "a"),
            (Codec::Text, "longer than a word"),
            (Codec::Xml, "<a/>"),
            (Codec::Bytea, "a"),
            (Codec::Bytea, "\\x00"),
            (Codec::Bit, "1"),
            (Codec::Uuid, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
            (Codec::Macaddr, "08:00:2b:01:02:03"),
            (Codec::Macaddr8, "08:00:2b:01:02:03"),
            (Codec::Inet, "::1"),
            (Codec::Cidr, "::1"),
            (Codec::Date, "2000-01-01"),
            (Codec::Time, "00:00"),
            (Codec::Timetz { zone: None }, "00:00Z"),
            (Codec::Interval, "1 day"),
            (Codec::Timestamp, "2000-01-01 00:00"),
            (Codec::Timestamptz { zone: None }, "2000-01-01 00:00Z"),
            (Codec::Jsonb, "1"),
            (Codec::Point, "(1,2)"),
            (Codec::Line, "{1,2,3}"),
            (Codec::Lseg, "[(1,2),(3,4)]"),
            (Codec::Box, "(1,2),(3,4)"),
            (Codec::Path, "[(1,2)]"),
            (Codec::Polygon, "((1,2))"),
            (Codec::Circle, "<(1,2),3>"),
            (array, "{a}"),
            (Codec::Range(Codec::Int4.into()), "[1,2)"),
            (Codec::Multirange(Codec::Int4.into()), "{[1,2),[3,4)}"),
            (Codec::Composite([(23, Codec::Int4), (25, Codec::Text)].into()), "(1,a)"),
        ]
    }

    #[test]
    fn a_field_is_appended_with_its_length() {
        for (codec, text) in all() {
            let mut field = b"before".to_vec();
            assert_eq!(codec.encode(text.as_bytes(), &mut field), Some(()), "{codec:?}");
            let field = field.strip_prefix(b"before").expect(text);
            let (length, value) = field.split_first_chunk().expect(text);
            assert_eq!(i32::from_be_bytes(*length) as usize, value.len(), "{codec:?}");
        }
    }

    #[test]
    fn no_text_of_the_server_has_a_zero_in_it() {
        for (codec, text) in all() {
            for place in 0..=text.len() {
                let mut text = text.as_bytes().to_vec();
                text.insert(place, 0);
                assert_eq!(codec.encode(&text, &mut Vec::new()), None, "{codec:?} {place}");
            }
        }
    }
}
