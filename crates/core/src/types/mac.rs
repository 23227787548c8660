//! macaddr and macaddr8: six or eight bytes in hexadecimal, grouped in one of the usual ways.

use super::bytea::decode_hex;
use super::wire;

/// Parses like `macaddr_in` (`src/backend/utils/adt/mac.c`, PostgreSQL 13 to 18) if each byte has two digits,
/// and appends the bytes.
pub(super) fn parse(text: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    let groups: &[usize] = match text {
        [_, _, b':' | b'-', ..] => &[2, 2, 2, 2, 2, 2],
        [_, _, _, _, b'.' | b'-', ..] => &[4, 4, 4],
        [_, _, _, _, _, _, b':' | b'-', ..] => &[6, 6],
        _ => &[12],
    };
    decode_groups(text, groups, bytes)
}

/// Parses pairs of digits like `macaddr8_in` (`src/backend/utils/adt/mac8.c`, PostgreSQL 13 to 18). Six bytes
/// become eight.
pub(super) fn parse8(text: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    let start = bytes.len();
    let groups: &[usize] = match text.len() {
        23 => &[2; 8],
        17 => &[2; 6],
        16 => &[16],
        12 => &[12],
        _ => return None,
    };
    decode_groups(text, groups, bytes)?;
    if bytes.len() == start + 6 {
        bytes.splice(start + 3..start + 3, [0xFF, 0xFE]);
    }
    Some(())
}

/// Encodes the address that [`parse`] reads as `macaddr_recv` expects it.
pub(super) fn encode(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    wire::put_with(field, |field| parse(text, field))
}

/// Encodes the address that [`parse8`] reads as `macaddr8_recv` expects it.
pub(super) fn encode8(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    wire::put_with(field, |field| parse8(text, field))
}

/// Decodes groups with the given numbers of digits, all separated by the same character.
fn decode_groups(mut text: &[u8], groups: &[usize], bytes: &mut Vec<u8>) -> Option<()> {
    let separator = text.get(groups[0]).copied();
    if groups.len() > 1 && !matches!(separator, Some(b':' | b'-' | b'.')) {
        return None;
    }
    for (place, &group) in groups.iter().enumerate() {
        if place > 0 {
            text = text.strip_prefix(&[separator?])?;
        }
        let (digits, rest) = text.split_at_checked(group)?;
        decode_hex(digits, bytes)?;
        text = rest;
    }
    text.is_empty().then_some(())
}

#[cfg(test)]
mod tests {
    use super::{parse, parse8};

    type Parse = fn(&[u8], &mut Vec<u8>) -> Option<()>;

    /// Parses a text into a buffer that already contains a byte.
    fn read(parse: Parse, text: &str) -> Option<Vec<u8>> {
        let mut bytes = vec![7];
        parse(text.as_bytes(), &mut bytes)?;
        Some(bytes.split_off(1))
    }

    #[test]
    fn six_bytes_in_every_grouping() {
        for text in [
            "08:00:2b:01:02:03",
            "08-00-2B-01-02-03",
            "08002b:010203",
            "08002b-010203",
            "0800.2b01.0203",
            "0800-2b01-0203",
            "08002b010203",
        ] {
            let bytes = [8, 0, 0x2b, 1, 2, 3];
            assert_eq!(read(parse, text), Some(bytes.to_vec()), "{text}");
        }
        for text in ["", "8:0:2b:1:2:3", "08:00:2b-01-02-03", "08002b01020", "08002b0102030", "08:"]
        {
            assert_eq!(read(parse, text), None, "{text}");
        }
    }

    #[test]
    fn six_bytes_become_eight() {
        let bytes = [8, 0, 0x2b, 0xFF, 0xFE, 1, 2, 3];
        for text in ["08:00:2b:01:02:03", "08002b010203", "08-00-2b-ff-fe-01-02-03"] {
            assert_eq!(read(parse8, text), Some(bytes.to_vec()), "{text}");
        }
        for text in ["", "08:00:2b:01:02", "08:00:2b:01:02:0g", "0800.2b01.0203.0405"] {
            assert_eq!(read(parse8, text), None, "{text}");
        }
    }
}
