//! Decimal digits, parsed eight at a time: a word holds them, the last digit in its lowest byte.

/// Parses a text of one to sixteen digits and nothing else.
#[inline]
pub(super) fn number(text: &[u8]) -> Option<u64> {
    match text.len() {
        0 => None,
        1..=8 => up_to_8(text).map(u64::from),
        _ => up_to_16(text),
    }
}

/// Parses nine to sixteen digits. Kept out of [`number`] because most numbers are short.
#[inline(never)]
fn up_to_16(text: &[u8]) -> Option<u64> {
    let (high, low) = text.split_last_chunk::<8>()?;
    if high.len() > 8 {
        return None;
    }
    Some(u64::from(up_to_8(high)?) * 100_000_000 + u64::from(up_to_8(low)?))
}

/// Parses at most eight digits; an empty text is 0.
#[inline]
pub(super) fn up_to_8(text: &[u8]) -> Option<u32> {
    let zeros = ZEROS.checked_shl(8 * text.len() as u32).unwrap_or(0);
    eight(zeros | word(text))
}

/// A word with the digit 0 in each byte.
pub(super) const ZEROS: u64 = u64::from_ne_bytes([b'0'; 8]);

/// Returns the number that the eight digits in a word spell.
#[inline]
pub(super) fn eight(word: u64) -> Option<u32> {
    let pairs = pairs(word)?;
    let fours = (pairs & 0x0000_00FF_0000_00FF) + (pairs >> 16 & 0x0000_00FF_0000_00FF) * 100;
    Some((fours & 0xFFFF) as u32 + (fours >> 32) as u32 * 10_000)
}

/// Returns the eight digits in a word as four two-digit numbers of sixteen bits each.
#[inline]
pub(super) fn pairs(word: u64) -> Option<u64> {
    const LOWER_BITS: u64 = u64::from_ne_bytes([0x7F; 8]);
    const ABOVE_9: u64 = u64::from_ne_bytes([0x7F - 9; 8]);
    let digits = word ^ ZEROS;
    // For a byte above 9 the highest bit is set, by the addition or already before it.
    let above_9 = ((digits & LOWER_BITS) + ABOVE_9) | digits;
    if above_9 & !LOWER_BITS != 0 {
        return None;
    }
    Some((digits & 0x000F_000F_000F_000F) + (digits >> 8 & 0x000F_000F_000F_000F) * 10)
}

/// Returns at most eight bytes as a word, the last byte lowest. Reads may overlap, but they agree on the shared
/// bytes.
#[inline]
pub(super) fn word(text: &[u8]) -> u64 {
    if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        let first = u64::from(u32::from_be_bytes(*first));
        return first << (8 * (text.len() - 4)) | u64::from(u32::from_be_bytes(*last));
    }
    let (Some(first), Some(last)) = (text.first(), text.last()) else { return 0 };
    let middle = u64::from(text[text.len() / 2]) << (8 * (text.len().div_ceil(2) - 1));
    u64::from(*first) << (8 * (text.len() - 1)) | middle | u64::from(*last)
}

/// Returns a word in which the highest bit is set in each byte where `word` has `byte`, up to the lowest such
/// byte. Above that byte, other bits may be set as well.
#[inline]
pub(super) fn lowest(byte: u8, word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    let others = word ^ (ONES * u64::from(byte));
    others.wrapping_sub(ONES) & !others & (ONES << 7)
}

#[cfg(test)]
mod tests {
    use super::{lowest, number, up_to_8, word};

    #[test]
    fn digits_of_every_length() {
        let digits = "9081726354453627";
        for length in 1..=16 {
            for text in [&digits[..length], &digits[16 - length..], &"0000000000000000"[..length]] {
                assert_eq!(number(text.as_bytes()), text.parse().ok(), "{text}");
            }
        }
        assert_eq!(up_to_8(b""), Some(0));
        assert_eq!(number(b""), None);
        assert_eq!(number(b"12345678901234567"), None);
    }

    #[test]
    fn a_word_is_its_bytes() {
        for length in 0..=8 {
            let text = &b"abcdefgh"[..length];
            let expected = text.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
            assert_eq!(word(text), expected, "{length}");
            for place in 0..length as u32 {
                let byte = (expected >> (8 * place)) as u8;
                assert_eq!(lowest(byte, expected).trailing_zeros(), 8 * place + 7, "{length}");
            }
        }
        assert_eq!(lowest(b'.', word(b"12345678")), 0);
        assert_eq!(lowest(0, 0).trailing_zeros(), 7);
    }

    #[test]
    fn any_other_byte_is_no_digit() {
        for length in 1..=16 {
            for place in 0..length {
                for byte in 0..=255_u8 {
                    let mut text = vec![b'9'; length];
                    text[place] = byte;
                    assert_eq!(number(&text).is_some(), byte.is_ascii_digit(), "{text:?}");
                }
            }
        }
    }
}
