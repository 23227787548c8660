//! text, varchar, bpchar, name and "char". Lengths are in characters or bytes, and the blanks at the
//! end of a bpchar count neither in its order nor in its hash.

use super::{digits, wire};

/// The text itself, for `textrecv`, `varcharrecv`, `bpcharrecv`, `json_recv`, `enum_recv` and the like,
/// PostgreSQL 13 to 18. They treat it as their input functions do. They check its encoding, its length
/// and other demands of the type, and cut it or fill it up.
#[inline(never)]
pub(super) fn encode(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    if text.len() > 8 {
        return if has_zero(text) { None } else { wire::put_bytes(text, field) };
    }
    let word = digits::word(text);
    // No byte above the text is a zero.
    let above = u64::MAX.checked_shl(8 * text.len() as u32).unwrap_or(0);
    if digits::lowest(0, above | word) != 0 {
        return None;
    }
    wire::put_word(word, text.len(), field);
    Some(())
}

/// Encodes for `bpcharrecv` of a type with a length, `src/backend/utils/adt/varchar.c`, PostgreSQL 13
/// to 18: the text without its trailing blanks. The server adds them again up to the length. Where it
/// is too long it is so without them as well: only blanks are cut off.
#[inline]
pub(super) fn encode_padded(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    encode(without_trailing_blanks(text), field)
}

/// What `xml_recv` takes, `src/backend/utils/adt/xml.c`, PostgreSQL 13 to 18: the text itself. A declaration is left
/// to the server, because it would believe the encoding there, as `xml_in` does not.
pub(super) fn encode_xml(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    if text.starts_with(b"<?xml") {
        return None;
    }
    encode(text, field)
}

/// Whether there is a zero in it, which no text of the server has. It looks at eight bytes at a time,
/// as texts are short.
#[inline]
pub(super) fn has_zero(text: &[u8]) -> bool {
    let Some(last) = text.last_chunk() else { return text.contains(&0) };
    let zeros = |word: &[u8; 8]| digits::lowest(0, u64::from_le_bytes(*word));
    let words = text.as_chunks().0.iter();
    words.fold(zeros(last), |found, word| found | zeros(word)) != 0
}

/// `varchar_input`, `src/backend/utils/adt/varchar.c`, PostgreSQL 13 to 18, for what is not too long.
///
/// A longer string is cut if only blanks are cut off: that is left to the server.
pub(super) fn parse_varchar(text: &[u8], max: Option<u32>) -> Option<&[u8]> {
    fits(text, max).then_some(text)
}

/// `bpchar_input`, `src/backend/utils/adt/varchar.c`, PostgreSQL 13 to 18: it cuts or adds blanks
/// at the end, and both vanish here.
pub(super) fn parse_bpchar(text: &[u8], max: Option<u32>) -> Option<&[u8]> {
    let text = without_trailing_blanks(text);
    fits(text, max).then_some(text)
}

/// `namein`, `src/backend/utils/adt/name.c`, PostgreSQL 13 to 18, for what need not be cut.
pub(super) fn parse_name(text: &[u8]) -> Option<&[u8]> {
    (text.len() < 64).then_some(text)
}

/// `charin`, `src/backend/utils/adt/char.c`, PostgreSQL 13 to 18, for at most one ASCII character.
///
/// It takes the first byte of more, or from version 16 on an octal number. The sign of other bytes, and
/// with it their hash, depends on the server's machine.
pub(super) fn parse_char(text: &[u8]) -> Option<i64> {
    match *text {
        [] => Some(0),
        [byte] if byte.is_ascii() => Some(byte.into()),
        _ => None,
    }
}

/// [`parse_name`] to what `namerecv` takes, in the same file.
pub(super) fn encode_name(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    encode(parse_name(text)?, field)
}

/// [`parse_char`] to what `charrecv` takes, in the same file. A zero is not a text.
pub(super) fn encode_char(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    if text == b"\0" {
        return None;
    }
    wire::put1(parse_char(text)? as u8, field);
    Some(())
}

/// `bpchartruelen`, `src/backend/utils/adt/varchar.c`, PostgreSQL 13 to 18.
#[inline]
pub(super) fn without_trailing_blanks(text: &[u8]) -> &[u8] {
    if let [.., b' '] = text { trimmed(text) } else { text }
}

#[inline(never)]
fn trimmed(mut text: &[u8]) -> &[u8] {
    // A column of such a type may be blanks for the most part.
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

/// The characters of valid UTF-8: the bytes that begin one.
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
