//! Random JSON objects and column types. Each value keeps its own text.

use pgsluice_core::types::{Column, ColumnType, TypeStructure};
use proptest::prelude::*;

/// A JSON value.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Null,
    /// A number or a boolean, as spelled.
    Word(String),
    /// A string and its spelling.
    Text(String, String),
    Array(Vec<Value>),
    /// An object without duplicate keys.
    Object(Vec<(String, Value)>),
}

/// Columns, and an object for them.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    pub(crate) types: Vec<ColumnType>,
    pub(crate) members: Vec<(String, Value)>,
}

impl Value {
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Null => "null".into(),
            Self::Word(word) => word.clone(),
            Self::Text(_, spelled) => spelled.clone(),
            Self::Array(values) => {
                let values: Vec<String> = values.iter().map(Self::text).collect();
                format!("[{}]", values.join(" ,\t"))
            }
            Self::Object(members) => object_text(members),
        }
    }
}

pub(crate) fn object_text(members: &[(String, Value)]) -> String {
    let members: Vec<String> =
        members.iter().map(|(key, value)| format!("\"{key}\" :{}", value.text())).collect();
    format!("{{ {}}}", members.join(", "))
}

/// Returns types, up to arrays of composites of arrays; the columns of a composite are `c0`, `c1` and so on.
pub(crate) fn types() -> BoxedStrategy<ColumnType> {
    let ty = |oid, structure| ColumnType { oid, modifier: -1, name: String::new(), structure };
    let leaf = prop_oneof![
        3 => Just(ty(25, TypeStructure::Plain)),
        1 => Just(ty(114, TypeStructure::Plain)),
        1 => Just(ty(3802, TypeStructure::Plain)),
        1 => Just(ty(9, TypeStructure::Enum)),
    ];
    leaf.prop_recursive(3, 8, 3, move |inner| {
        let composite = prop::collection::vec(inner.clone(), 0..4).prop_map(move |types| {
            let columns = types.into_iter().enumerate();
            let columns = columns.map(|(place, ty)| Column { name: format!("c{place}"), ty });
            ty(7, TypeStructure::Composite(columns.collect()))
        });
        prop_oneof![
            (inner.clone(), prop::sample::select(&b",;:"[..])).prop_map(
                move |(element, delimiter)| {
                    ty(8, TypeStructure::Array { delimiter, element: element.into() })
                }
            ),
            inner.prop_map(move |base| ty(10, TypeStructure::Domain(base.into()))),
            composite,
        ]
    })
    .boxed()
}

/// Returns a character and its spelling.
fn characters() -> impl Strategy<Value = (char, String)> {
    let plain = |character: char| (character, character.to_string());
    prop_oneof![
        prop::sample::select(
            &['a', 'N', '1', ':', ' ', ',', '{', '}', '(', ')', '\'', 'é', '😀', ';'][..]
        )
        .prop_map(plain),
        prop::sample::select(
            &[
                ('"', "\\\""),
                ('\\', "\\\\"),
                ('/', "\\/"),
                ('\n', "\\n"),
                ('\t', "\\t"),
                ('\r', "\\r")
            ][..]
        )
        .prop_map(|(character, spelled)| (character, spelled.to_owned())),
        any::<char>().prop_filter_map("no text", |character| {
            let units: Vec<String> = character
                .encode_utf16(&mut [0; 2])
                .iter()
                .map(|unit| format!("\\u{unit:04X}"))
                .collect();
            (character != '\0').then(|| (character, units.concat()))
        }),
    ]
}

fn strings() -> impl Strategy<Value = Value> {
    prop::collection::vec(characters(), 0..5).prop_map(|characters| {
        let (text, spelled): (String, Vec<String>) = characters.into_iter().unzip();
        Value::Text(text, format!("\"{}\"", spelled.concat()))
    })
}

fn scalars() -> impl Strategy<Value = Value> {
    let words = ["true", "false", "0", "-0.50e+10", "98765432109876543210"];
    prop_oneof![
        Just(Value::Null),
        prop::sample::select(words.to_vec()).prop_map(|word| Value::Word(word.into())),
        strings(),
        strings(),
    ]
}

/// Returns any values, independent of a type.
fn values() -> impl Strategy<Value = Value> {
    scalars().prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            // Arrays that are likely to match a type.
            (inner.clone(), 1..3_usize).prop_map(|(value, size)| Value::Array(vec![value; size])),
            members(inner).prop_map(Value::Object),
        ]
    })
}

/// Returns some of the members `c0` to `c4` in any order.
fn members(values: impl Strategy<Value = Value>) -> impl Strategy<Value = Vec<(String, Value)>> {
    let keys = Just((0..5).map(|key| format!("c{key}")).collect::<Vec<_>>()).prop_shuffle();
    (keys, prop::collection::vec(values, 0..5))
        .prop_map(|(keys, values)| keys.into_iter().zip(values).collect())
}

/// Returns values that usually fit the type.
fn draw_type(ty: &ColumnType) -> BoxedStrategy<Value> {
    let fitting = match &ty.base().structure {
        TypeStructure::Array { element, .. } => {
            let elements = draw_type(element);
            let row = prop::collection::vec(elements.clone(), 0..3);
            let square = prop::collection::vec(elements, 4).prop_map(|values| {
                Value::Array(values.chunks(2).map(|row| Value::Array(row.to_vec())).collect())
            });
            prop_oneof![row.prop_map(Value::Array), square].boxed()
        }
        TypeStructure::Composite(columns) => {
            let columns: Vec<_> = columns
                .iter()
                .map(|column| (Just(column.name.clone()), draw_type(&column.ty)))
                .collect();
            columns.prop_shuffle().prop_map(Value::Object).boxed()
        }
        _ => return prop_oneof![3 => scalars(), 1 => values()].boxed(),
    };
    prop_oneof![8 => fitting, 1 => scalars(), 1 => values()].boxed()
}

pub(crate) fn objects() -> impl Strategy<Value = Drawn> {
    prop::collection::vec(types(), 1..4).prop_flat_map(|types| {
        let keyed = types.iter().enumerate();
        let members: Vec<_> =
            keyed.map(|(place, ty)| (Just(format!("c{place}")), draw_type(ty))).collect();
        let extra = (Just("unknown".to_owned()), values());
        (Just(types), members, prop::option::of(extra), any::<bool>(), any::<bool>()).prop_map(
            |(types, mut members, extra, is_turned, is_cut)| {
                members.extend(extra);
                if is_turned {
                    members.reverse();
                }
                if is_cut {
                    members.pop();
                }
                Drawn { types, members }
            },
        )
    })
}
