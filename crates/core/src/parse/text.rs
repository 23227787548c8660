//! Fields of COPY text, like `CopyReadAttributesText` in `src/backend/commands/copyfromparse.c` (PostgreSQL 18).

use memchr::memchr2;

use super::Field;

/// Returns the field that begins at `start`, and the start of the next one.
pub(super) fn field(
    row: &[u8],
    start: usize,
    delimiter: u8,
    null: &[u8],
) -> (Field, Option<usize>) {
    let mut coded = false;
    let mut at = start;
    let end = loop {
        match memchr2(delimiter, b'\\', &row[at..]) {
            None => break row.len(),
            Some(found) if row[at + found] == delimiter => break at + found,
            Some(found) => {
                coded = true;
                at = (at + found + 2).min(row.len());
            }
        }
    };
    let next = (end < row.len()).then_some(end + 1);
    // NULL is compared before escapes are decoded.
    let field = match &row[start..end] {
        raw if raw == null => Field::Null,
        _ if coded => Field::Coded(start, end),
        _ => Field::Plain(start, end),
    };
    (field, next)
}

/// Appends the value without escapes.
pub(super) fn decode(raw: &[u8], value: &mut Vec<u8>) {
    let mut rest = raw;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'\\' {
            value.push(byte);
            continue;
        }
        // A backslash at the very end of the row stands for nothing.
        let Some((&escaped, tail)) = rest.split_first() else { break };
        rest = tail;
        match escaped {
            b'0'..=b'7' => {
                let (number, used) = number(escaped - b'0', rest, 2, 8);
                value.push(number);
                rest = &rest[used..];
            }
            b'x' => match rest.first().and_then(|&digit| char::from(digit).to_digit(16)) {
                Some(digit) => {
                    let (number, used) = number(digit as u8, &rest[1..], 1, 16);
                    value.push(number);
                    rest = &rest[1 + used..];
                }
                None => value.push(b'x'),
            },
            b'b' => value.push(8),
            b'f' => value.push(12),
            b'n' => value.push(b'\n'),
            b'r' => value.push(b'\r'),
            b't' => value.push(b'\t'),
            b'v' => value.push(11),
            other => value.push(other),
        }
    }
}

/// Reads up to `max` further digits of a number that begins with `first`. Returns the number, cut to 8 bits,
/// and how many digits were read.
fn number(first: u8, rest: &[u8], max: usize, radix: u32) -> (u8, usize) {
    let digits = rest.iter().take(max).map_while(|&byte| char::from(byte).to_digit(radix));
    digits.fold((first, 0), |(value, used), digit| {
        (value.wrapping_mul(radix as u8).wrapping_add(digit as u8), used + 1)
    })
}

/// Appends a value with escapes, which [`decode`] reverses, like `CopyAttributeOutText` in
/// `src/backend/commands/copyto.c`.
pub(super) fn encode(value: &[u8], raw: &mut Vec<u8>) {
    for &byte in value {
        match byte {
            b'\\' | b'\t' => raw.extend([b'\\', byte]),
            b'\n' => raw.extend(b"\\n"),
            b'\r' => raw.extend(b"\\r"),
            _ => raw.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Format;
    use crate::parse::{Fields, Parser, Value};

    fn decoded(raw: &[u8]) -> Vec<u8> {
        let mut value = Vec::new();
        decode(raw, &mut value);
        value
    }

    #[test]
    fn decodes_every_escape() {
        assert_eq!(decoded(br"a\b\f\n\r\t\v\\\q"), b"a\x08\x0c\n\r\t\x0b\\q");
        assert_eq!(decoded(br"\101\60\1018\400"), b"A0A8\x00");
        assert_eq!(decoded(br"\x41\xag\x4142\xz"), b"A\x0agA42xz");
        assert_eq!(decoded(b"end\\"), b"end");
    }

    #[test]
    fn finds_fields_nulls_and_missing_ones() {
        let parser = Parser::new(&Format::text(), vec![0, 1, 3, 4]);
        let mut keys = Fields::default();
        let mut values = |row: &'static [u8]| {
            parser.parse(row, &mut keys);
            let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
            [0, 1, 2, 3].map(|slot| match keys.get(slot, row) {
                Value::Missing => "missing".to_owned(),
                Value::Null => "null".to_owned(),
                Value::Text(value) => format!("<{}>", text(value)),
                Value::Binary(_) => panic!("a row of text"),
            })
        };
        assert_eq!(values(b"a\t\\N\tskip\\\tped\t"), ["<a>", "null", "<>", "missing"]);
        assert_eq!(values(b"a\\tb"), ["<a\tb>", "missing", "missing", "missing"]);
    }
}
