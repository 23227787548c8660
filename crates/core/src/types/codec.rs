//! Each type whose values are encoded here, and which family's functions serve it.

use super::{datetime, integer, numeric, text, uuid};

/// A type whose values are turned from text into fields of COPY BINARY, with what of the session matters.
///
/// The modifier of a column does not: the server's receive functions apply it as its input functions do,
/// and refuse what they refuse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Codec {
    /// `smallint`
    Int2,
    /// `integer`
    Int4,
    /// `bigint`
    Int8,
    /// `numeric`
    Numeric,
    /// `text`, `character varying` and `character`: what is sent as it is.
    Text,
    /// `uuid`
    Uuid,
    /// `date`
    Date,
    /// `timestamp without time zone`
    Timestamp,
    /// `timestamp with time zone`
    ///
    /// The caller vouches for `Z` as with [`super::KeyType::Timestamptz`].
    Timestamptz {
        /// As with [`super::KeyType::Timestamptz`].
        zone: Option<i32>,
    },
}

impl Codec {
    /// Appends the field as COPY BINARY has it: its length in four bytes, then its value. None where
    /// it is not proven that this is what the server's input function makes of `text`: then `field`
    /// may hold a part of it behind its old end.
    ///
    /// `text` need not be valid in UTF-8, the server's encoding: the server looks.
    #[inline]
    #[must_use]
    pub fn encode(&self, text: &[u8], field: &mut Vec<u8>) -> Option<()> {
        match *self {
            Self::Int2 => integer::encode2(text, field),
            Self::Int4 => integer::encode4(text, field),
            Self::Int8 => integer::encode8(text, field),
            Self::Numeric => numeric::encode(text, field),
            Self::Text => text::encode(text, field),
            Self::Uuid => uuid::encode(text, field),
            Self::Date => datetime::encode_date(text, field),
            Self::Timestamp => datetime::encode_timestamp(text, field),
            Self::Timestamptz { zone } => datetime::encode_timestamptz(text, zone, field),
        }
    }
}
