//! Values within arrays and records as text for the type's input function, like `populate_record_field` in
//! `jsonfuncs.c` (PostgreSQL 13 to 18).

use crate::refused::RefusedLine;
use crate::shape::ValueShape;
use crate::string::{self, Plain};

/// Buffers for literals, reused from row to row.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiteralBuffer {
    /// The text written so far.
    pub(crate) text: Vec<u8>,
    /// Positions in the line of the values of the records being written.
    pub(crate) members: Vec<Option<(usize, usize)>>,
}

impl LiteralBuffer {
    /// Appends the text of `value`, a valid part of `line`. Returns false for NULL, which has no text.
    pub(crate) fn put(
        &mut self,
        line: &str,
        shape: &ValueShape,
        value: &str,
    ) -> Result<bool, RefusedLine> {
        match (value.as_bytes().first(), shape) {
            (Some(b'n'), _) => return Ok(false),
            (Some(b'"'), ValueShape::Json) => self.put_json_string(line, value)?,
            (Some(b'"'), _) => {
                string::unescape::<Plain>(line, string::inner(value), &mut self.text)?;
            }
            (_, ValueShape::Scalar | ValueShape::Json) => {
                self.text.extend_from_slice(value.as_bytes())
            }
            (_, ValueShape::Array { delimiter, element }) => {
                self.put_array(line, *delimiter, element, value)?;
            }
            (_, ValueShape::Composite(columns)) => self.put_record(line, columns, value)?,
        }
        Ok(true)
    }

    /// Appends a string, unescaped and escaped again, as the server does in `populate_scalar`.
    fn put_json_string(&mut self, line: &str, value: &str) -> Result<(), RefusedLine> {
        if string::is_plain(value) {
            self.text.extend_from_slice(value.as_bytes());
            return Ok(());
        }
        let mut text = Vec::new();
        string::unescape::<Plain>(line, string::inner(value), &mut text)?;
        string::put_json(&text, &mut self.text);
        Ok(())
    }

    /// Quotes the text from `start` on, if an array or a record requires it. Both accept quotes around any
    /// value.
    pub(crate) fn quote(&mut self, start: usize, delimiter: u8) {
        let value = &self.text[start..];
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.:_".contains(&byte);
        if !value.is_empty()
            && value.iter().all(|&byte| is_plain(byte) && byte != delimiter)
            && !value.eq_ignore_ascii_case(b"null")
        {
            return;
        }
        let is_special = |byte: &u8| matches!(byte, b'"' | b'\\');
        let specials = value.iter().filter(|byte| is_special(byte)).count();
        // Backwards: each byte is read before another one overwrites it.
        let mut from = self.text.len();
        self.text.resize(from + specials + 2, b'"');
        let mut to = self.text.len() - 1;
        while from > start {
            from -= 1;
            to -= 1;
            let byte = self.text[from];
            self.text[to] = byte;
            if is_special(&byte) {
                to -= 1;
                self.text[to] = b'\\';
            }
        }
        self.text[start] = b'"';
    }
}

#[cfg(test)]
mod tests {
    use super::LiteralBuffer;
    use crate::shape::ValueShape;

    #[test]
    fn quotes_stand_where_they_must() {
        for (value, quoted) in [
            ("", "\"\""),
            ("a1", "a1"),
            ("-1.5e+10", "-1.5e+10"),
            ("NuLL", "\"NuLL\""),
            ("nulls", "nulls"),
            ("a b", "\"a b\""),
            ("é", "\"é\""),
            ("1;2", "\"1;2\""),
            ("\"\\", "\"\\\"\\\\\""),
            ("a\"b\\c", "\"a\\\"b\\\\c\""),
        ] {
            let mut literals = LiteralBuffer::default();
            literals.text.extend(format!("before{value}").as_bytes());
            literals.quote(6, b',');
            assert_eq!(String::from_utf8_lossy(&literals.text), format!("before{quoted}"));
        }
    }

    #[test]
    fn a_string_onto_json_is_written_again() {
        for (value, written) in [
            (r#""a""#, r#""a""#),
            (r#""\u0041\/\"""#, r#""A/\"""#),
            (r#"[ "\u0041" ]"#, r#"[ "\u0041" ]"#),
        ] {
            let mut literals = LiteralBuffer::default();
            assert_eq!(literals.put(value, &ValueShape::Json, value), Ok(true));
            assert_eq!(String::from_utf8_lossy(&literals.text), written);
        }
    }
}
