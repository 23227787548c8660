//! Tests of the reading of inputs.

use pgsluice_core::format::Format;

use super::*;
use crate::source::Header;

fn read(content: &str, header: Header) -> Result<Vec<(u64, u64, String)>> {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("rows.csv");
    std::fs::write(&path, content).expect("a file");
    let inputs = Inputs::resolve([path.display().to_string()])?;
    let names = vec!["a".to_owned(), "b".to_owned()];
    let shape = Shape::new(Format::csv(), header, names);
    let mut reader = Reader::new(inputs, &shape);
    let mut rows = Vec::new();
    while let Some(split) = reader.next(None)? {
        rows.extend(split.rows.iter().enumerate().map(|(index, row)| {
            let text = String::from_utf8_lossy(split.text(index)).into_owned();
            let offset = split.start.at + u64::from(row.start);
            (offset, split.line + u64::from(row.line), text)
        }));
    }
    Ok(rows)
}

#[test]
fn rows_know_their_place() {
    let rows = read("a,b\n\"1\n\",2\n3,4", Header::Match).expect("rows");
    assert_eq!(rows, [(4, 2, "\"1\n\",2".to_owned()), (11, 4, "3,4".to_owned())]);
}

#[test]
fn rows_longer_than_a_split_are_whole() {
    let long = "x".repeat(3 * SPLIT_BYTES);
    let rows = read(&format!("{long},1\nb,2\n"), Header::Absent).expect("rows");
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0].2.len(), long.len() + 2);
    assert_eq!(rows[1], (long.len() as u64 + 3, 2, "b,2".to_owned()));
}

#[test]
fn header_must_match() {
    let message = read("a,c\n1,2\n", Header::Match).expect_err("mismatch").to_string();
    assert!(message.contains("field 2: got \"c\", expected \"b\" (SQLSTATE 22P04)"));
    assert!(read("a\n", Header::Match).expect_err("one field").to_string().contains("got 1"));
    assert_eq!(read("x,y\n1,2\n", Header::Skip(1)).expect("skipped").len(), 1);
}

#[test]
fn several_lines_may_be_no_data() {
    let rows = |lines| read("# by\n\"a\nb\",c\n1,2\n", Header::Skip(lines)).expect("rows").len();
    assert_eq!([1, 2, 3, 4].map(rows), [2, 1, 0, 0]);
    let long = format!("{}\n{}\n1,2\n", "x".repeat(SPLIT_BYTES), "y".repeat(SPLIT_BYTES));
    assert_eq!(read(&long, Header::Skip(2)).expect("rows").len(), 1);
}

#[test]
fn a_byte_order_mark_is_no_data() {
    let rows = read("\u{feff}a,b\n1,2\n", Header::Match).expect("rows");
    assert_eq!(rows, [(7, 2, "1,2".to_owned())]);
    let rows = read("\u{feff}\u{feff}1,2", Header::Absent).expect("rows");
    assert_eq!(rows, [(3, 1, "\u{feff}1,2".to_owned())]);
}

#[test]
fn a_header_that_is_not_there_does_not_match() {
    for content in ["", "\u{feff}"] {
        let error = read(content, Header::Match).expect_err("no header").to_string();
        assert!(error.contains("wrong number of fields in header line: got 1, expected 2"));
        assert_eq!(read(content, Header::Skip(1)).expect("no rows"), []);
    }
}

#[test]
fn malformed_rows_have_a_place() {
    let error = read("1,2\n3,\"4\n", Header::Absent).expect_err("unterminated");
    assert_eq!(error.place().map(|place| (place.line, place.offset)), Some((2, 4)));
}
