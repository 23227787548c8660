//! The codec of a column: how a string that spells a value is written in COPY BINARY.

use pgsluice_core::types::{Codec, ColumnType, TypeStructure};

use crate::oid;

/// Returns the codec of a type; `None` if its strings can only be sent as text.
pub(crate) fn codec(ty: &ColumnType) -> Option<Codec> {
    let ty = ty.base();
    match &ty.structure {
        TypeStructure::Enum => Some(Codec::Text),
        TypeStructure::Array { delimiter, element } => {
            let codec = codec(&element_of(ty, element))?.into();
            Some(Codec::Array { oid: element.oid, delimiter: *delimiter, element: codec })
        }
        TypeStructure::Composite(columns) => {
            let columns = columns.iter().map(|column| Some((column.ty.oid, codec(&column.ty)?)));
            Some(Codec::Composite(columns.collect::<Option<_>>()?))
        }
        TypeStructure::Plain => scalar(ty.oid, ty.modifier),
        TypeStructure::Domain(_) => None,
    }
}

/// Returns the type of an array's elements, with the array's type modifier.
pub(crate) fn element_of(array: &ColumnType, element: &ColumnType) -> ColumnType {
    let modifier = if element.modifier < 0 { array.modifier } else { element.modifier };
    ColumnType { modifier, ..element.clone() }
}

fn scalar(oid: u32, modifier: i32) -> Option<Codec> {
    let range = |subtype: Codec| Codec::Range(subtype.into());
    Some(match oid {
        oid::BOOL => Codec::Bool,
        oid::INT2 => Codec::Int2,
        oid::INT4 => Codec::Int4,
        oid::INT8 => Codec::Int8,
        oid::NUMERIC => Codec::Numeric,
        oid::FLOAT4 => Codec::Float4,
        oid::FLOAT8 => Codec::Float8,
        oid::OID => Codec::Oid,
        oid::PG_LSN => Codec::PgLsn,
        oid::CHAR => Codec::Char,
        oid::NAME => Codec::Name,
        oid::BPCHAR if modifier >= 0 => Codec::Padded,
        oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::JSON => Codec::Text,
        oid::XML => Codec::Xml,
        oid::JSONB => Codec::Jsonb,
        oid::BYTEA => Codec::Bytea,
        oid::BIT | oid::VARBIT => Codec::Bit,
        oid::UUID => Codec::Uuid,
        oid::MACADDR => Codec::Macaddr,
        oid::MACADDR8 => Codec::Macaddr8,
        oid::INET => Codec::Inet,
        oid::CIDR => Codec::Cidr,
        oid::DATE => Codec::Date,
        oid::TIME => Codec::Time,
        oid::TIMETZ => Codec::Timetz { zone: None },
        oid::INTERVAL => return interval_precision(modifier).map(|_| Codec::Interval),
        oid::TIMESTAMP => Codec::Timestamp,
        oid::TIMESTAMPTZ => Codec::Timestamptz { zone: None },
        oid::POINT => Codec::Point,
        oid::LINE => Codec::Line,
        oid::LSEG => Codec::Lseg,
        oid::BOX => Codec::Box,
        oid::PATH => Codec::Path,
        oid::POLYGON => Codec::Polygon,
        oid::CIRCLE => Codec::Circle,
        oid::INT4RANGE => range(Codec::Int4),
        oid::INT8RANGE => range(Codec::Int8),
        oid::NUMRANGE => range(Codec::Numeric),
        oid::DATERANGE => range(Codec::Date),
        oid::TSRANGE => range(Codec::Timestamp),
        oid::TSTZRANGE => range(Codec::Timestamptz { zone: None }),
        _ => return None,
    })
}

/// Returns the declared fractional digits of a second of a date and time type.
pub(crate) fn precision(modifier: i32) -> Option<u8> {
    u8::try_from(modifier).ok().filter(|&precision| precision < 6)
}

/// Returns the declared fractional digits of a second, if the interval has all its fields: `INTERVAL_PRECISION`
/// and `INTERVAL_RANGE`, `src/include/utils/timestamp.h`, PostgreSQL 13 to 18.
pub(crate) fn interval_precision(modifier: i32) -> Option<Option<u8>> {
    if modifier < 0 {
        return Some(None);
    }
    let all = modifier >> 16 & 0x7FFF == 0x7FFF;
    all.then(|| precision(modifier & 0xFFFF))
}

/// Returns a numeric type's declared scale, which may be negative: `numeric_typmod_scale`,
/// `src/backend/utils/adt/numeric.c`, PostgreSQL 15 to 18.
pub(crate) fn numeric_scale(modifier: i32) -> Option<i32> {
    (modifier >= 4).then(|| (((modifier - 4) & 0x7FF) ^ 0x400) - 0x400)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modifiers_are_read() {
        assert_eq!(numeric_scale(-1), None);
        assert_eq!(numeric_scale((15 << 16 | 2) + 4), Some(2));
        assert_eq!(numeric_scale((3 << 16 | 0x7FE) + 4), Some(-2));
        assert_eq!(interval_precision(-1), Some(None));
        assert_eq!(interval_precision(0x7FFF << 16 | 3), Some(Some(3)));
        assert_eq!(interval_precision(0x7FFF << 16 | 0xFFFF), Some(None));
        assert_eq!(interval_precision(4 << 16 | 0xFFFF), None);
        assert_eq!([precision(-1), precision(0), precision(6)], [None, Some(0), None]);
    }
}
