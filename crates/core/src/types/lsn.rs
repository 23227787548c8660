//! pg_lsn: two hexadecimal numbers, as an integer that sorts in the same order.

use super::{integer, wire};

/// Parses two numbers of one to eight digits like `pg_lsn_in` (`src/backend/utils/adt/pg_lsn.c`, PostgreSQL 13
/// to 18).
pub(super) fn parse(text: &[u8]) -> Option<i64> {
    read(text).map(sortable)
}

/// Encodes a pg_lsn as `pg_lsn_recv` (same file) expects it.
pub(super) fn encode(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    wire::put8(read(text)?, field);
    Some(())
}

fn read(text: &[u8]) -> Option<u64> {
    let slash = text.iter().position(|&byte| byte == b'/')?;
    let (high, low) = (parse_half(&text[..slash])?, parse_half(&text[slash + 1..])?);
    Some(high << 32 | low)
}

fn parse_half(digits: &[u8]) -> Option<u64> {
    if digits.len() > 8 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u64::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
}

/// Maps an unsigned number to a signed one in the same order.
pub(super) fn sortable(value: u64) -> i64 {
    value as i64 ^ i64::MIN
}

/// Hashes like `pg_lsn_hash_extended` (`src/backend/utils/adt/pg_lsn.c`, PostgreSQL 13 to 18).
pub(super) fn hash_extended(sortable: i64, seed: u64) -> u64 {
    integer::hash_extended(sortable ^ i64::MIN, seed)
}

#[cfg(test)]
mod tests {
    use super::{parse, sortable};

    #[test]
    fn two_numbers() {
        assert_eq!(parse(b"0/0"), Some(i64::MIN));
        assert_eq!(parse(b"ffffffff/FFFFFFFF"), Some(i64::MAX));
        assert_eq!(parse(b"16/B374D848"), Some(sortable(0x16_B374_D848)));
        for text in ["", "/", "1/", "/1", "1", "1/2/3", " 1/2", "123456789/0", "g/0", "+1/0"] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}
