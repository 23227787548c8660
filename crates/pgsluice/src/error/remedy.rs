//! What to type after an error: options to add to the same command, or a program to put in front of it. The
//! command line makes a whole command of it, which can be copied.

/// A way out of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// What it is for, in words.
    pub what: String,
    /// What to change of the command.
    pub how: How,
}

/// What to change of the command that has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// Options, each in front of its value; they count in place of those of the same name.
    Options(Vec<String>),
    /// A program that reads the input and writes what can be loaded.
    Piped {
        /// The program with its options.
        program: String,
        /// The input's name.
        source: String,
    },
    /// Programs that print what can be loaded in place of the input.
    Filtered {
        /// The programs, with the input's name among their words.
        front: String,
        /// The input's name.
        source: String,
        /// Options for what they print.
        options: Vec<String>,
    },
    /// A command for psql, which connects to the same server.
    Psql {
        /// Programs whose output it reads, with a pipe behind them, or nothing.
        front: String,
        /// Its arguments.
        arguments: Vec<String>,
    },
}

/// Stands for the name of the table.
pub const TABLE: &str = "{table}";

impl Remedy {
    /// Options to add.
    pub(crate) fn options(
        what: impl Into<String>,
        options: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let options = options.into_iter().map(Into::into).collect();
        Self { what: what.into(), how: How::Options(options) }
    }

    /// A program to put in front.
    pub(crate) fn piped(what: impl Into<String>, program: &str, source: &str) -> Self {
        let (program, source) = (program.to_owned(), source.to_owned());
        Self { what: what.into(), how: How::Piped { program, source } }
    }

    /// Programs to put in front, and options for what they print.
    pub(crate) fn filtered(
        what: impl Into<String>,
        front: String,
        source: &str,
        options: &[&str],
    ) -> Self {
        let options = options.iter().map(|&option| option.to_owned()).collect();
        Self { what: what.into(), how: How::Filtered { front, source: source.to_owned(), options } }
    }

    /// A command of psql.
    pub(crate) fn psql(what: impl Into<String>, front: String, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Self { what: what.into(), how: How::Psql { front, arguments } }
    }

    /// The line of the hint, for who has no command line.
    pub(super) fn line(&self) -> String {
        let Self { what, how } = self;
        match how {
            How::Options(options) => {
                format!("{what}: {}", words(options))
            }
            How::Piped { program, source } => {
                format!("{what}: {program} {} | pgsluice load - ...", quoted(source))
            }
            How::Filtered { front, options, .. } => {
                let line = format!("{what}: {front} | pgsluice load - ... {}", words(options));
                line.trim_end().replace(TABLE, "TABLE")
            }
            How::Psql { front, arguments } => {
                let line = format!("{what}: {front}psql {}", words(arguments));
                line.trim_end().replace(TABLE, "TABLE")
            }
        }
    }
}

/// Quotes words for a shell.
fn words(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// The word as a shell reads it.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
