//! Tests of where rows end in each format, and of the errors.

use super::*;

fn split(format: &Format, bytes: &[u8]) -> Result<Vec<(String, u32)>, Malformed> {
    let mut rows = Vec::new();
    Splitter::new(format).scan(bytes, true, &mut rows)?;
    let text = |row: &Row| String::from_utf8_lossy(row.slice(bytes)).into_owned();
    Ok(rows.iter().map(|row| (text(row), row.line)).collect())
}

fn rows(format: &Format, bytes: &[u8]) -> Vec<String> {
    split(format, bytes).expect("well formed").into_iter().map(|(text, _)| text).collect()
}

#[test]
fn text_ends_lines_by_any_one_convention() {
    for input in [&b"a\nb\n"[..], b"a\r\nb\r\n", b"a\rb\r", b"a\nb", b"a\r\nb"] {
        assert_eq!(rows(&Format::text(), input), ["a", "b"]);
    }
}

#[test]
fn mixed_line_ends_are_refused_as_postgresql_words_it() {
    let refuse = |format: Format, bytes: &[u8]| split(&format, bytes).expect_err("mixed");
    let malformed = refuse(Format::text(), b"a\nb\rc\n");
    assert_eq!(malformed.message, "literal carriage return found in data");
    assert_eq!((malformed.start, malformed.line), (2, 1));
    assert_eq!(refuse(Format::csv(), b"a\r\nb\n").message, "unquoted newline found in data");
    assert!(refuse(Format::csv(), b"a\r\nb\rc").message.starts_with("unquoted carriage"));
}

#[test]
fn text_backslash_hides_a_line_end() {
    let lines = split(&Format::text(), b"a\\\nb\nc\\\\\nd").expect("rows");
    let expected = [("a\\\nb", 0), ("c\\\\", 2), ("d", 3)];
    assert_eq!(lines, expected.map(|(text, line)| (text.to_owned(), line)));
}

#[test]
fn text_backslash_at_the_very_end_is_no_part_of_the_row() {
    assert_eq!(rows(&Format::text(), b"a\nb\\"), ["a", "b"]);
    assert_eq!(rows(&Format::text(), b"a\n\\"), ["a", ""]);
    assert_eq!(rows(&Format::text(), b"a\\\\"), ["a\\\\"]);
}

#[test]
fn text_marker_ends_the_data() {
    for input in [&b"a\n\\.\njunk\n"[..], b"a\r\n\\.\r\n", b"a\r\\.\rb\n"] {
        assert_eq!(rows(&Format::text(), input), ["a"]);
    }
    for input in [&b"\\.\r"[..], b"\\.\r\nb", b"\\.\n"] {
        assert!(rows(&Format::text(), input).is_empty());
    }
    let message = |input| split(&Format::text(), input).expect_err("a bad marker").message;
    for input in [&b"a\\.\n"[..], b"a\n\\.", b"\\.", b"a\r\n\\.\r", b"a\n\\.b\n"] {
        assert_eq!(message(input), "end-of-copy marker is not alone on its line");
    }
    for input in [&b"a\n\\.\r\n"[..], b"a\r\n\\.\n", b"a\r\\.\n"] {
        assert_eq!(message(input), "end-of-copy marker does not match previous newline style");
    }
}

#[test]
fn csv_marker_ends_the_data_before_18_only() {
    let mut format = Format::csv();
    assert_eq!(rows(&format, b"a\n\\.\nb\n"), ["a", "\\.", "b"]);
    format.syntax = Syntax::Csv { quote: b'"', escape: b'"', end_marker: true };
    assert_eq!(rows(&format, b"a\n\\.\nb\n"), ["a"]);
    assert_eq!(rows(&format, b"\\.x\n\"\n\\.\n\"\nb"), ["\\.x", "\"\n\\.\n\"", "b"]);
    let malformed = split(&format, b"a\n\\.").expect_err("data, but not to be sent as it is");
    assert_eq!((malformed.start, malformed.line), (2, 1));
}

#[test]
fn csv_quotes_hide_line_ends() {
    let lines = split(&Format::csv(), b"\"a\n\"\"\r\n\",1\nb\"\n\"c\n").expect("rows");
    let expected = [("\"a\n\"\"\r\n\",1", 0), ("b\"\n\"c", 3)];
    assert_eq!(lines, expected.map(|(text, line)| (text.to_owned(), line)));
}

#[test]
fn csv_escape_other_than_quote() {
    let mut format = Format::csv();
    format.syntax = Syntax::Csv { quote: b'"', escape: b'\\', end_marker: false };
    assert_eq!(rows(&format, b"\"a\\\"\n\"\n\\\"b\n\"\n"), ["\"a\\\"\n\"", "\\\"b\n\""]);
}

#[test]
fn unterminated_quote_is_an_error_only_at_the_end() {
    let mut splitter = Splitter::new(&Format::csv());
    let mut rows = Vec::new();
    let scan = splitter.scan(b"a\n\"b\n", false, &mut rows).expect("wants more");
    assert_eq!((scan.consumed, rows.len()), (2, 1));
    let malformed = splitter.scan(b"\"b\n", true, &mut rows).expect_err("unterminated");
    assert_eq!(malformed.message, "unterminated CSV quoted field");
    assert_eq!(malformed.quote, Some(OpenQuote { offset: 0, lines: 0 }));
}

#[test]
fn an_open_quote_is_found_where_it_begins() {
    let open = |escape, row: &[u8]| {
        let mut format = Format::csv();
        format.syntax = Syntax::Csv { quote: b'"', escape, end_marker: false };
        let quote = Splitter::new(&format).open_quote(row);
        quote.map(|OpenQuote { offset, lines }| (offset, lines))
    };
    for (row, expected) in [
        (&b"a,\"b\"\"\nc"[..], Some((2, 0))),
        (b"\"a\n\",\"b\"\"\"\n,x\"", Some((13, 2))),
        (b"\"a\n\n\",b\"c", Some((7, 2))),
        (b"\"a\",\"\"", None),
        (b"", None),
    ] {
        assert_eq!(open(b'"', row), expected, "{}", String::from_utf8_lossy(row));
    }
    assert_eq!(open(b'\\', b"\"a\\\"\n\",\"b\\\""), Some((7, 1)));
    assert_eq!(Splitter::new(&Format::text()).open_quote(b"a\"b"), None);
}
