//! Decimal digits, eight at a time: a word holds them, the last one in its lowest byte.

/// The number of one to sixteen digits, if the text is these and nothing else.
#[inline]
pub(super) fn number(text: &[u8]) -> Option<u64> {
    match text.len() {
        0 => None,
        1..=8 => up_to_8(text).map(u64::from),
        9..=16 => {
            let (high, low) = text.split_at(text.len() - 8);
            Some(u64::from(up_to_8(high)?) * 100_000_000 + u64::from(up_to_8(low)?))
        }
        _ => None,
    }
}

/// The number of at most eight digits; none are 0.
#[inline]
pub(super) fn up_to_8(text: &[u8]) -> Option<u32> {
    let zeros = ZEROS.checked_shl(8 * text.len() as u32).unwrap_or(0);
    eight(zeros | word(text))
}

/// A digit in each byte.
pub(super) const ZEROS: u64 = u64::from_ne_bytes([b'0'; 8]);

/// The number of the eight digits in a word.
#[inline]
pub(super) fn eight(word: u64) -> Option<u32> {
    const LOWER_BITS: u64 = u64::from_ne_bytes([0x7F; 8]);
    const ABOVE_9: u64 = u64::from_ne_bytes([0x7F - 9; 8]);
    let digits = word ^ ZEROS;
    // A byte above 9 reaches its highest bit, or has it already.
    let above_9 = ((digits & LOWER_BITS) + ABOVE_9) | digits;
    if above_9 & !LOWER_BITS != 0 {
        return None;
    }
    // Neighbours are put together: digits to pairs, pairs to fours, fours to eights.
    let pairs = (digits & 0x000F_000F_000F_000F) + (digits >> 8 & 0x000F_000F_000F_000F) * 10;
    let fours = (pairs & 0x0000_00FF_0000_00FF) + (pairs >> 16 & 0x0000_00FF_0000_00FF) * 100;
    Some((fours & 0xFFFF) as u32 + (fours >> 32) as u32 * 10_000)
}

/// The bytes of at most eight as a number. The two reads of each case may overlap, where they agree.
#[inline]
fn word(text: &[u8]) -> u64 {
    if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        let first = u64::from(u32::from_be_bytes(*first));
        first << (8 * (text.len() - 4)) | u64::from(u32::from_be_bytes(*last))
    } else {
        match *text {
            [a, b, c] => u64::from(u32::from_be_bytes([0, a, b, c])),
            [a, b] => u64::from(u16::from_be_bytes([a, b])),
            [a] => a.into(),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{number, up_to_8};

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
