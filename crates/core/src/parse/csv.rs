//! Fields of CSV, like `CopyReadAttributesCSV` in `src/backend/commands/copyfromparse.c` (PostgreSQL 18).

use memchr::{memchr, memchr2};

use super::Field;
use crate::split::quoted_end;

/// Returns the field that begins at `start`, and the start of the next one.
pub(super) fn field(
    row: &[u8],
    start: usize,
    delimiter: u8,
    null: &[u8],
    quote: u8,
    escape: u8,
) -> (Field, Option<usize>) {
    if let [first, rest @ ..] = &row[start..]
        && (*first, escape) == (quote, quote)
        && let Some(length) = memchr(quote, rest)
    {
        // Fast path for the most frequent case: quotes around the whole field, and none within it.
        let end = start + 1 + length;
        match row.get(end + 1) {
            None => return (Field::Plain(start + 1, end), None),
            Some(after) if *after == delimiter => {
                return (Field::Plain(start + 1, end), Some(end + 2));
            }
            Some(_) => {}
        }
    }
    let mut quotes = 0;
    let mut at = start;
    let end = loop {
        match memchr2(delimiter, quote, &row[at..]) {
            None => break row.len(),
            Some(found) if row[at + found] == delimiter => break at + found,
            Some(found) => {
                quotes += 1;
                at = quoted_end(row, at + found + 1, quote, escape).unwrap_or(row.len());
            }
        }
    };
    let next = (end < row.len()).then_some(end + 1);
    let raw = &row[start..end];
    let field = match quotes {
        0 if raw == null => Field::Null,
        0 => Field::Plain(start, end),
        _ => Field::Coded(start, end),
    };
    (field, next)
}

/// Appends the value without quotes and escapes.
pub(super) fn decode(raw: &[u8], quote: u8, escape: u8, value: &mut Vec<u8>) {
    let mut quoted = false;
    let mut bytes = raw.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        let escaped = (quoted && byte == escape)
            .then(|| bytes.next_if(|&next| next == escape || next == quote))
            .flatten();
        if let Some(next) = escaped {
            value.push(next);
        } else if byte == quote {
            quoted = !quoted;
        } else {
            value.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::format::{Format, Syntax};
    use crate::parse::{Field, Parser};

    fn all(format: &Format, row: &str) -> Vec<Option<String>> {
        let parser = Parser::new(format, Vec::new());
        let text = |value: Vec<u8>| String::from_utf8(value).expect("UTF-8");
        parser.all(row.as_bytes()).into_iter().map(|value| value.map(text)).collect()
    }

    fn some<const N: usize>(values: [&str; N]) -> Vec<Option<String>> {
        values.iter().map(|value| Some((*value).to_owned())).collect()
    }

    #[test]
    fn an_empty_field_is_null_and_a_quoted_one_is_not() {
        assert_eq!(all(&Format::csv(), ",\"\""), [None, Some(String::new())]);
    }

    #[test]
    fn quotes_may_stand_anywhere() {
        let csv = Format::csv();
        assert_eq!(all(&csv, "\"a,\"\"b\",c\"d,e\"f"), some(["a,\"b", "cd,ef"]));
        assert_eq!(all(&csv, "\"\"\"\",\"a\"\"\""), some(["\"", "a\""]));
    }

    #[test]
    fn escape_other_than_quote() {
        let syntax = Syntax::Csv { quote: b'\'', escape: b'\\', end_marker: false };
        let format = Format { syntax, ..Format::csv() };
        assert_eq!(all(&format, r"'a\'\\b\c',\d"), some([r"a'\b\c", r"\d"]));
        assert_eq!(all(&format, r"'a'"), some(["a"]));
    }

    #[test]
    fn a_plain_quoted_field_needs_no_decoding() {
        let field = |row: &[u8]| super::field(row, 2, b',', b"", b'"', b'"');
        assert_eq!(field(b"x,\"abc\",y"), (Field::Plain(3, 6), Some(8)));
        assert_eq!(field(b"x,\"\""), (Field::Plain(3, 3), None));
        assert_eq!(field(b"x,\"a\"\"\",y"), (Field::Coded(2, 7), Some(8)));
        assert_eq!(field(b"x,a\"b\""), (Field::Coded(2, 6), None));
    }
}
