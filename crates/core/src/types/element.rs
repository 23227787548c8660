//! Values within arrays and ranges, except values that contain values themselves. Their bytes follow one another
//! and sort as the values do.
//!
//! Integers are as wide as their datums, with the sign bit inverted. Strings end with two zeros, and a zero
//! within a string is followed by [`ESCAPED`]. The bytes of all other types show where they end.

use super::unquoted::Unquoted;
use super::{Datum, KeyType, Network, bytea, mac, numeric};

/// The byte after a zero within a string. It sorts above the second zero at the end of a string.
const ESCAPED: u8 = 0xFF;

/// Appends the bytes of a value, parsed like [`KeyType::parse`].
pub(super) fn parse(ty: &KeyType, text: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    let start = bytes.len();
    match ty {
        KeyType::Numeric { scale } => numeric::parse(text, *scale, bytes)?,
        KeyType::Macaddr => mac::parse(text, bytes)?,
        KeyType::Macaddr8 => mac::parse8(text, bytes)?,
        KeyType::Bytea => {
            bytea::parse(text, bytes)?;
            end_string(bytes, start);
        }
        // The datums of the other types are parts of the text or are not byte strings.
        _ => write(ty, ty.parse(text, &mut Vec::new())?, bytes),
    }
    Some(())
}

/// Appends the bytes of a value, decoded like [`KeyType::receive`].
pub(super) fn receive(ty: &KeyType, binary: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    write(ty, ty.receive(binary, &mut Vec::new())?, bytes);
    Some(())
}

fn write(ty: &KeyType, datum: Datum<'_>, bytes: &mut Vec<u8>) {
    match datum {
        Datum::Int(value) => bytes.extend(int(value)),
        Datum::Wide(value) => bytes.extend((value ^ i128::MIN).to_be_bytes()),
        Datum::Uuid(value) => bytes.extend(value.to_be_bytes()),
        Datum::Network(network) => network.write(bytes),
        Datum::Bytes(value) => {
            let start = bytes.len();
            bytes.extend(value);
            if is_string(ty) {
                end_string(bytes, start);
            }
        }
    }
}

fn is_string(ty: &KeyType) -> bool {
    use KeyType as K;
    matches!(ty, K::Text | K::Varchar { .. } | K::Bpchar { .. } | K::Name | K::Bytea)
}

/// Ends the string that begins at `start`. Escapes its zeros from the end, so that each byte moves once.
fn end_string(bytes: &mut Vec<u8>, start: usize) {
    let mut from = bytes.len();
    let zeros = bytes[start..].iter().filter(|&&byte| byte == 0).count();
    bytes.resize(from + zeros, 0);
    let mut to = bytes.len();
    while to > from {
        from -= 1;
        to -= 1;
        bytes[to] = bytes[from];
        if bytes[from] == 0 {
            bytes[to] = ESCAPED;
            to -= 1;
            bytes[to] = 0;
        }
    }
    bytes.extend([0, 0]);
}

/// Takes a value off `bytes` and hashes it with [`KeyType::hash`].
pub(super) fn hash_extended(ty: &KeyType, bytes: &mut &[u8], seed: u64) -> u64 {
    use KeyType as K;
    let datum = match ty {
        _ if is_string(ty) => return hash_string(ty, bytes, seed),
        K::Numeric { .. } => Datum::Bytes(numeric::take(bytes)),
        K::Macaddr => Datum::Bytes(&take::<6>(bytes)),
        K::Macaddr8 => Datum::Bytes(&take::<8>(bytes)),
        K::Inet | K::Cidr => match Network::take(bytes) {
            Some(network) => Datum::Network(network),
            None => return seed,
        },
        K::Uuid => Datum::Uuid(u128::from_be_bytes(take(bytes))),
        K::Timetz { .. } | K::Interval { .. } => {
            Datum::Wide(i128::from_be_bytes(take(bytes)) ^ i128::MIN)
        }
        _ => Datum::Int(take_int(bytes)),
    };
    ty.hash(datum, seed)
}

/// Returns the bytes of an integer.
pub(super) fn int(value: i64) -> [u8; 8] {
    (value ^ i64::MIN).to_be_bytes()
}

/// Takes an integer that [`int`] wrote.
pub(super) fn take_int(bytes: &mut &[u8]) -> i64 {
    i64::from_be_bytes(take(bytes)) ^ i64::MIN
}

/// Takes `N` bytes, or returns zeros if there are fewer.
pub(super) fn take<const N: usize>(bytes: &mut &[u8]) -> [u8; N] {
    match bytes.split_first_chunk() {
        Some((value, rest)) => {
            *bytes = rest;
            *value
        }
        None => [0; N],
    }
}

fn hash_string(ty: &KeyType, bytes: &mut &[u8], seed: u64) -> u64 {
    let plain = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    if bytes.get(plain + 1) != Some(&ESCAPED) {
        let (string, rest) = bytes.split_at(plain);
        *bytes = rest.get(2..).unwrap_or_default();
        return ty.hash(Datum::Bytes(string), seed);
    }
    let mut string = Unquoted::new();
    loop {
        *bytes = match *bytes {
            [0, ESCAPED, rest @ ..] => {
                string.push(0);
                rest
            }
            [0, _, rest @ ..] => {
                *bytes = rest;
                break;
            }
            [byte, rest @ ..] => {
                string.push(*byte);
                rest
            }
            [] => break,
        };
    }
    ty.hash(Datum::Bytes(string.bytes()), seed)
}

#[cfg(test)]
mod tests {
    use super::{hash_extended, is_string, receive};
    use crate::types::KeyType;

    #[test]
    fn strings_sort_as_before_and_hash_as_before() {
        let ascending: [&[u8]; 9] =
            [b"", b"\0", b"\0\0", b"\0\x01", b"\0\xFF", b"\x01", b"a", b"a\0", b"a\0\xFF\0"];
        let written = ascending.map(|string| {
            let mut bytes = vec![b'x'];
            assert!(is_string(&KeyType::Bytea));
            receive(&KeyType::Bytea, string, &mut bytes).unwrap();
            let mut rest = &bytes[1..];
            let hash = hash_extended(&KeyType::Bytea, &mut rest, 5);
            assert_eq!(hash, crate::hash::bytes_extended(string, 5), "{string:?}");
            assert!(rest.is_empty(), "{string:?}");
            bytes
        });
        assert!(written.is_sorted_by(|a, b| a < b), "{written:?}");
    }
}
