//! The native types of the catalogue with their modifiers.

use pgsluice_core::types::{KeyType, Scale};
use tokio_postgres::types::Type;

/// Returns the key type for values of `ty`; `zone` is the session's, if its offset is constant.
pub(super) fn native(ty: &Type, modifier: i32, zone: Option<i32>) -> Option<KeyType> {
    // atttypmod of the character types counts the four bytes of a varlena header.
    let max = u32::try_from(modifier - 4).ok();
    let precision = u8::try_from(modifier).ok().filter(|digits| *digits <= 6).unwrap_or(6);
    let range = |subtype| native(&subtype, -1, zone).map(|subtype| KeyType::Range(subtype.into()));
    Some(match *ty {
        Type::BOOL => KeyType::Bool,
        Type::INT2 => KeyType::Int2,
        Type::INT4 => KeyType::Int4,
        Type::INT8 => KeyType::Int8,
        Type::NUMERIC => KeyType::Numeric { scale: numeric_scale(modifier) },
        Type::FLOAT4 => KeyType::Float4,
        Type::FLOAT8 => KeyType::Float8,
        Type::OID => KeyType::Oid,
        Type::PG_LSN => KeyType::PgLsn,
        Type::CHAR => KeyType::Char,
        Type::NAME => KeyType::Name,
        Type::BYTEA => KeyType::Bytea,
        Type::TEXT => KeyType::Text,
        Type::VARCHAR => KeyType::Varchar { max },
        Type::BPCHAR => KeyType::Bpchar { max },
        Type::UUID => KeyType::Uuid,
        Type::MACADDR => KeyType::Macaddr,
        Type::MACADDR8 => KeyType::Macaddr8,
        Type::INET => KeyType::Inet,
        Type::CIDR => KeyType::Cidr,
        Type::DATE => KeyType::Date,
        Type::TIME => KeyType::Time { precision },
        Type::TIMETZ => KeyType::Timetz { precision, zone },
        Type::INTERVAL => KeyType::Interval { precision: interval_precision(modifier)? },
        Type::TIMESTAMP => KeyType::Timestamp { precision },
        Type::TIMESTAMPTZ => KeyType::Timestamptz { precision, zone },
        Type::JSONB => KeyType::Jsonb,
        Type::INT4_RANGE => range(Type::INT4)?,
        Type::INT8_RANGE => range(Type::INT8)?,
        Type::NUM_RANGE => range(Type::NUMERIC)?,
        Type::DATE_RANGE => range(Type::DATE)?,
        Type::TS_RANGE => range(Type::TIMESTAMP)?,
        Type::TSTZ_RANGE => range(Type::TIMESTAMPTZ)?,
        _ => return None,
    })
}

/// Inverts `make_numeric_typmod`, `src/backend/utils/adt/numeric.c`: the scale has eleven bits, the first of
/// which is its sign from version 15 on.
fn numeric_scale(modifier: i32) -> Option<Scale> {
    let modifier = u32::try_from(modifier - 4).ok()?;
    let scale = ((modifier & 0x7FF) as i32 ^ 1024) - 1024;
    Some(Scale { precision: (modifier >> 16) as i32, scale })
}

/// Inverts `INTERVAL_TYPMOD`, `src/include/utils/timestamp.h`: the lower half is a precision or all ones.
/// Returns `None` for an interval limited to some fields, such as `interval day`.
pub(super) fn interval_precision(modifier: i32) -> Option<u8> {
    const FULL: i32 = 0x7FFF;
    if modifier >= 0 && modifier >> 16 != FULL {
        return None;
    }
    let precision = modifier & 0xFFFF;
    Some(if precision <= 6 { precision as u8 } else { 6 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modifiers_are_lengths_and_precisions() {
        assert_eq!(native(&Type::VARCHAR, 9, None), Some(KeyType::Varchar { max: Some(5) }));
        assert_eq!(native(&Type::VARCHAR, -1, None), Some(KeyType::Varchar { max: None }));
        assert_eq!(native(&Type::TIMESTAMP, -1, None), Some(KeyType::Timestamp { precision: 6 }));
        assert_eq!(native(&Type::TIMESTAMP, 0, None), Some(KeyType::Timestamp { precision: 0 }));
        assert_eq!(native(&Type::JSON, -1, None), None);
    }

    #[test]
    fn modifiers_of_numeric_and_interval() {
        assert_eq!(numeric_scale(-1), None);
        let scale = |precision, scale| Some(Scale { precision, scale });
        assert_eq!(numeric_scale((10 << 16 | 2) + 4), scale(10, 2));
        assert_eq!(numeric_scale((1000 << 16 | 1000) + 4), scale(1000, 1000));
        assert_eq!(numeric_scale((3 << 16 | (-2 & 0x7FF)) + 4), scale(3, -2));
        assert_eq!(interval_precision(-1), Some(6));
        assert_eq!(interval_precision(0x7FFF_0003), Some(3));
        assert_eq!(interval_precision(0x0008_FFFF), None);
    }
}
