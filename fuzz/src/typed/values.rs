//! Values near the limits of PostgreSQL's types.

use crate::choices::Choices;

const EDGES: [i64; 14] = [
    0,
    i64::MIN,
    i64::MAX,
    i32::MAX as i64,
    i16::MAX as i64,
    86_400_000_000,
    86_400_000_000_000,
    // The first and the last microsecond of a timestamp, from 1970.
    -210_866_803_200_000_000,
    9_224_318_016_000_000_000_u64 as i64,
    // The first and the last day of a date, from 1970.
    -2_440_588,
    2_145_042_905,
    // Bits of floating-point numbers: infinity and 2^53.
    0x7FF0_0000_0000_0000,
    0x4340_0000_0000_0000,
    1_000_000_000_000_000_000,
];

const SPELLINGS: [&str; 40] = [
    "",
    "1",
    "-1.5",
    "NaN",
    "-Infinity",
    "1e400",
    "0x1F",
    "true",
    "t",
    "2020-02-30",
    "2020-02-29",
    "12:30:00",
    "2020-01-01 24:00:00",
    "2020-01-01T00:00:00Z",
    "4714-11-24 BC",
    "infinity",
    "1 mon -2 days",
    "P1Y",
    "{1,2}",
    "{{1},{2}}",
    "{a,NULL,\"b\\\"\"}",
    "{}",
    "{{}}",
    "[1,2)",
    "empty",
    "(1,\"a,b\")",
    "(,)",
    "{\"a\":[1]}",
    "{\"a\":\n1}",
    "null",
    "\\x00ff",
    "\\",
    "\0",
    "\t\n\r\\N",
    "\\.",
    "é\u{10FFFF}",
    "10.0.0.1/8",
    "00112233-4455-6677-8899-aabbccddeeff",
    "08:00:2b:01:02:03",
    "((1,2),3)",
];

/// Returns any number, usually a small one or one at a limit.
pub fn number(c: &mut Choices<'_>) -> i64 {
    match c.below(6) {
        0 => (c.byte() as i8).into(),
        1 => c.pick(&EDGES),
        2 => c.pick(&EDGES).wrapping_add((c.byte() as i8).into()),
        3 => i64::from(c.byte()) * c.pick(&[1_000, 1_000_000, 1_000_000_000, 86_400_000]),
        4 => i16::from_be_bytes([c.byte(), c.byte()]).into(),
        _ => i64::from_be_bytes([(); 8].map(|()| c.byte())),
    }
}

/// Returns any number of sixteen bytes.
pub fn wide(c: &mut Choices<'_>) -> i128 {
    match c.below(3) {
        0 => number(c).into(),
        1 => 10_i128.pow(c.below(39) as u32) * i128::from(c.pick(&[1_i8, -1])),
        _ => i128::from(number(c)) << 64 | i128::from(number(c)),
    }
}

/// Returns a few bytes.
pub fn bytes(c: &mut Choices<'_>) -> Vec<u8> {
    if c.once_in(4) {
        return vec![c.byte(); 16];
    }
    (0..c.below(6)).map(|_| c.byte()).collect()
}

/// Returns any string, usually one that spells a value.
pub fn string(c: &mut Choices<'_>) -> String {
    match c.below(3) {
        2 => String::from_utf8_lossy(&bytes(c)).into_owned(),
        _ => c.pick(&SPELLINGS).to_owned(),
    }
}
