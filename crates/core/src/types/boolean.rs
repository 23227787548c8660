//! boolean: the unique prefixes of true, false, yes, no, on and off, and 1 and 0.

use super::wire;

/// Parses like `boolin` and `parse_bool_with_len` (`src/backend/utils/adt/bool.c`, PostgreSQL 13 to 18).
///
/// `trim_ascii` strips the characters of C's `isspace` except the vertical tab.
pub(super) fn parse(text: &[u8]) -> Option<bool> {
    match text {
        b"t" | b"1" => Some(true),
        b"f" | b"0" => Some(false),
        _ => parse_word(text.trim_ascii()),
    }
}

/// Encodes the value that [`parse`] returns as `boolrecv` (same file) expects it.
pub(super) fn encode(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    wire::put1(parse(text)?.into(), field);
    Some(())
}

fn parse_word(text: &[u8]) -> Option<bool> {
    let begins = |word: &[u8]| {
        word.get(..text.len()).is_some_and(|prefix| prefix.eq_ignore_ascii_case(text))
    };
    match text {
        [] | [b'o' | b'O'] => None, // "o" may be on or off
        b"1" => Some(true),
        b"0" => Some(false),
        _ if begins(b"true") || begins(b"yes") || begins(b"on") => Some(true),
        _ if begins(b"false") || begins(b"no") || begins(b"off") => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn prefixes_in_any_case() {
        for text in ["1", "t", "T", "tRu", "TRUE", "y", "Ye", "yes", "on", "ON", " true\t"] {
            assert_eq!(parse(text.as_bytes()), Some(true), "{text}");
        }
        for text in ["0", "f", "FAL", "false", "n", "NO", "of", "Off", "\nf "] {
            assert_eq!(parse(text.as_bytes()), Some(false), "{text}");
        }
        for text in ["", " ", "o", "O", "truee", "t rue", "10", "01", "-1", "ja", "nope", "on\0"] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}
