//! Projection: keeps some of the fields of a row, unchanged.

use super::Parser;
use crate::format::{Format, Syntax};

/// A selection of the fields of each row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection {
    parser: Parser,
    /// Whether each field of a complete row is kept.
    selected: Vec<bool>,
    /// Number of fields that are kept.
    whole: usize,
}

impl Projection {
    /// Creates a projection of the rows that `parser` reads, given whether each field is kept. At least one must
    /// be.
    pub fn new(parser: Parser, selected: Vec<bool>) -> Self {
        debug_assert!(selected.contains(&true));
        let whole = selected.iter().filter(|selected| **selected).count();
        Self { parser, selected, whole }
    }

    /// Appends the kept fields of `row`.
    ///
    /// A row with too few or too many fields results in another number of fields than are kept, so that the
    /// server rejects it as it would have rejected the original.
    pub fn project(&self, row: &[u8], out: &mut Vec<u8>) {
        let begin = out.len();
        let (mut next, mut read, mut count, mut last) = (Some(0), 0, 0, begin);
        while let Some(start) = next {
            let (_, after) = self.parser.field(row, start);
            if self.selected.get(read).is_none_or(|selected| *selected) {
                last = out.len();
                if count > 0 {
                    out.push(self.parser.format.delimiter);
                }
                out.extend_from_slice(&row[start..after.map_or(row.len(), |after| after - 1)]);
                count += 1;
            }
            read += 1;
            next = after;
        }
        let is_whole = count.max(1) == self.whole && read >= self.selected.len();
        match count.max(1) == self.whole {
            true if is_whole => {}
            true if self.whole == 1 => out.push(self.parser.format.delimiter),
            true => out.truncate(last),
            false => {}
        }
        if out[begin..] == *b"\\." {
            self.hide_marker(begin, is_whole, out);
        }
    }

    /// Quotes `\.` if it is a whole row in CSV, because it may end the data. `is_whole` says whether the
    /// original row has the right number of fields.
    fn hide_marker(&self, begin: usize, is_whole: bool, out: &mut Vec<u8>) {
        let Format { delimiter, null, syntax } = &self.parser.format;
        let Syntax::Csv { quote, escape, .. } = *syntax else { return };
        // Range of the field that is not empty.
        let field = match delimiter {
            b'.' => begin..begin + 1,
            b'\\' => begin + 1..begin + 2,
            _ => begin..begin + 2,
        };
        if !is_whole || out[field.clone()] == **null {
            // The server will reject the row; NULL has no other spelling that would not end the data.
            out.truncate(begin);
            return out.extend(std::iter::repeat_n(*delimiter, self.whole));
        }
        let mut quoted = vec![quote];
        for &byte in &out[field.clone()] {
            quoted.extend((byte == escape).then_some(escape));
            quoted.push(byte);
        }
        quoted.push(quote);
        out.splice(field, quoted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(format: &Format, selected: &[bool], row: &str) -> String {
        let projection = Projection::new(Parser::new(format, Vec::new()), selected.to_vec());
        let mut out = b"before ".to_vec();
        projection.project(row.as_bytes(), &mut out);
        String::from_utf8(out).expect("text").strip_prefix("before ").expect("it").to_owned()
    }

    #[test]
    fn fields_keep_their_spelling() {
        let csv = |row: &str| project(&Format::csv(), &[true, false, true], row);
        assert_eq!(csv("a,b,c"), "a,c");
        assert_eq!(csv("\"a\"\"1\",\"b,\n\",\" c\""), "\"a\"\"1\",\" c\"");
        assert_eq!(csv(",,"), ",");
        let text = |row: &str| project(&Format::text(), &[false, true, true], row);
        assert_eq!(text("x\ta\\\tb\t\\N"), "a\\\tb\t\\N");
    }

    #[test]
    fn rows_with_another_number_of_fields_have_one_afterwards() {
        let fields = |selected: &[bool], row: &str| {
            let row = project(&Format::csv(), selected, row);
            Parser::new(&Format::csv(), Vec::new()).all(row.as_bytes()).len()
        };
        for selected in [[true, true, false], [true, false, true], [false, true, true]] {
            assert_eq!(fields(&selected, "1,2,3"), 2);
            for row in ["1,2", "1", "", "1,2,3,4"] {
                assert_ne!(fields(&selected, row), 2, "{selected:?} {row}");
            }
        }
        for selected in [[true, false], [false, true]] {
            assert_eq!(fields(&selected, "1,2"), 1);
            assert_ne!(fields(&selected, "1,2,3"), 1);
        }
        assert_ne!(fields(&[true, false], "1"), 1);
        // Nothing is left of the row, and an empty row is one field.
        assert_ne!(fields(&[false, true], "1"), 1);
    }

    #[test]
    fn no_end_of_the_data_comes_of_a_field() {
        assert_eq!(project(&Format::csv(), &[false, true], "1,\\."), "\"\\.\"");
        let dotted = Format { delimiter: b'.', ..Format::csv() };
        assert_eq!(project(&dotted, &[true, false, true], "\\.1."), "\"\\\".");
        let null = Format { null: b"\\.".to_vec(), ..Format::csv() };
        assert_eq!(project(&null, &[false, true], "1,\\."), ",");
    }
}
