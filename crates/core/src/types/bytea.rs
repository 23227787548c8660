//! bytea: hexadecimal and escaped spellings.

use super::wire;

/// Parses like `byteain` (`src/backend/utils/adt/varlena.c`, PostgreSQL 13 to 18) and appends the bytes.
///
/// Leaves two kinds of text to the server: hexadecimal digits with spaces among them, and escaped spellings that
/// are not ASCII, because the server's encoding determines their bytes.
pub(super) fn parse(text: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    match text {
        [b'\\', b'x', digits @ ..] => decode_hex(digits, bytes),
        _ if text.is_ascii() => decode_escapes(text, bytes),
        _ => None,
    }
}

/// Encodes the bytes that [`parse`] reads as `bytearecv` (same file) expects them.
pub(super) fn encode(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    if text.contains(&0) {
        return None;
    }
    wire::put_with(field, |field| parse(text, field))
}

/// Appends the bytes that pairs of hexadecimal digits spell.
pub(super) fn decode_hex(digits: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    let (pairs, []) = digits.as_chunks::<2>() else { return None };
    for &[high, low] in pairs {
        bytes.push(hex(high)? << 4 | hex(low)?);
    }
    Some(())
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

fn decode_escapes(mut text: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    loop {
        let (byte, rest) = match *text {
            [] => return Some(()),
            [b'\\', b'\\', ref rest @ ..] => (b'\\', rest),
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ref rest @ ..] => {
                ((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'), rest)
            }
            [b'\\', ..] => return None,
            [byte, ref rest @ ..] => (byte, rest),
        };
        bytes.push(byte);
        text = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn digits_and_escapes() {
        for (text, bytes) in [
            ("", &b""[..]),
            ("\\x", b""),
            ("\\x00fFA0", b"\x00\xFF\xA0"),
            ("abc", b"abc"),
            ("a\\\\b\\000\\377", b"a\\b\x00\xFF"),
            ("x41", b"x41"),
        ] {
            let mut read = Vec::new();
            assert_eq!(parse(text.as_bytes(), &mut read), Some(()), "{text}");
            assert_eq!(read, bytes, "{text}");
        }
    }

    #[test]
    fn anything_else_is_left_to_the_server() {
        for text in ["\\x0", "\\xg0", "\\x 00", "\\X00", "\\", "\\00", "\\400", "\\08", "\\n", "é"]
        {
            assert_eq!(parse(text.as_bytes(), &mut Vec::new()), None, "{text}");
        }
    }
}
