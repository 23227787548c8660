//! Random objects for random columns: the rows equal those of a naive twin, and are unchanged after a
//! conversion to objects and back. Other objects are refused, and nothing panics.

mod draw;
mod naive;

use draw::{Drawn, Value};
use pgsluice_core::format::Format;
use pgsluice_core::parse::Parser;
use pgsluice_core::types::{Column, ColumnType};
use pgsluice_json::{KeyTarget, Keys, MissingKey, Objects, UnknownKeys};
use proptest::prelude::*;

/// Returns columns `c0`, `c1` and so on, every second one with a default.
fn objects(types: &[ColumnType]) -> Objects {
    let targets = types.iter().enumerate().map(|(place, ty)| KeyTarget {
        key: format!("c{place}"),
        column: Column { name: format!("column {place}"), ty: ty.clone() },
        missing: if place % 2 == 0 { MissingKey::Null } else { MissingKey::Default },
    });
    Objects::new(targets.collect(), UnknownKeys::Ignore)
}

/// Returns the raw fields of a row, and their values.
fn fields(row: &[u8]) -> Vec<(&[u8], Option<String>)> {
    let values = Parser::new(&Format::text(), Vec::new()).all(row).into_iter();
    let values = values.map(|value| value.map(|text| String::from_utf8(text).expect("UTF-8")));
    // Tabs in values are always escaped as a letter.
    row.split(|byte| *byte == b'\t').zip(values).collect()
}

/// Returns a row, or `None` if the line is refused and the output was left unchanged.
fn row(objects: &mut Objects, line: &[u8]) -> Option<Vec<u8>> {
    let mut out = b"before".to_vec();
    let done = objects.put_row(line, &mut out);
    let row = out.strip_prefix(b"before").expect("what was there");
    match done {
        Ok(_) => Some(row.to_vec()),
        Err(refused) => {
            assert!(refused.at <= line.len() && !refused.message.is_empty(), "{refused:?}");
            assert!(row.is_empty());
            None
        }
    }
}

fn check_round_trip(types: &[ColumnType], line: &[u8]) -> Result<(), TestCaseError> {
    let mut objects = objects(types);
    let Some(written) = row(&mut objects, line) else { return Ok(()) };
    prop_assert_eq!(fields(&written).len(), types.len());
    let mut object = Vec::new();
    objects.put_object(&written, &mut object);
    prop_assert!(!object.contains(&b'\n'));
    if line.contains(&b'\n') {
        return Ok(());
    }
    prop_assert_eq!(row(&mut objects, &object), Some(written));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn rows_hold_what_the_twin_says(Drawn { types, members } in draw::objects()) {
        let line = draw::object_text(&members);
        let mut objects = objects(&types);
        let expected: Option<Vec<Option<Option<String>>>> = naive::row(&types, &members);
        // Twice, because the second time the order of the keys is expected.
        for _ in 0..2 {
            let written = row(&mut objects, line.as_bytes());
            let Some(expected) = &expected else {
                prop_assert_eq!(written, None, "{}", line);
                continue;
            };
            let Some(written) = written else { return Err(TestCaseError::fail(line)) };
            let found = fields(&written);
            prop_assert_eq!(found.len(), types.len().max(1));
            for ((raw, value), expected) in found.iter().zip(expected) {
                match expected {
                    None => prop_assert!([&b"\\N"[..], b"\\D"].contains(raw)),
                    Some(expected) => prop_assert_eq!(value, expected, "{}", line),
                }
            }
        }
        check_round_trip(&types, line.as_bytes())?;
    }

    #[test]
    fn keys_are_those_of_the_object(Drawn { members, .. } in draw::objects()) {
        let mut keys = Keys::default();
        prop_assert_eq!(keys.add(draw::object_text(&members).as_bytes()), Ok(()));
        let names: Vec<&str> = members.iter().map(|(key, _)| key.as_str()).collect();
        prop_assert_eq!(keys.names(), names);
    }

    #[test]
    fn a_changed_line_is_a_whole_row_or_none(
        Drawn { types, members } in draw::objects(),
        at in any::<prop::sample::Index>(),
        removed in 0..4_usize,
        put in prop_oneof![
            prop::collection::vec(prop::sample::select(&b"{}[]\",:\\u0d8en.-\t\n "[..]), 0..4),
            prop::collection::vec(any::<u8>(), 0..4),
        ],
    ) {
        let mut line = draw::object_text(&members).into_bytes();
        let from = at.index(line.len());
        let to = (from + removed).min(line.len());
        line.splice(from..to, put);
        check_round_trip(&types, &line)?;
        let _ = Keys::default().add(&line);
    }

    #[test]
    fn any_bytes_are_a_whole_row_or_none(
        types in prop::collection::vec(draw::types(), 1..4),
        line in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        check_round_trip(&types, &line)?;
        check_round_trip(&types, &[b"{\"c0\":", &line[..], b"}"].concat())?;
    }
}

#[test]
fn the_twin_is_right_about_some() {
    let text = |value: &str| Value::Text(value.into(), format!("\"{value}\""));
    let ints = naive::array_of(naive::scalar());
    let value = Value::Array(vec![text("a b"), Value::Null, Value::Word("1".into())]);
    assert_eq!(naive::value(&ints, &value), Some(Some("{\"a b\",NULL,1}".to_owned())));
    assert_eq!(naive::value(&ints, &Value::Word("1".into())), None);
}
