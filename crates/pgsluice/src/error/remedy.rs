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
}

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

    /// The line of the hint, for who has no command line.
    pub(super) fn line(&self) -> String {
        let Self { what, how } = self;
        match how {
            How::Options(options) => {
                let words: Vec<String> = options.iter().map(|word| quoted(word)).collect();
                format!("{what}: {}", words.join(" "))
            }
            How::Piped { program, source } => {
                format!("{what}: {program} {} | pgsluice load - ...", quoted(source))
            }
        }
    }
}

/// The word as a shell reads it.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
