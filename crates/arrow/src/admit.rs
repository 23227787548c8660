//! Decides which Arrow type can be written into which PostgreSQL type, or explains why it cannot.
//!
//! [`crate::fit`] checks the values; this module checks only the types.

use std::collections::HashSet;

use arrow_schema::{DataType, Field, FieldRef};
use pgsluice_core::types::{Column, ColumnType, TypeStructure};

use crate::array::{ArrayOf, MAX_DIMENSIONS};
use crate::codec::{codec, element_of, interval_precision, numeric_scale, precision};
use crate::composite::{ColumnOf, CompositeOf};
use crate::extension::Extension;
use crate::inexact::{DeclaredScale, Inexact, Precision};
use crate::oid;
use crate::writer::{ColumnWriter, SpelledType};

/// Returns the writer of a field's values into a column of the type `ty`.
pub(crate) fn writer(
    field: &Field,
    ty: &ColumnType,
    inexact: Inexact,
) -> Result<ColumnWriter, String> {
    Extension::check(field)?;
    let base = ty.base();
    let source = plain(field.data_type());
    let is_json = matches!(base.oid, oid::JSON | oid::JSONB);
    match source {
        DataType::Null => Ok(ColumnWriter::Null),
        DataType::Union(..) => Err("unions are not supported".to_owned()),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            Ok(ColumnWriter::Spelled(spelled_type(base)))
        }
        ty if is_binary(ty) && is_json && Extension::from_field(field) != Extension::Uuid => {
            Ok(ColumnWriter::Utf8(spelled_type(base)))
        }
        _ if is_json => {
            as_json(field)?;
            Ok(ColumnWriter::Json(base.oid == oid::JSONB))
        }
        source if source.is_nested() => admit_nested(source, base, inexact),
        _ => scalar(field, source, base, inexact),
    }
}

/// Returns the type of the values, without dictionary or run-end encoding.
fn plain(ty: &DataType) -> &DataType {
    match ty {
        DataType::Dictionary(_, values) => plain(values),
        DataType::RunEndEncoded(_, values) => plain(values.data_type()),
        _ => ty,
    }
}

fn spelled_type(base: &ColumnType) -> SpelledType {
    let max = match base.oid {
        // `NAMEDATALEN`, `src/include/pg_config_manual.h`, without the terminating zero.
        oid::NAME => 63,
        oid::CHAR => 1,
        _ => usize::MAX,
    };
    SpelledType { codec: codec(base), max, name: base.name.clone() }
}

fn admit_nested(
    source: &DataType,
    base: &ColumnType,
    inexact: Inexact,
) -> Result<ColumnWriter, String> {
    match (source, &base.structure) {
        (DataType::Struct(fields), TypeStructure::Composite(columns)) => {
            composite(fields, columns, inexact)
        }
        (DataType::Struct(_), _) => Err("a struct needs a composite type or jsonb".to_owned()),
        (DataType::Map(..), _) => Err("a map needs jsonb or json".to_owned()),
        (_, TypeStructure::Array { delimiter, element }) => {
            array(source, *delimiter, &element_of(base, element), inexact)
        }
        _ => Err("a list needs an array or jsonb".to_owned()),
    }
}

/// Returns the field of a list's values.
fn values(list: &DataType) -> Option<&FieldRef> {
    match list {
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _) => Some(field),
        _ => None,
    }
}

/// Builds the writer of an array. Nested lists are dimensions of one array, unless the elements are lists
/// themselves.
fn array(
    list: &DataType,
    delimiter: u8,
    element: &ColumnType,
    inexact: Inexact,
) -> Result<ColumnWriter, String> {
    let holds_lists = matches!(element.base().oid, oid::JSON | oid::JSONB)
        || matches!(element.base().structure, TypeStructure::Array { .. });
    let mut dimensions = 1;
    let mut field = values(list).ok_or("it is not a list")?;
    while let Some(inner) = values(plain(field.data_type()))
        && !holds_lists
    {
        field = inner;
        dimensions += 1;
    }
    if dimensions > MAX_DIMENSIONS {
        return Err(format!("an array has at most {MAX_DIMENSIONS} dimensions"));
    }
    let writer = writer(field, element, inexact).map_err(|why| format!("its elements: {why}"))?;
    Ok(ColumnWriter::Array(Box::new(ArrayOf {
        oid: element.oid,
        delimiter,
        dimensions,
        element: writer,
    })))
}

fn composite(
    fields: &[FieldRef],
    columns: &[Column],
    inexact: Inexact,
) -> Result<ColumnWriter, String> {
    let names = field_names(fields)?;
    if let Some(name) = names.iter().find(|name| columns.iter().all(|it| it.name != **name)) {
        return Err(format!("the composite type has no column {name:?}"));
    }
    let columns = columns.iter().map(|column| {
        let name = &column.name;
        let place = fields.iter().position(|field| field.name() == name);
        let field = place.ok_or_else(|| format!("the struct has no field {name:?}"))?;
        let writer = writer(&fields[field], &column.ty, inexact)
            .map_err(|why| format!("its field {name:?}: {why}"))?;
        Ok(ColumnOf { oid: column.ty.oid, field, writer })
    });
    let columns = columns.collect::<Result<_, String>>()?;
    Ok(ColumnWriter::Composite(Box::new(CompositeOf { columns })))
}

/// Collects the names of fields, and rejects duplicates.
fn field_names(fields: &[FieldRef]) -> Result<HashSet<&str>, String> {
    let mut names = HashSet::new();
    match fields.iter().find(|field| !names.insert(field.name().as_str())) {
        Some(twice) => Err(format!("the struct has two fields {:?}", twice.name())),
        None => Ok(names),
    }
}

/// Checks whether every value can be written as JSON.
fn as_json(field: &Field) -> Result<(), String> {
    Extension::check(field)?;
    match plain(field.data_type()) {
        DataType::Union(..) => Err("unions are not supported".to_owned()),
        DataType::Struct(fields) => {
            field_names(fields)?;
            fields.iter().try_for_each(|field| as_json(field))
        }
        DataType::Map(entries, _) => match plain(entries.data_type()) {
            DataType::Struct(pair) if pair.len() == 2 && is_string(pair[0].data_type()) => {
                as_json(&pair[1])
            }
            _ => Err("the keys of a JSON object must be strings".to_owned()),
        },
        ty if is_binary(ty) && Extension::from_field(field) != Extension::Uuid => {
            Err("JSON cannot represent bytes".to_owned())
        }
        ty => values(ty).map_or(Ok(()), |field| as_json(field)),
    }
}

fn is_string(ty: &DataType) -> bool {
    matches!(plain(ty), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn is_binary(ty: &DataType) -> bool {
    use DataType as D;
    matches!(ty, D::Binary | D::LargeBinary | D::BinaryView | D::FixedSizeBinary(_))
}

/// Builds the writer of a scalar that is not a string.
fn scalar(
    field: &Field,
    source: &DataType,
    base: &ColumnType,
    inexact: Inexact,
) -> Result<ColumnWriter, String> {
    use DataType as D;
    let modifier = base.modifier;
    let is_text = matches!(base.oid, oid::TEXT | oid::VARCHAR | oid::BPCHAR);
    let is_uuid = Extension::from_field(field) == Extension::Uuid;
    if is_binary(source) {
        return match base.oid {
            oid::BYTEA => Ok(ColumnWriter::Bytea),
            oid::UUID if *source == D::FixedSizeBinary(16) => Ok(ColumnWriter::Uuid),
            _ if is_text && is_uuid => Ok(ColumnWriter::Text),
            _ if is_text => Ok(ColumnWriter::Utf8(spelled_type(base))),
            _ => Err("bytes need bytea, or text if they are valid UTF-8".to_owned()),
        };
    }
    if is_text {
        return Ok(ColumnWriter::Text);
    }
    let is_bool = *source == D::Boolean || Extension::from_field(field) == Extension::Bool8;
    let is_number = source.is_numeric() && !is_bool;
    // Few decimals are exactly floating-point numbers, so most have to be rounded.
    let is_float = source.is_integer() || source.is_floating() || is_number && inexact.rounds();
    let of_second = |digits| Precision { digits, inexact };
    Ok(match (source, base.oid) {
        (_, oid::BOOL) if is_bool => ColumnWriter::Bool,
        _ if is_bool => return Err("a boolean needs boolean or text".to_owned()),
        (_, oid::INT2) if is_number => ColumnWriter::Int2,
        (_, oid::INT4) if is_number => ColumnWriter::Int4,
        (_, oid::INT8) if is_number => ColumnWriter::Int8,
        (_, oid::OID) if source.is_integer() => ColumnWriter::Oid,
        (_, oid::NUMERIC) if is_number => ColumnWriter::Numeric {
            scale: DeclaredScale { digits: numeric_scale(modifier), inexact },
        },
        (_, oid::FLOAT4) if is_float => ColumnWriter::Float4(inexact),
        (_, oid::FLOAT8) if is_float => ColumnWriter::Float8(inexact),
        (D::Date32 | D::Date64 | D::Timestamp(_, None), oid::DATE) => ColumnWriter::Date,
        (D::Date32 | D::Date64 | D::Timestamp(_, None), oid::TIMESTAMP) => {
            ColumnWriter::Timestamp(of_second(precision(modifier)))
        }
        (D::Timestamp(_, Some(_)), oid::TIMESTAMPTZ) => {
            ColumnWriter::Timestamptz(of_second(precision(modifier)))
        }
        (D::Time32(_) | D::Time64(_), oid::TIME) => {
            ColumnWriter::Time(of_second(precision(modifier)))
        }
        (D::Duration(_) | D::Interval(_), oid::INTERVAL) => match interval_precision(modifier) {
            Some(digits) => ColumnWriter::Interval(of_second(digits)),
            None => return Err("the column stores only some fields of an interval".to_owned()),
        },
        _ => return Err(refusal(source, base.oid).to_owned()),
    })
}

/// Explains why a scalar cannot be written into a column of a type.
fn refusal(source: &DataType, oid: u32) -> &'static str {
    use DataType as D;
    match (source, oid) {
        (D::Timestamp(_, None), oid::TIMESTAMPTZ) | (D::Date32 | D::Date64, oid::TIMESTAMPTZ) => {
            "it has no time zone, so sessions in other time zones would read another instant: add \
             a time zone, or make the column timestamp"
        }
        (D::Timestamp(_, Some(_)), oid::TIMESTAMP | oid::DATE) => {
            "its time zone would be lost: remove it in the code that produces the rows, or make \
             the column timestamptz"
        }
        (D::Time32(_) | D::Time64(_), oid::TIMETZ) => {
            "it has no time zone, so each session would apply its own: make the column time"
        }
        (_, oid::FLOAT4 | oid::FLOAT8) if source.is_decimal() => {
            "a decimal would be rounded: make the column numeric"
        }
        (_, oid::MONEY) => {
            "the text form of money depends on lc_monetary: make the column numeric, or provide \
             strings"
        }
        _ => "the type cannot store such values: cast them in the code that produces the rows",
    }
}
