//! The syntax of an input: COPY's options, with PostgreSQL's checks.
//!
//! The rules and their messages follow `ProcessCopyOptions` in `src/backend/commands/copy.c` (PostgreSQL 18), so
//! that an option rejected here is one that the server would reject.

/// The format of the fields of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// The byte between two fields.
    pub delimiter: u8,
    /// Spelling of NULL.
    pub null: Vec<u8>,
    /// The text format, of the two that COPY has.
    pub syntax: Syntax,
}

/// COPY's text formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// `FORMAT text`: backslash escapes, ended by `\.` or the end of the input.
    Text,
    /// `FORMAT csv`.
    Csv {
        /// The byte around a quoted field.
        quote: u8,
        /// The byte before a quote inside a quoted field.
        escape: u8,
        /// Whether an unquoted line `\.` ends the input, as it does before PostgreSQL 18.
        end_marker: bool,
    },
}

/// The message for a combination of options that PostgreSQL rejects, in its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidFormat(pub String);

impl Format {
    /// Returns `FORMAT text` with PostgreSQL's defaults: tab and `\N`.
    pub fn text() -> Self {
        Self { delimiter: b'\t', null: b"\\N".to_vec(), syntax: Syntax::Text }
    }

    /// Returns `FORMAT csv` with PostgreSQL's defaults: comma, the empty string, double quotes.
    pub fn csv() -> Self {
        let syntax = Syntax::Csv { quote: b'"', escape: b'"', end_marker: false };
        Self { delimiter: b',', null: Vec::new(), syntax }
    }

    /// Checks the options like `ProcessCopyOptions`.
    pub fn check(&self) -> Result<(), InvalidFormat> {
        let refuse = |message: &str| Err(InvalidFormat(message.to_owned()));
        if matches!(self.delimiter, b'\n' | b'\r') {
            return refuse("COPY delimiter cannot be newline or carriage return");
        }
        if self.null.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
            return refuse("COPY null representation cannot use newline or carriage return");
        }
        match self.syntax {
            Syntax::Text => {
                if b"\\.abcdefghijklmnopqrstuvwxyz0123456789".contains(&self.delimiter) {
                    let delimiter = char::from(self.delimiter);
                    return refuse(&format!("COPY delimiter cannot be \"{delimiter}\""));
                }
            }
            Syntax::Csv { quote, escape, .. } => {
                if [quote, escape].iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
                    return refuse("COPY quote and escape cannot be newline or carriage return");
                }
                if self.delimiter == quote {
                    return refuse("COPY delimiter and quote must be different");
                }
                if self.null.contains(&quote) {
                    return refuse("CSV quote character must not appear in the NULL specification");
                }
            }
        }
        if self.null.contains(&self.delimiter) {
            return refuse("COPY delimiter character must not appear in the NULL specification");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_postgresqls() {
        assert_eq!(Format::text().check(), Ok(()));
        assert_eq!(Format::csv().check(), Ok(()));
    }

    #[test]
    fn refuses_in_postgresqls_words() {
        let with = |delimiter, null: &str, mut format: Format| {
            format.delimiter = delimiter;
            format.null = null.into();
            format.check().expect_err("refused").0
        };
        assert_eq!(with(b'a', "", Format::text()), "COPY delimiter cannot be \"a\"");
        assert_eq!(with(b'"', "", Format::csv()), "COPY delimiter and quote must be different");
        assert!(with(b'|', "a|b", Format::text()).ends_with("appear in the NULL specification"));
        assert!(with(b',', "\"", Format::csv()).starts_with("CSV quote character"));
    }
}
