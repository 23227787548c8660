//! A lexer for JSON that agrees with the server's (`src/common/jsonapi.c`, PostgreSQL 13 to 18).

/// The rest of a text.
pub(super) struct Json<'a>(&'a [u8]);

impl<'a> Json<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self(text)
    }

    /// Skips whitespace and returns the next character without reading it; `None` at the end.
    pub(super) fn peek(&mut self) -> Option<u8> {
        while let [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] = self.0 {
            self.0 = rest;
        }
        self.0.first().copied()
    }

    /// Reads the next character if it is `sign`, and returns whether it was.
    pub(super) fn accept(&mut self, sign: u8) -> bool {
        let found = self.peek() == Some(sign);
        if found {
            self.0 = &self.0[1..];
        }
        found
    }

    /// Reads `word`, which must come next.
    pub(super) fn word(&mut self, word: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(word)?;
        Some(())
    }

    /// Reads a number like `json_lex_number`. A character that must not follow the number is rejected where the
    /// value ends.
    pub(super) fn number(&mut self) -> Option<&'a [u8]> {
        let text = self.0;
        let rest = text.strip_prefix(b"-").unwrap_or(text);
        let mut rest = match rest {
            [b'0', rest @ ..] => rest,
            _ => digits(rest)?,
        };
        if let [b'.', fraction @ ..] = rest {
            rest = digits(fraction)?;
        }
        if let [b'e' | b'E', exponent @ ..] = rest {
            rest = digits(match exponent {
                [b'+' | b'-', digits @ ..] => digits,
                _ => exponent,
            })?;
        }
        self.0 = rest;
        Some(&text[..text.len() - rest.len()])
    }

    /// Reads a string after its opening quote and appends it without escapes, like `json_lex_string` if the
    /// server's encoding is UTF-8.
    pub(super) fn string(&mut self, bytes: &mut Vec<u8>) -> Option<()> {
        loop {
            let end = self.0.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..b' '))?;
            let (plain, rest) = self.0.split_at(end);
            bytes.extend(plain);
            match rest {
                [b'"', rest @ ..] => {
                    self.0 = rest;
                    return Some(());
                }
                [b'\\', rest @ ..] => self.0 = unescape(rest, bytes)?,
                _ => return None,
            }
        }
    }
}

/// Skips at least one digit and returns the rest of the text.
fn digits(text: &[u8]) -> Option<&[u8]> {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    (end > 0).then(|| &text[end..])
}

/// Reads one character after a backslash, or a surrogate pair.
fn unescape<'a>(text: &'a [u8], bytes: &mut Vec<u8>) -> Option<&'a [u8]> {
    let (escaped, rest) = text.split_first()?;
    let plain = match escaped {
        b'"' | b'\\' | b'/' => *escaped,
        b'b' => 0x08,
        b'f' => 0x0C,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => return unescape_unicode(rest, bytes),
        _ => return None,
    };
    bytes.push(plain);
    Some(rest)
}

fn unescape_unicode<'a>(text: &'a [u8], bytes: &mut Vec<u8>) -> Option<&'a [u8]> {
    let (first, mut rest) = code_unit(text)?;
    let mut code = first;
    if (0xD800..0xDC00).contains(&first) {
        let (second, after) = code_unit(rest.strip_prefix(b"\\u")?)?;
        let low = second.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
        code = 0x1_0000 + ((first - 0xD800) << 10 | low);
        rest = after;
    }
    // Rejects a single surrogate and zero, which a jsonb cannot contain.
    let character = char::from_u32(code).filter(|character| *character != '\0')?;
    bytes.extend(character.encode_utf8(&mut [0; 4]).as_bytes());
    Some(rest)
}

/// Reads four hexadecimal digits.
fn code_unit(text: &[u8]) -> Option<(u32, &[u8])> {
    let (digits, rest) = text.split_first_chunk::<4>()?;
    let add = |code, digit: &u8| Some(code << 4 | char::from(*digit).to_digit(16)?);
    Some((digits.iter().try_fold(0, add)?, rest))
}

#[cfg(test)]
mod tests {
    use super::Json;

    #[test]
    fn numbers_are_json_numbers() {
        for text in ["0", "-0", "10", "1.50", "-0.5e+10", "1E5", "2e-3", "0.0"] {
            assert_eq!(Json::new(text.as_bytes()).number(), Some(text.as_bytes()));
        }
        for text in ["", "-", "+1", ".5", "1.", "1.e5", "1e", "1e+", "-.5", "NaN"] {
            assert_eq!(Json::new(text.as_bytes()).number(), None, "{text}");
        }
        let mut json = Json::new(b"01");
        assert_eq!((json.number(), json.peek()), (Some(&b"0"[..]), Some(b'1')));
    }

    #[test]
    fn strings_lose_their_escapes() {
        let read = |text: &str| {
            let mut bytes = Vec::new();
            Json::new(text.as_bytes()).string(&mut bytes)?;
            String::from_utf8(bytes).ok()
        };
        for (text, string) in [
            ("\"", ""),
            ("aé\u{7f}\"", "aé\u{7f}"),
            (r#"\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
            (r#"\u0041\u00e9\u20AC""#, "Aé€"),
            (r#"\ud83d\uDE00!""#, "😀!"),
        ] {
            assert_eq!(read(text).as_deref(), Some(string), "{text}");
        }
        for text in [
            "",
            "a",
            "\n\"",
            "\u{1f}\"",
            "\\",
            r#"\x""#,
            r#"\u004""#,
            r#"\u+041""#,
            r#"\u0000""#,
            r#"\ud83d""#,
            r#"\ud83dA""#,
            r#"\ude00""#,
            r#"\ud83d\ud83d""#,
            r#"\ud83d\u0041""#,
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
