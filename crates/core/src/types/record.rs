//! Composite types: the values of the columns in parentheses.

use super::unquoted::{split_quoted, with_unquoted};
use super::{Codec, wire};

/// Encodes a text that `record_in` accepts as `record_recv` expects it (`src/backend/utils/adt/rowtypes.c`,
/// PostgreSQL 13 to 18): the number of columns, then the type and the value of each.
///
/// `trim_ascii` strips the characters of C's `isspace` except the vertical tab.
pub(super) fn encode(columns: &[(u32, Codec)], text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    let mut rest = text.trim_ascii().strip_prefix(b"(")?;
    wire::put_with(field, |field| {
        field.extend(i32::try_from(columns.len()).ok()?.to_be_bytes());
        for (place, (oid, codec)) in columns.iter().enumerate() {
            if place > 0 {
                rest = rest.strip_prefix(b",")?;
            }
            let (value, after) = split_quoted(rest, b",)")?;
            field.extend(oid.to_be_bytes());
            if value.is_empty() {
                wire::put_null(field);
            } else {
                with_unquoted(value, |plain| codec.encode(plain, field))?;
            }
            rest = after;
        }
        (rest == b")").then_some(())
    })
}

#[cfg(test)]
mod tests {
    use super::encode;
    use crate::types::Codec;

    fn read(text: &str) -> Option<Vec<u8>> {
        let mut field = Vec::new();
        encode(&[(23, Codec::Int4), (25, Codec::Text)], text.as_bytes(), &mut field)?;
        Some(field)
    }

    #[test]
    fn columns_are_null_only_without_quotes() {
        let head = [0, 0, 0, 2, 0, 0, 0, 23];
        let row = |length, values: &[&[u8]]| {
            Some([&[0, 0, 0, length][..], &head, &values.concat()].concat())
        };
        let one: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 25];
        assert_eq!(read("(1,)"), row(24, &[one, &[0xFF; 4]]));
        assert_eq!(read(" (1,\"\")\n"), row(24, &[one, &[0; 4]]));
        assert_eq!(read("(\"1\",\" \\),\"\"\")"), row(28, &[one, &[0, 0, 0, 4], b" ),\""]));
    }

    #[test]
    fn anything_else_is_left_to_the_server() {
        for text in ["", "()", "(1)", "(1,a", "(1,a,b)", "(1,a)x", "(1,\"a)", "(x,a)", "1,a)"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
