//! Fields of COPY BINARY: the length in four bytes, then the value, all big-endian.

/// Appends a value of one byte.
#[inline]
pub fn put1(value: u8, field: &mut Vec<u8>) {
    field.extend_from_slice(&[0, 0, 0, 1, value]);
}

/// Appends a value of two bytes.
#[inline]
pub fn put2(value: u16, field: &mut Vec<u8>) {
    let [high, low] = value.to_be_bytes();
    field.extend_from_slice(&[0, 0, 0, 2, high, low]);
}

/// Appends a value of four bytes.
#[inline]
pub fn put4(value: u32, field: &mut Vec<u8>) {
    field.extend_from_slice(&(4 << 32 | u64::from(value)).to_be_bytes());
}

/// Appends a value of eight bytes.
#[inline]
pub fn put8(value: u64, field: &mut Vec<u8>) {
    let bytes = (8 << 64 | u128::from(value)).to_be_bytes();
    field.extend_from_slice(&bytes[4..]);
}

/// Appends a value of sixteen bytes.
#[inline]
pub fn put16(value: u128, field: &mut Vec<u8>) {
    let mut bytes = [0; 20];
    bytes[3] = 16;
    bytes[4..].copy_from_slice(&value.to_be_bytes());
    field.extend_from_slice(&bytes);
}

/// Appends a value that consists of the lowest `length` bytes of a word.
#[inline]
pub fn put_word(word: u64, length: usize, field: &mut Vec<u8>) {
    let mut bytes = [0; 12];
    bytes[3] = length as u8;
    let first = word.checked_shl(8 * (8 - length) as u32).unwrap_or(0);
    bytes[4..].copy_from_slice(&first.to_be_bytes());
    field.extend_from_slice(&bytes);
    field.truncate(field.len() - (8 - length));
}

/// Appends a value that consists of the given bytes. Returns `None` if it is too long.
#[inline]
pub fn put_bytes(value: &[u8], field: &mut Vec<u8>) -> Option<()> {
    let length = i32::try_from(value.len()).ok()?;
    field.reserve(4 + value.len());
    field.extend_from_slice(&length.to_be_bytes());
    field.extend_from_slice(value);
    Some(())
}

/// Appends a field that is NULL.
#[inline]
pub fn put_null(field: &mut Vec<u8>) {
    field.extend_from_slice(&(-1_i32).to_be_bytes());
}

/// Appends the value that `write` appends, preceded by its length.
#[inline]
pub fn put_with(field: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> Option<()>) -> Option<()> {
    let start = field.len();
    field.extend_from_slice(&[0; 4]);
    write(field)?;
    let length = i32::try_from(field.len() - start - 4).ok()?;
    field[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_precedes_the_value() {
        let mut field = vec![7];
        put1(1, &mut field);
        put2(0x0203, &mut field);
        put4(0x0405_0607, &mut field);
        put8(0x0809_0A0B_0C0D_0E0F, &mut field);
        put16(0x10, &mut field);
        put_word(0x6162, 2, &mut field);
        put_word(0, 0, &mut field);
        put_bytes(b"ab", &mut field).unwrap();
        put_with(&mut field, |field| put_bytes(b"", field)).unwrap();
        put_null(&mut field);
        let expected: &[&[u8]] = &[
            &[7],
            &[0, 0, 0, 1, 1],
            &[0, 0, 0, 2, 2, 3],
            &[0, 0, 0, 4, 4, 5, 6, 7],
            &[0, 0, 0, 8, 8, 9, 10, 11, 12, 13, 14, 15],
            &[0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16],
            &[0, 0, 0, 2, b'a', b'b'],
            &[0, 0, 0, 0],
            &[0, 0, 0, 2, b'a', b'b'],
            &[0, 0, 0, 4, 0, 0, 0, 0],
            &[0xFF; 4],
        ];
        assert_eq!(field, expected.concat());
    }
}
