//! text, varchar, bpchar, name and "char". Lengths are in characters or bytes. The trailing blanks of a bpchar
//! count neither in its order nor in its hash.

use super::{digits, wire};

/// Encodes the text unchanged, for `textrecv`, `varcharrecv`, `bpcharrecv`, `json_recv`, `enum_recv` and the
/// like, PostgreSQL 13 to 18. They treat it as their input functions do: they check its encoding, its length and
/// other constraints of the type, and cut or pad it.
#[inline(never)]
pub(super) fn encode(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    if text.len() > 8 {
        return if has_zero(text) { None } else { wire::put_bytes(text, field) };
    }
    let word = digits::word(text);
    // Zero bytes above the text do not count.
    let above = u64::MAX.checked_shl(8 * text.len() as u32).unwrap_or(0);
    if digits::lowest(0, above | word) != 0 {
        return None;
    }
    wire::put_word(word, text.len(), field);
    Some(())
}

/// Encodes a `character` with a length for `bpcharrecv` (`src/backend/utils/adt/varchar.c`, PostgreSQL 13 to
/// 18): the text without its trailing blanks. The server pads it again. Stripping blanks does not change whether
/// the text fits, because the server cuts off only blanks.
#[inline]
pub(super) fn encode_padded(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    encode(without_trailing_blanks(text), field)
}

/// Encodes the text unchanged for `xml_recv` (`src/backend/utils/adt/xml.c`, PostgreSQL 13 to 18). A text with
/// an XML declaration is left to the server, because `xml_recv`, unlike `xml_in`, would apply the encoding that
/// it declares.
pub(super) fn encode_xml(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    if text.starts_with(b"<?xml") {
        return None;
    }
    encode(text, field)
}

/// Whether the text contains a zero byte, which no text of the server does. Checks eight bytes at a time,
/// because texts are short.
#[inline]
pub(super) fn has_zero(text: &[u8]) -> bool {
    let Some(last) = text.last_chunk() else { return text.contains(&0) };
    let zeros = |word: &[u8; 8]| digits::lowest(0, u64::from_le_bytes(*word));
    let words = text.as_chunks().0.iter();
    words.fold(zeros(last), |found, word| found | zeros(word)) != 0
}

/// Parses like `varchar_input` (`src/backend/utils/adt/varchar.c`, PostgreSQL 13 to 18) if the text is not too
/// long.
///
/// A longer text is left to the server, which cuts it if only blanks exceed the length.
pub(super) fn parse_varchar(text: &[u8], max: Option<u32>) -> Option<&[u8]> {
    fits(text, max).then_some(text)
}

/// Parses like `bpchar_input` (`src/backend/utils/adt/varchar.c`, PostgreSQL 13 to 18), which cuts or adds
/// trailing blanks; here they are always removed.
pub(super) fn parse_bpchar(text: &[u8], max: Option<u32>) -> Option<&[u8]> {
    let text = without_trailing_blanks(text);
    fits(text, max).then_some(text)
}

/// Parses like `namein` (`src/backend/utils/adt/name.c`, PostgreSQL 13 to 18) if the name need not be truncated.
pub(super) fn parse_name(text: &[u8]) -> Option<&[u8]> {
    (text.len() < 64).then_some(text)
}

/// Parses at most one ASCII character like `charin` (`src/backend/utils/adt/char.c`, PostgreSQL 13 to 18).
///
/// From a longer text, the server takes the first byte, or from version 16 on an octal number. The sign of a byte
/// that is not ASCII, and with it the hash, depends on the server's machine.
pub(super) fn parse_char(text: &[u8]) -> Option<i64> {
    match *text {
        [] => Some(0),
        [byte] if byte.is_ascii() => Some(byte.into()),
        _ => None,
    }
}

/// Encodes the name that [`parse_name`] reads as `namerecv` (same file) expects it.
pub(super) fn encode_name(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    encode(parse_name(text)?, field)
}

/// Encodes the character that [`parse_char`] reads as `charrecv` (same file) expects it. Rejects a zero byte,
/// which is not valid text.
pub(super) fn encode_char(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    if text == b"\0" {
        return None;
    }
    wire::put1(parse_char(text)? as u8, field);
    Some(())
}

/// Strips trailing blanks, like `bpchartruelen` (`src/backend/utils/adt/varchar.c`, PostgreSQL 13 to 18).
#[inline]
pub(super) fn without_trailing_blanks(text: &[u8]) -> &[u8] {
    if let [.., b' '] = text { trim(text) } else { text }
}

#[inline(never)]
fn trim(mut text: &[u8]) -> &[u8] {
    // Columns of this type may consist mostly of blanks.
    while let Some((rest, b"        ")) = text.split_last_chunk() {
        text = rest;
    }
    while let [rest @ .., b' '] = text {
        text = rest;
    }
    text
}

fn fits(text: &[u8], max: Option<u32>) -> bool {
    max.is_none_or(|max| text.len() <= max as usize || characters(text) <= max as usize)
}

/// Counts the characters of valid UTF-8, that is, the bytes that begin a character.
fn characters(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| byte & 0xC0 != 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::{parse_bpchar, parse_char, parse_name, parse_varchar};

    #[test]
    fn lengths_are_in_characters() {
        for text in ["", "abc", "äöü", "€𝄞é"] {
            assert_eq!(parse_varchar(text.as_bytes(), Some(3)), Some(text.as_bytes()));
            assert_eq!(parse_bpchar(text.as_bytes(), Some(3)), Some(text.as_bytes()));
        }
        assert_eq!(parse_varchar("abc ".as_bytes(), Some(3)), None);
        assert_eq!(parse_varchar("äöüß".as_bytes(), Some(3)), None);
        assert_eq!(parse_bpchar("äöüß".as_bytes(), Some(3)), None);
        assert_eq!(parse_varchar(&[0xFF; 9], Some(3)), None);
    }

    #[test]
    fn trailing_blanks_vanish_from_bpchar_only() {
        assert_eq!(parse_varchar(b"a  ", None), Some(&b"a  "[..]));
        assert_eq!(parse_bpchar(b" a  ", None), Some(&b" a"[..]));
        assert_eq!(parse_bpchar(b"abc     ", Some(3)), Some(&b"abc"[..]));
        assert_eq!(parse_bpchar(b"a\t", Some(3)), Some(&b"a\t"[..]));
        assert_eq!(parse_bpchar(b"   ", Some(1)), Some(&b""[..]));
    }

    #[test]
    fn names_are_not_cut_and_chars_are_one_byte() {
        assert_eq!(parse_name(&[b'n'; 63]), Some(&[b'n'; 63][..]));
        assert_eq!(parse_name(&[b'n'; 64]), None);
        assert_eq!(parse_char(b""), Some(0));
        assert_eq!(parse_char(b"~"), Some(126));
        for text in ["ab", "\\101", "é"] {
            assert_eq!(parse_char(text.as_bytes()), None, "{text}");
        }
    }
}
