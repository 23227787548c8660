//! Bytes as a sequence of decisions, which both proptest and the fuzzer can generate, shrink and mutate, so
//! that one property serves both. When the bytes are used up, every decision is the first option.

use pgsluice_core::format::{Format, Syntax};

/// The remaining bytes.
pub struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    /// Creates the decisions that `bytes` encode.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whether there are bytes left.
    pub fn left(&self) -> bool {
        !self.0.is_empty()
    }

    /// Returns any byte.
    pub fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// Returns a number below `end`, which is at most 256.
    pub fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end
    }

    /// Returns true once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == times - 1
    }

    /// Returns one of `items`.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// Returns COPY text with any options that PostgreSQL allows.
    pub fn text_format(&mut self) -> Format {
        let format = Format {
            delimiter: self.pick(b"\t,|N\xFF\"'"),
            null: self.null(b"\\N\\a,|"),
            syntax: Syntax::Text,
        };
        if format.check().is_ok() { format } else { Format::text() }
    }

    /// Returns CSV with any options that PostgreSQL allows.
    pub fn csv_format(&mut self) -> Format {
        let syntax = Syntax::Csv {
            quote: self.pick(b"\"'\\q|."),
            escape: self.pick(b"\"'\\q|,."),
            end_marker: self.once_in(2),
        };
        let format =
            Format { delimiter: self.pick(b",|\t\\.\xFF\"'"), null: self.null(b"\\N.a|"), syntax };
        if format.check().is_ok() { format } else { Format { syntax, ..Format::csv() } }
    }

    fn null(&mut self, alphabet: &[u8]) -> Vec<u8> {
        (0..self.below(4)).map(|_| self.pick(alphabet)).collect()
    }

    /// Returns the remaining bytes as an input: unchanged, or each replaced by a byte with a meaning in `format`.
    pub fn input(&mut self, format: &Format) -> Vec<u8> {
        let raw = self.once_in(4);
        let bytes = std::mem::take(&mut self.0);
        if raw {
            return bytes.to_vec();
        }
        let mut alphabet = b"\n\r\\\\.a017xN".to_vec();
        alphabet.extend([format.delimiter, format.delimiter]);
        if let Syntax::Csv { quote, escape, .. } = format.syntax {
            alphabet.extend([quote, quote, escape]);
        }
        alphabet.extend(&format.null);
        bytes.iter().map(|&byte| alphabet[usize::from(byte) % alphabet.len()]).collect()
    }
}
