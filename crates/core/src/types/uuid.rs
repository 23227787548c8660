//! uuid: 32 hexadecimal digits, with the hyphens and braces that the server allows.

use super::wire;

/// `string_to_uuid`, `src/backend/utils/adt/uuid.c`, PostgreSQL 13 to 18: a hyphen may follow each
/// group of four digits but the last, and braces may enclose the whole.
pub(super) fn parse(text: &[u8]) -> Option<u128> {
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

/// [`parse`] to what `uuid_recv` takes, in the same file.
#[inline]
pub(super) fn encode(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    wire::put16(parse(text)?, field);
    Some(())
}

fn parse_group(text: &mut &[u8]) -> Option<u128> {
    let (group, rest) = text.split_first_chunk::<4>()?;
    *text = rest;
    let [a, b, c, d] = group.map(|byte| HEX[usize::from(byte)]);
    // A byte that is no digit sets the bits above its place.
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
