//! Fields of COPY text: `CopyAttributeOutText` in `src/backend/commands/copyto.c` (PostgreSQL 18).

use memchr::{memchr, memchr3};

/// The spelling of NULL.
pub(crate) const NULL: &[u8] = b"\\N";

/// The spelling of a missing key, for COPY's option DEFAULT of PostgreSQL 16.
///
/// No value has this spelling: `CopyReadAttributesText` compares it before it removes backslashes, and every
/// backslash of a value is doubled.
pub const DEFAULT: &[u8] = b"\\D";

/// Appends a value as a field.
pub(crate) fn put_field(value: &[u8], out: &mut Vec<u8>) {
    let mut rest = value;
    while let Some(end) = memchr(b'\n', rest) {
        put_line(&rest[..end], out);
        out.extend(b"\\n");
        rest = &rest[end + 1..];
    }
    put_line(rest, out);
}

/// Appends a value without line ends.
fn put_line(value: &[u8], out: &mut Vec<u8>) {
    let mut rest = value;
    while let Some(at) = memchr3(b'\\', b'\t', b'\r', rest) {
        out.extend_from_slice(&rest[..at]);
        put_char(char::from(rest[at]), out);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

/// Appends one character of a field.
pub(crate) fn put_char(character: char, out: &mut Vec<u8>) {
    match character {
        '\\' => out.extend(b"\\\\"),
        '\t' => out.extend(b"\\t"),
        '\n' => out.extend(b"\\n"),
        '\r' => out.extend(b"\\r"),
        _ => out.extend(character.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::put_field;

    #[test]
    fn characters_that_copy_would_misread_are_escaped() {
        for (value, field) in [
            ("", ""),
            ("plain \u{8}\u{b} é", "plain \u{8}\u{b} é"),
            ("a\tb\nc\rd\\e", "a\\tb\\nc\\rd\\\\e"),
            ("\n\n", "\\n\\n"),
            ("\\N", "\\\\N"),
            ("\\D", "\\\\D"),
            ("\\.", "\\\\."),
        ] {
            let mut out = Vec::new();
            put_field(value.as_bytes(), &mut out);
            assert_eq!(String::from_utf8_lossy(&out), field);
        }
    }
}
