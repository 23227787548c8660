//! The twin: `populate_record_field` and its callees in `src/backend/utils/adt/jsonfuncs.c`, line by line
//! over whole values. `None` is a refusal.

use pgsluice_core::types::{ColumnType, TypeStructure};

use crate::draw::Value;

/// Returns, for each column, its value, which may be NULL, or `None` if its key is missing.
pub(crate) fn row(
    types: &[ColumnType],
    members: &[(String, Value)],
) -> Option<Vec<Option<Option<String>>>> {
    let field = |(place, ty)| match member(members, &format!("c{place}")) {
        None => Some(None),
        Some(found) => value(ty, found).map(Some),
    };
    types.iter().enumerate().map(field).collect()
}

fn member<'m>(members: &'m [(String, Value)], key: &str) -> Option<&'m Value> {
    members.iter().find(|(name, _)| name == key).map(|(_, value)| value)
}

/// Returns the text of a value for the input function of the type; `Some(None)` is NULL.
pub(crate) fn value(ty: &ColumnType, value: &Value) -> Option<Option<String>> {
    let ty = ty.base();
    let is_json = matches!(ty.oid, 114 | 3802);
    Some(Some(match (value, &ty.structure) {
        (Value::Null, _) => return Some(None),
        (Value::Text(text, _), _) if is_json => json_string(text),
        (Value::Text(text, _), _) => text.clone(),
        (_, TypeStructure::Array { delimiter, element }) => {
            array(element, char::from(*delimiter), value)?
        }
        (Value::Object(members), TypeStructure::Composite(columns)) => {
            let mut fields = Vec::new();
            for column in columns {
                let field = member(members, &column.name);
                let field = field.map_or(Some(None), |field| self::value(&column.ty, field))?;
                fields.push(field.map_or(String::new(), |text| quoted(&text, ',')));
            }
            format!("({})", fields.join(","))
        }
        (_, TypeStructure::Composite(_)) => return None,
        _ => value.text(),
    }))
}

fn array(element: &ColumnType, delimiter: char, value: &Value) -> Option<String> {
    let mut dimensions = 0;
    let mut first = Some(value);
    while let Some(Value::Array(values)) = first {
        dimensions += 1;
        first = values.first();
    }
    let mut sizes = vec![None; dimensions];
    let literal = dimension(element, delimiter, value, &mut sizes, 0)?;
    let is_empty = sizes.contains(&Some(0));
    (1..=6).contains(&dimensions).then(|| if is_empty { "{}".into() } else { literal })
}

fn dimension(
    element: &ColumnType,
    delimiter: char,
    value: &Value,
    sizes: &mut [Option<usize>],
    at: usize,
) -> Option<String> {
    if at == sizes.len() {
        return Some(
            self::value(element, value)?.map_or("NULL".into(), |text| quoted(&text, delimiter)),
        );
    }
    let Value::Array(values) = value else { return None };
    let mut texts = Vec::new();
    for value in values {
        texts.push(dimension(element, delimiter, value, sizes, at + 1)?);
    }
    let size = *sizes[at].get_or_insert(values.len());
    let literal = format!("{{{}}}", texts.join(&delimiter.to_string()));
    (size == values.len()).then_some(literal)
}

fn quoted(text: &str, delimiter: char) -> String {
    let is_plain = |c: char| c != delimiter && (c.is_ascii_alphanumeric() || "+-.:_".contains(c));
    if !text.is_empty() && text.to_lowercase() != "null" && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Imitates `escape_json` in `src/backend/utils/adt/json.c`, whose output equals that of serde_json.
fn json_string(text: &str) -> String {
    serde_json::to_string(text).expect("a string")
}

pub(crate) fn scalar() -> ColumnType {
    ColumnType { oid: 25, modifier: -1, name: String::new(), structure: TypeStructure::Plain }
}

pub(crate) fn array_of(element: ColumnType) -> ColumnType {
    let structure = TypeStructure::Array { delimiter: b',', element: element.into() };
    ColumnType { oid: 8, modifier: -1, name: String::new(), structure }
}
