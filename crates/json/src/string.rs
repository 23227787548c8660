//! JSON strings: their escapes, as `json_lex_string` in `src/common/jsonapi.c` reads them and `escape_json` in
//! `src/backend/utils/adt/json.c` writes them (PostgreSQL 13 to 18).
//!
//! The server unescapes every string of a line that becomes a record, even within values of the type json. So a
//! line with an escape that stands for no text is rejected, wherever the escape is.

use memchr::memchr;

use crate::copy;
use crate::refused::RefusedLine;

/// The reader of the output.
pub(crate) trait Dialect {
    /// Appends a character that was escaped.
    fn put(character: char, out: &mut Vec<u8>);
}

/// COPY, which removes backslashes.
pub(crate) struct CopyText;

/// pgsluice itself, which reads the text unchanged.
pub(crate) struct Plain;

impl Dialect for CopyText {
    fn put(character: char, out: &mut Vec<u8>) {
        copy::put_char(character, out);
    }
}

impl Dialect for Plain {
    fn put(character: char, out: &mut Vec<u8>) {
        out.extend(character.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

/// Returns the text between the quotes of a string.
pub(crate) fn inner(raw: &str) -> &str {
    raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default()
}

/// Appends the text that `escaped`, a valid part of `line`, stands for.
#[inline]
pub(crate) fn unescape<R: Dialect>(
    line: &str,
    escaped: &str,
    out: &mut Vec<u8>,
) -> Result<(), RefusedLine> {
    let bytes = escaped.as_bytes();
    let mut from = 0;
    // JSON escapes control characters, so the text between the escapes needs none in COPY.
    while let Some(found) = memchr(b'\\', &bytes[from..]) {
        let at = from + found;
        out.extend_from_slice(&bytes[from..at]);
        let (character, end) = escape(line, escaped, at)?;
        R::put(character, out);
        from = end;
    }
    out.extend_from_slice(&bytes[from..]);
    Ok(())
}

/// Rejects a value, a valid part of `line`, with an escape that stands for no text.
pub(crate) fn check(line: &str, value: &str) -> Result<(), RefusedLine> {
    let mut from = 0;
    while let Some(found) = memchr(b'\\', &value.as_bytes()[from..]) {
        (_, from) = escape(line, value, from + found)?;
    }
    Ok(())
}

/// Rejects a key that contains NUL.
pub(crate) fn check_key(line: &str, key: &str, value: &str) -> Result<(), RefusedLine> {
    if memchr(0, key.as_bytes()).is_some() { Err(nul(line, value)) } else { Ok(()) }
}

/// Appends `text` as a string with its quotes.
pub(crate) fn put_json(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for &byte in text {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', byte]),
            0x08 => out.extend(b"\\b"),
            0x0C => out.extend(b"\\f"),
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'\t' => out.extend(b"\\t"),
            0..b' ' => out.extend(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

/// Whether a string has no escapes.
pub(crate) fn is_plain(raw: &str) -> bool {
    memchr(b'\\', raw.as_bytes()).is_none()
}

/// Returns the character of the escape at `at` in `text`, and the end of the escape.
fn escape(line: &str, text: &str, at: usize) -> Result<(char, usize), RefusedLine> {
    let character = match text.as_bytes().get(at + 1) {
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unicode(text, at).map_err(|flaw| flaw.refused(line, &text[at..])),
        Some(&sign) => char::from(sign),
        None => return Ok(('\\', text.len())),
    };
    Ok((character, at + 2))
}

/// An error in a Unicode escape.
enum Flaw {
    Nul,
    HighFollowsHigh,
    LowFollowsNoHigh,
}

impl Flaw {
    fn refused(&self, line: &str, part: &str) -> RefusedLine {
        let surrogates = |detail: &str| {
            RefusedLine::new(line, part, format!("invalid input syntax for type json: {detail}"))
        };
        match self {
            Self::Nul => nul(line, part),
            Self::HighFollowsHigh => {
                surrogates("Unicode high surrogate must not follow a high surrogate.")
            }
            Self::LowFollowsNoHigh => {
                surrogates("Unicode low surrogate must follow a high surrogate.")
            }
        }
    }
}

fn nul(line: &str, part: &str) -> RefusedLine {
    let message = "unsupported Unicode escape sequence: \\u0000 cannot be converted to text.";
    RefusedLine::new(line, part, message)
}

fn unicode(text: &str, at: usize) -> Result<(char, usize), Flaw> {
    let high = code_unit(text, at).unwrap_or_default();
    let (code, end) = match high {
        0xD800..0xDC00 => match code_unit(text, at + 6) {
            Some(low @ 0xDC00..0xE000) => {
                (0x1_0000 + ((high - 0xD800) << 10 | (low - 0xDC00)), at + 12)
            }
            Some(0xD800..0xDC00) => return Err(Flaw::HighFollowsHigh),
            _ => return Err(Flaw::LowFollowsNoHigh),
        },
        _ => (high, at + 6),
    };
    match char::from_u32(code) {
        Some('\0') => Err(Flaw::Nul),
        Some(character) => Ok((character, end)),
        None => Err(Flaw::LowFollowsNoHigh),
    }
}

/// Returns the code unit of the escape at `at`.
fn code_unit(text: &str, at: usize) -> Option<u32> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(escaped: &str) -> Result<String, RefusedLine> {
        let mut out = Vec::new();
        unescape::<Plain>(escaped, escaped, &mut out)?;
        assert_eq!(check(escaped, escaped), Ok(()));
        Ok(String::from_utf8(out).expect("UTF-8"))
    }

    #[test]
    fn escapes_stand_for_characters() {
        for (escaped, text) in [
            ("", ""),
            ("aé\u{7f}", "aé\u{7f}"),
            (r#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t"),
            (r"\u0041\u00e9\u20AC", "Aé€"),
            (r"x\ud83d\uDE00!", "x😀!"),
            (r"\\u0000", r"\u0000"),
        ] {
            assert_eq!(plain(escaped).as_deref(), Ok(text));
        }
    }

    #[test]
    fn escapes_without_text_are_refused() {
        for (escaped, text, at) in [
            (r"a\u0000", "\\u0000 cannot be converted to text.", 1),
            (r"\ud83d", "low surrogate must follow", 0),
            (r"\ud83dA", "low surrogate must follow", 0),
            (r"\ud83d\n", "low surrogate must follow", 0),
            (r"\ud83d\u0041", "low surrogate must follow", 0),
            (r"ab\ude00", "low surrogate must follow", 2),
            (r"\ud83d\ud83d", "high surrogate must not follow", 0),
        ] {
            let refused = plain(escaped).expect_err(escaped);
            assert!(refused.message.contains(text), "{escaped}: {refused}");
            assert_eq!(refused.at, at, "{escaped}");
            assert_eq!(check(escaped, escaped), Err(refused));
        }
    }

    #[test]
    fn strings_are_written_as_the_server_does() {
        let mut out = Vec::new();
        put_json("a\"\\/\u{8}\u{c}\n\r\t\u{1}\u{1f}\u{7f}é".as_bytes(), &mut out);
        let written = r#""a\"\\/\b\f\n\r\t\u0001\u001f"#.to_owned() + "\u{7f}é\"";
        assert_eq!(String::from_utf8(out).as_deref(), Ok(written.as_str()));
    }
}
