//! Any bytes as a line of NDJSON: the result is a row with a field for each column, which is unchanged by a
//! conversion to an object and back, or a refusal that leaves the output unchanged.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pgsluice_core::format::Format;
use pgsluice_core::parse::{Fields, Parser};
use pgsluice_core::types::{Column, ColumnType, TypeStructure};
use pgsluice_json::{KeyTarget, Keys, MissingKey, Objects, UnknownKeys};

fuzz_target!(|line: &[u8]| {
    let _ = Keys::default().add(line);
    for unknown in [UnknownKeys::Refuse, UnknownKeys::Ignore] {
        let mut objects = objects(unknown);
        if let Some(row) = row(&mut objects, line) {
            let mut object = Vec::new();
            objects.put_object(&row, &mut object);
            assert!(!object.contains(&b'\n'));
            // A text with line ends is not a line, and loses those within JSON.
            if !line.contains(&b'\n') {
                assert_eq!(self::row(&mut objects, &object), Some(row));
            }
        }
    }
});

fn row(objects: &mut Objects, line: &[u8]) -> Option<Vec<u8>> {
    let mut out = b"before".to_vec();
    let done = objects.put_row(line, &mut out);
    let row = out.strip_prefix(b"before").expect("what was there");
    if let Err(refused) = done {
        assert!(row.is_empty() && refused.at <= line.len());
        return None;
    }
    assert!(!row.contains(&b'\n') && !row.contains(&b'\r') && str::from_utf8(row).is_ok());
    let mut fields = Fields::default();
    Parser::new(&Format::text(), (0..COLUMNS).collect()).parse(row, &mut fields);
    assert!(fields.is_exact());
    Some(row.to_vec())
}

/// The number of columns of [`objects`].
const COLUMNS: usize = 6;

/// Returns a column of each shape, with short keys.
fn objects(unknown: UnknownKeys) -> Objects {
    let ty = |oid, structure| ColumnType { oid, modifier: -1, name: String::new(), structure };
    let text = || ty(25, TypeStructure::Plain);
    let json = || ty(114, TypeStructure::Plain);
    let array = |element: ColumnType| {
        ty(1, TypeStructure::Array { delimiter: b',', element: element.into() })
    };
    let pair = [("x", array(text())), ("y", json())];
    let pair = pair.map(|(name, ty)| Column { name: name.into(), ty });
    let composite = || ty(2, TypeStructure::Composite(pair.to_vec()));
    let types = [
        ("a", text()),
        ("b", ty(3, TypeStructure::Domain(json().into()))),
        ("c", array(text())),
        ("d", composite()),
        ("e", array(composite())),
        ("f", array(json())),
    ];
    assert_eq!(types.len(), COLUMNS);
    let targets = types.map(|(key, ty)| KeyTarget {
        key: key.into(),
        column: Column { name: key.into(), ty },
        missing: if key < "c" { MissingKey::Default } else { MissingKey::Null },
    });
    Objects::new(targets.into(), unknown)
}
