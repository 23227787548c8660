//! A row allocates no memory once the buffers are warm, if its keys have no escapes.

use pgsluice_core::types::{Column, ColumnType, TypeStructure};
use pgsluice_json::{KeyTarget, MissingKey, Objects, UnknownKeys};

#[test]
fn no_row_allocates() {
    let ty = |oid, structure| ColumnType { oid, modifier: -1, name: String::new(), structure };
    let int = || ty(23, TypeStructure::Plain);
    let ints = ty(1007, TypeStructure::Array { delimiter: b',', element: int().into() });
    let field = Column { name: "x".into(), ty: ints.clone() };
    let pair = ty(7, TypeStructure::Composite(vec![field]));
    let columns = [("a", int()), ("b", ints), ("c", pair), ("j", ty(114, TypeStructure::Plain))];
    let targets = columns.map(|(key, ty)| KeyTarget {
        key: key.into(),
        column: Column { name: key.into(), ty },
        missing: MissingKey::Null,
    });
    let mut objects = Objects::new(targets.into(), UnknownKeys::Ignore);
    let lines: [&[u8]; 3] = [
        br#"{"a":"a\n\u00e9","j":"x","more":1}"#,
        br#"{"more":1,"j":12,"a":null}"#,
        br#"{"c":"(1)","b":"{1}","a":true,"j":false}"#,
    ];
    // Nested values: the library records their depth in a separate buffer.
    let nested: &[u8] = br#"{"c":{"x":[1,2]},"b":[[1],[2]],"j":{"k":"v"}}"#;
    let mut out = Vec::new();
    let mut load = |lines: &[&[u8]], times| {
        for line in lines.iter().cycle().take(times) {
            out.clear();
            assert_eq!(objects.put_row(line, &mut out).map(|_| ()), Ok(()));
        }
    };
    load(&lines, 30);
    assert_eq!(allocation_counter::measure(|| load(&lines, 3000)).count_total, 0);
    load(&[nested], 10);
    let counted = allocation_counter::measure(|| load(&[nested], 1000)).count_total;
    assert!(counted <= 8 * 1000, "{counted}");
}
