//! Encode: writes a row of the input in the format of COPY BINARY, once, into the payload that is sent.
//!
//! If every column has a codec, rows are sent in binary. A codec writes bytes that the server's receive function
//! turns into exactly the datum that its input function would make of the text. The server applies the modifier
//! in both cases. A row with a value in any other spelling is sent as text, by itself. If a column has no codec,
//! all rows are sent as text: their own bytes, each followed by a newline.

use crate::parse::{Field, Fields};
use crate::types::{Codec, wire};

/// An encoder for the rows of one input.
#[derive(Clone, Debug)]
pub struct Encoder {
    codecs: Vec<Codec>,
}

/// The reason why a row is not encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotEncodable {
    /// The row has too few or too many fields.
    Fields,
    /// The value in this field has a spelling that is not proven to mean the same to the server.
    Value(usize),
}

impl Encoder {
    /// Creates an encoder for rows with one field per codec.
    pub fn new(codecs: Vec<Codec>) -> Self {
        Self { codecs }
    }

    /// Returns a number of bytes that the encoding of a row of `row` bytes rarely exceeds.
    #[must_use]
    pub fn room_for(&self, row: usize) -> usize {
        row + 8 * self.codecs.len()
    }

    /// Appends `row`, whose fields are `fields`. If the row is not encodable, which leaves it to the server, a
    /// part of it may have been written.
    #[inline]
    pub fn encode(
        &self,
        row: &[u8],
        fields: &Fields,
        out: &mut Vec<u8>,
    ) -> Result<(), NotEncodable> {
        if !fields.is_exact() {
            return Err(NotEncodable::Fields);
        }
        // A table has at most 1,600 columns.
        out.extend_from_slice(&(self.codecs.len() as u16).to_be_bytes());
        let (fields, decoded) = fields.all();
        for (slot, (codec, field)) in self.codecs.iter().zip(fields).enumerate() {
            let text = match *field {
                Field::Plain(start, end) => &row[start..end],
                Field::Coded(start, end) => &decoded[start..end],
                Field::Null => {
                    wire::put_null(out);
                    continue;
                }
                // A row that is already in binary is not encoded.
                Field::Missing | Field::Binary(..) => return Err(NotEncodable::Fields),
            };
            codec.encode(text, out).ok_or(NotEncodable::Value(slot))?;
        }
        Ok(())
    }
}

/// Returns the value of a field of a row in COPY BINARY; `None` if it is NULL or does not exist.
#[must_use]
pub fn field(row: &[u8], index: usize) -> Option<&[u8]> {
    let mut rest = row.get(2..)?;
    for _ in 0..index {
        let (length, after) = rest.split_first_chunk()?;
        let length = i32::from_be_bytes(*length);
        rest = after.get(usize::try_from(length).unwrap_or(0)..)?;
    }
    let (length, after) = rest.split_first_chunk()?;
    after.get(..usize::try_from(i32::from_be_bytes(*length)).ok()?)
}

#[cfg(test)]
mod tests {
    use super::{Encoder, NotEncodable};
    use crate::format::Format;
    use crate::parse::{Fields, Parser};
    use crate::types::Codec;

    fn encoded(row: &[u8]) -> Result<Vec<u8>, NotEncodable> {
        let parser = Parser::new(&Format::csv(), vec![0, 1]);
        let (mut fields, mut out) = (Fields::default(), Vec::new());
        parser.parse(row, &mut fields);
        Encoder::new(vec![Codec::Int4, Codec::Text]).encode(row, &fields, &mut out)?;
        Ok(out)
    }

    #[test]
    fn a_row_is_its_fields_with_their_lengths() {
        assert_eq!(encoded(b"7,\"a\"\"\"").unwrap(), b"\0\x02\0\0\0\x04\0\0\0\x07\0\0\0\x02a\"");
        assert_eq!(encoded(b"-1,").unwrap(), b"\0\x02\0\0\0\x04\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF");
    }

    #[test]
    fn uncertain_values_are_left_to_the_server() {
        for row in [&b"7"[..], b"7,a,b", b"7,a,"] {
            assert_eq!(encoded(row), Err(NotEncodable::Fields), "{row:?}");
        }
        assert_eq!(encoded(b"0x7,a"), Err(NotEncodable::Value(0)));
    }
}
