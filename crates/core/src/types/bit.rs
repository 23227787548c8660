//! bit and bit varying: binary digits, or hexadecimal digits after an x.

use super::{bytea, wire};

/// Encodes a text that `bit_in` or `varbit_in` accepts as `bit_recv` or `varbit_recv` expects it
/// (`src/backend/utils/adt/varbit.c`, PostgreSQL 13 to 18): the number of bits, then the bits, highest first.
/// The server compares the number with the length of the column.
pub(super) fn encode(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    wire::put_with(field, |field| match text {
        [b'x' | b'X', digits @ ..] => {
            put_count(digits.len().checked_mul(4)?, field)?;
            let (pairs, last) = digits.split_at(digits.len() / 2 * 2);
            bytea::decode_hex(pairs, field)?;
            match last {
                [last] => bytea::decode_hex(&[*last, b'0'], field),
                _ => Some(()),
            }
        }
        [b'b' | b'B', digits @ ..] | digits => {
            put_count(digits.len(), field)?;
            for digits in digits.chunks(8) {
                let mut byte = 0;
                for (place, digit) in digits.iter().enumerate() {
                    byte |= match digit {
                        b'0' => 0,
                        b'1' => 0x80 >> place,
                        _ => return None,
                    };
                }
                field.push(byte);
            }
            Some(())
        }
    })
}

fn put_count(bits: usize, field: &mut Vec<u8>) -> Option<()> {
    field.extend(i32::try_from(bits).ok()?.to_be_bytes());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::encode;

    fn read(text: &str) -> Option<Vec<u8>> {
        let mut field = Vec::new();
        encode(text.as_bytes(), &mut field)?;
        Some(field.split_off(4))
    }

    #[test]
    fn bits_stand_highest_first() {
        assert_eq!(read(""), Some(vec![0, 0, 0, 0]));
        for text in ["101000001", "b101000001", "B101000001"] {
            assert_eq!(read(text), Some(vec![0, 0, 0, 9, 0xA0, 0x80]), "{text}");
        }
        assert_eq!(read("xA0f"), Some(vec![0, 0, 0, 12, 0xA0, 0xF0]));
        for text in ["2", " 1", "1 ", "x1g", "bb1", "0x1"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
