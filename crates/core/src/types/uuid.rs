//! uuid: 32 hexadecimal digits, with the hyphens and braces that the server allows.

use super::wire;

/// Parses like `string_to_uuid` (`src/backend/utils/adt/uuid.c`, PostgreSQL 13 to 18): a hyphen may follow each
/// group of four digits but the last, and braces may enclose the whole.
#[inline]
pub(super) fn parse(text: &[u8]) -> Option<u128> {
    match text.first_chunk().filter(|_| text.len() == 36) {
        Some(written) => parse_as_written(written).or_else(|| parse_any(text)),
        None => parse_any(text),
    }
}

/// Parses the spelling that the server writes, which is by far the most frequent, eight digits at a time.
#[inline]
fn parse_as_written(text: &[u8; 36]) -> Option<u128> {
    let digits = |start: usize| -> [u8; 4] { std::array::from_fn(|digit| text[start + digit]) };
    if [text[8], text[13], text[18], text[23]] != *b"----" {
        return None;
    }
    let parts = [[0, 4], [9, 14], [19, 24], [28, 32]].map(|[upper, lower]| {
        let mut part = [0; 8];
        part[..4].copy_from_slice(&digits(upper));
        part[4..].copy_from_slice(&digits(lower));
        part
    });
    parts.iter().try_fold(0, |value, part| Some(value << 32 | u128::from(eight_digits(*part)?)))
}

/// Parses eight hexadecimal digits.
#[inline]
fn eight_digits(digits: [u8; 8]) -> Option<u32> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHEST: u64 = ONES << 7;
    let word = u64::from_be_bytes(digits);
    // Sets the highest bit of each byte from `first` to `last`, if all bytes are below 0x80.
    let within = |word: u64, first: u8, last: u8| {
        let from = word + ONES * u64::from(0x80 - first);
        let beyond = word + ONES * u64::from(0x7F - last);
        from & !beyond & HIGHEST
    };
    if word & HIGHEST != 0 {
        return None;
    }
    let letters = within(word | (ONES * 0x20), b'a', b'f');
    if letters | within(word, b'0', b'9') != HIGHEST {
        return None;
    }
    let nibbles = (word & (ONES * 0x0F)) + (letters >> 7) * 9;
    let bytes = (nibbles | nibbles >> 4) & 0x00FF_00FF_00FF_00FF;
    let pairs = (bytes | bytes >> 8) & 0x0000_FFFF_0000_FFFF;
    Some((pairs | pairs >> 16) as u32)
}

fn parse_any(text: &[u8]) -> Option<u128> {
    let mut rest = match text {
        [b'{', inner @ .., b'}'] => inner,
        _ => text,
    };
    let mut value = parse_group(&mut rest)?;
    for _ in 1..8 {
        rest = rest.strip_prefix(b"-").unwrap_or(rest);
        value = value << 16 | parse_group(&mut rest)?;
    }
    rest.is_empty().then_some(value)
}

/// Encodes the value that [`parse`] returns as `uuid_recv` (same file) expects it.
#[inline(never)]
pub(super) fn encode(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    wire::put16(parse(text)?, field);
    Some(())
}

fn parse_group(text: &mut &[u8]) -> Option<u128> {
    let (group, rest) = text.split_first_chunk::<4>()?;
    *text = rest;
    let [a, b, c, d] = group.map(|byte| HEX[usize::from(byte)]);
    // A byte that is not a digit sets a bit above the four of a digit.
    let value = a << 12 | b << 8 | c << 4 | d;
    ((a | b | c | d) < 16).then_some(value.into())
}

const HEX: [u32; 256] = hex_table();

const fn hex_table() -> [u32; 256] {
    let mut table = [16; 256];
    let mut digit = 0;
    while digit < 16 {
        let upper = b"0123456789ABCDEF"[digit];
        table[upper as usize] = digit as u32;
        table[upper.to_ascii_lowercase() as usize] = digit as u32;
        digit += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::parse;

    /// Compares the fast reader with the slow one for each byte at each place.
    #[test]
    fn the_canonical_spelling_is_read_like_any_other() {
        let text = *b"a0eebc99-9C0B-4ef8-bb6d-6bb9bd380a11";
        for place in 0..text.len() {
            for byte in 0..=255 {
                let mut text = text;
                text[place] = byte;
                let written = super::parse_as_written(&text);
                let any = super::parse_any(&text);
                // A hyphen may be missing elsewhere, but not in the server's spelling.
                assert!(written == any || written.is_none(), "{byte} at {place}");
                let is_hyphen = matches!(place, 8 | 13 | 18 | 23);
                assert_eq!(
                    written.is_some(),
                    if is_hyphen { byte == b'-' } else { byte.is_ascii_hexdigit() }
                );
            }
        }
    }

    const VALUE: u128 = 0xa0ee_bc99_9c0b_4ef8_bb6d_6bb9_bd38_0a11;

    #[test]
    fn hyphens_and_braces() {
        for text in [
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
            "a0eebc999c0b4ef8bb6d6bb9bd380a11",
            "a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11",
            "a0eebc99-9c0b4ef8-bb6d6bb9-bd380a11",
            "{a0eebc99-9c0b4ef8-bb6d6bb9-bd380A11}",
        ] {
            assert_eq!(parse(text.as_bytes()), Some(VALUE), "{text}");
        }
    }

    #[test]
    fn anything_else_is_left_to_the_server() {
        for text in [
            "",
            "{}",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a112",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11-",
            "a0eebc99--9c0b-4ef8-bb6d-6bb9bd380a11",
            "a0eeb-c999c0b4ef8bb6d6bb9bd380a11",
            "{a0eebc999c0b4ef8bb6d6bb9bd380a11",
            "a0eebc999c0b4ef8bb6d6bb9bd380a11}",
            " a0eebc999c0b4ef8bb6d6bb9bd380a11",
            "g0eebc999c0b4ef8bb6d6bb9bd380a11",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}
