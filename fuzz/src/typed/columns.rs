//! Columns of a table: of any type, or of a type that suits an Arrow type.

use arrow_schema::DataType;
use pgsluice_core::types::{Column, ColumnType, TypeStructure};

use crate::choices::Choices;

/// All types that are known by their oid, and some unknown ones: money, pg_node_tree, int4multirange.
const OIDS: [u32; 46] = [
    16, 17, 18, 19, 20, 21, 23, 25, 26, 114, 142, 600, 601, 602, 603, 604, 628, 650, 700, 701, 718,
    774, 790, 829, 869, 1042, 1043, 1082, 1083, 1114, 1184, 1186, 1266, 1560, 1562, 1700, 2950,
    3220, 3802, 3904, 3906, 3908, 3910, 3912, 194, 4451,
];

/// The type modifiers: -1, a precision, a length, a scale of a numeric (also negative), and the fields of an
/// interval.
const MODIFIERS: [i32; 8] =
    [-1, 0, 3, 6, 14, (9 << 16 | 2) + 4, (3 << 16 | 0x7FE) + 4, 0x7FFF << 16 | 3];

/// Returns any type.
pub fn any(c: &mut Choices<'_>, depth: usize) -> ColumnType {
    let oid = c.pick(&OIDS);
    let modifier = if c.once_in(3) { c.pick(&MODIFIERS) } else { -1 };
    let structure = match c.below(if depth == 0 { 3 } else { 8 }) {
        0 | 1 => TypeStructure::Plain,
        2 => return ty(90_000, TypeStructure::Enum),
        3 => return ty(90_001, TypeStructure::Domain(any(c, depth - 1).into())),
        4 | 5 => {
            let delimiter = c.pick(b",;");
            let array = TypeStructure::Array { delimiter, element: any(c, depth - 1).into() };
            return ColumnType { modifier, ..ty(90_002, array) };
        }
        _ => {
            let names = &["a", "b", "c"][..c.below(4)];
            let columns = names.iter().map(|name| column(name, any(c, depth - 1))).collect();
            return ty(90_003, TypeStructure::Composite(columns));
        }
    };
    ColumnType { modifier, ..ty(oid, structure) }
}

/// Returns the usual type for values of `of`, or sometimes another one that may hold them too.
pub fn suitable(c: &mut Choices<'_>, of: &DataType) -> ColumnType {
    use DataType as D;
    match c.below(8) {
        6 => return plain(c.pick(&[25, 3802])),
        7 => return any(c, 2),
        _ => {}
    }
    plain(match of {
        D::Boolean => 16,
        D::Int8 | D::Int16 | D::UInt8 => c.pick(&[21, 23, 701]),
        D::Int32 | D::UInt16 => c.pick(&[23, 20, 21, 700]),
        D::Int64 | D::UInt32 => c.pick(&[20, 23, 26, 701]),
        D::UInt64 => c.pick(&[1700, 20]),
        D::Float16 | D::Float32 | D::Float64 => c.pick(&[701, 700, 1700, 20]),
        D::Decimal32(..) | D::Decimal64(..) | D::Decimal128(..) | D::Decimal256(..) => {
            let modifier = c.pick(&[-1, -1, MODIFIERS[5], MODIFIERS[6]]);
            return ColumnType { modifier, ..plain(c.pick(&[1700, 20])) };
        }
        D::Binary | D::LargeBinary | D::BinaryView => c.pick(&[17, 25]),
        D::FixedSizeBinary(_) => c.pick(&[2950, 17]),
        D::Date32 | D::Date64 => c.pick(&[1082, 1114]),
        D::Time32(_) | D::Time64(_) => 1083,
        D::Timestamp(_, zone) => {
            let oid = if zone.is_some() { 1184 } else { c.pick(&[1114, 1082]) };
            return ColumnType { modifier: c.pick(&[-1, 0, 3, 6]), ..plain(oid) };
        }
        D::Duration(_) | D::Interval(_) => {
            return ColumnType { modifier: c.pick(&[-1, MODIFIERS[7]]), ..plain(1186) };
        }
        D::List(item)
        | D::LargeList(item)
        | D::ListView(item)
        | D::LargeListView(item)
        | D::FixedSizeList(item, _) => {
            let element = suitable(c, item.data_type()).into();
            return ty(90_002, TypeStructure::Array { delimiter: b',', element });
        }
        D::Struct(fields) => {
            let columns = fields.iter();
            let columns = columns.map(|it| column(it.name(), suitable(c, it.data_type())));
            return ty(90_003, TypeStructure::Composite(columns.collect()));
        }
        D::Map(..) => 3802,
        D::Dictionary(_, values) => return suitable(c, values),
        D::RunEndEncoded(_, values) => return suitable(c, values.data_type()),
        _ => return any(c, 2),
    })
}

/// Returns a column.
pub fn column(name: &str, ty: ColumnType) -> Column {
    Column { name: name.to_owned(), ty }
}

fn plain(oid: u32) -> ColumnType {
    ty(oid, TypeStructure::Plain)
}

fn ty(oid: u32, structure: TypeStructure) -> ColumnType {
    ColumnType { oid, modifier: -1, name: format!("type {oid}"), structure }
}
