//! time and timetz: `HH:MM[:SS[.f]]`, including the end of the day, `24:00`.

use super::datetime::{
    ALL_DIGITS, USECS_PER_DAY, USECS_PER_SECOND, is_exact, parse_clock, parse_offset,
};
use super::{integer, wire};
use crate::hash;

/// Parses a time into microseconds from midnight, like `time_in` (`src/backend/utils/adt/date.c`, PostgreSQL 13
/// to 18).
pub(super) fn parse(text: &[u8], precision: u8) -> Option<i64> {
    let (usecs, rest) = parse_of_day(text, precision)?;
    rest.is_empty().then_some(usecs)
}

/// Parses like `timetz_in` (same file). A time without an offset is in the session's fixed zone.
pub(super) fn parse_zoned(text: &[u8], precision: u8, zone: Option<i32>) -> Option<i128> {
    let (usecs, west) = read_zoned(text, precision, zone)?;
    Some(zoned(usecs, west))
}

/// Parses a time into microseconds from midnight and seconds west of UTC.
fn read_zoned(text: &[u8], precision: u8, zone: Option<i32>) -> Option<(i64, i32)> {
    let (usecs, offset) = parse_of_day(text, precision)?;
    let east = if offset.is_empty() { zone? } else { parse_offset(offset)? };
    Some((usecs, east.checked_neg()?))
}

/// Encodes the time that [`parse`] reads as `time_recv` (same file) expects it. `time_recv` rounds as `time_in`
/// does.
pub(super) fn encode(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    wire::put8(parse(text, ALL_DIGITS)? as u64, field);
    Some(())
}

/// Encodes the time that [`parse_zoned`] reads as `timetz_recv` (same file) expects it.
pub(super) fn encode_zoned(text: &[u8], zone: Option<i32>, field: &mut Vec<u8>) -> Option<()> {
    let (usecs, west) = read_zoned(text, ALL_DIGITS, zone)?;
    let value = (u128::from(usecs as u64) << 32 | u128::from(west as u32)).to_be_bytes();
    wire::put_bytes(&value[4..], field)
}

/// Decodes the binary form that `timetz_recv` reads, unless the server would round it to the precision.
pub(super) fn receive_zoned(binary: &[u8], precision: u8) -> Option<i128> {
    let (usecs, west) = binary.split_first_chunk()?;
    let usecs = i64::from_be_bytes(*usecs);
    let west = i32::from_be_bytes(west.try_into().ok()?);
    is_exact(usecs, precision).then(|| zoned(usecs, west))
}

fn parse_of_day(text: &[u8], precision: u8) -> Option<(i64, &[u8])> {
    let (usecs, rest) = parse_clock(text, precision, 25)?;
    (usecs <= USECS_PER_DAY).then_some((usecs, rest))
}

/// Returns a time in a zone `west` seconds west of UTC as a number in the order of `timetz_cmp_internal`: by the
/// time in UTC, then by the zone.
pub(super) fn zoned(usecs: i64, west: i32) -> i128 {
    let utc = i128::from(usecs) + i128::from(west) * i128::from(USECS_PER_SECOND);
    utc << 32 | i128::from(west as u32 ^ 1 << 31)
}

/// Hashes like `timetz_hash_extended` (`src/backend/utils/adt/date.c`, PostgreSQL 13 to 18).
pub(super) fn hash_zoned(zoned: i128, seed: u64) -> u64 {
    let west = zoned as u32 ^ 1 << 31;
    let usecs = (zoned >> 32) - i128::from(west as i32) * i128::from(USECS_PER_SECOND);
    integer::hash_extended(usecs as i64, seed) ^ hash::uint32_extended(west, seed)
}

#[cfg(test)]
mod tests {
    use super::{parse, parse_zoned, zoned};

    #[test]
    fn a_day_ends_at_24_hours() {
        assert_eq!(parse(b"00:00", 6), Some(0));
        assert_eq!(parse(b"23:59:59.999999", 6), Some(86_399_999_999));
        assert_eq!(parse(b"24:00:00.0", 6), Some(86_400_000_000));
        for text in ["", "24:00:00.1", "24:01", "25:00", "1:00", "00:00:60", "00:00Z", "T00:00"] {
            assert_eq!(parse(text.as_bytes(), 6), None, "{text}");
        }
        assert_eq!(parse(b"00:00:00.12", 1), None);
    }

    #[test]
    fn times_in_zones_sort_by_utc_and_then_from_east_to_west() {
        let read = |text: &str| parse_zoned(text.as_bytes(), 6, None);
        let times = ["00:00+15", "01:00+02", "00:00+01", "00:00Z", "00:00-00:01", "24:00-15:59"];
        assert!(times.map(read).is_sorted_by(|a, b| a.is_some() && a < b));
        assert_eq!(read("00:00"), None);
        assert_eq!(parse_zoned(b"00:00", 6, Some(-60)), Some(zoned(0, 60)));
    }
}
