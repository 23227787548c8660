//! text, varchar and bpchar: lengths in characters, and the blanks at the end of a bpchar that count
//! neither in its order nor in its hash.

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

/// `bpchartruelen`, `src/backend/utils/adt/varchar.c`, PostgreSQL 13 to 18.
pub(super) fn without_trailing_blanks(mut text: &[u8]) -> &[u8] {
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
    use super::{parse_bpchar, parse_varchar};

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
}
