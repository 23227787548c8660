//! What to type after an error: options to add to the same command, or a program to put in front of it. The
//! command line makes a whole command of it, which can be copied.

use pgsluice_core::words::{Setting, Words, option};

use super::printable::is_obeyed;

/// A way out of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// What it is for, in words.
    pub what: Words,
    /// What to change of the command.
    pub how: How,
}

/// What to change of the command that has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// Options, in place of others of the same name.
    Options(Vec<Setting>),
    /// Programs that print what can be loaded in place of the input.
    Filtered {
        /// The programs, with the input's name among their words.
        front: String,
        /// The input's name.
        source: String,
        /// Options for what they print.
        options: Vec<Setting>,
    },
    /// A command for psql, which connects to the same server.
    Psql {
        /// Programs whose output it reads, with a pipe behind them, or nothing.
        front: String,
        /// Its arguments.
        arguments: Vec<String>,
    },
    /// The words of `pgsluice ledger`, which connects to the same server.
    Ledger(Vec<String>),
    /// A setting of the session, by its name and value.
    Session(String, String),
    /// A variable of the environment with its value, and options to add.
    Variable(String, String, Vec<Setting>),
}

/// Stands for the name of the table.
pub const TABLE: &str = "{table}";

impl Remedy {
    /// Returns options to add.
    pub fn options(what: impl Into<Words>, options: impl IntoIterator<Item = Setting>) -> Self {
        Self { what: what.into(), how: How::Options(options.into_iter().collect()) }
    }

    /// Returns the way out that rounds values.
    pub fn round() -> Self {
        Self::options("To round such values", [option("round")])
    }

    /// Whether it rounds values.
    pub fn rounds(&self) -> bool {
        matches!(&self.how, How::Options(options) if options == &[option("round")])
    }

    /// Returns a program to put in front, in which `{}` stands for the name of the input.
    pub fn piped(what: impl Into<Words>, program: &str, source: &str) -> Self {
        Self::filtered(what, reading(program, source), source, Vec::new())
    }

    /// Returns programs to put in front, and options for what they print.
    pub fn filtered(
        what: impl Into<Words>,
        front: String,
        source: &str,
        options: Vec<Setting>,
    ) -> Self {
        Self { what: what.into(), how: How::Filtered { front, source: source.to_owned(), options } }
    }

    /// Returns a command of psql.
    pub fn psql(what: impl Into<Words>, front: String, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Self { what: what.into(), how: How::Psql { front, arguments } }
    }

    /// Returns a command of `pgsluice ledger`.
    pub fn ledger(what: impl Into<Words>, words: &[&str]) -> Self {
        let words = words.iter().map(|&word| word.to_owned()).collect();
        Self { what: what.into(), how: How::Ledger(words) }
    }

    /// Adds an option to programs that stand in front.
    pub fn with_option(mut self, more: Setting) -> Self {
        if let How::Filtered { options, .. } = &mut self.how {
            options.push(more);
        }
        self
    }

    /// Returns a program to put in front that reads the text of an input, which `reader` prints for a shell. One that
    /// takes no names of files ends with `<`.
    pub fn filter(what: impl Into<Words>, filter: &str, reader: &str, source: &str) -> Self {
        let program = match reader {
            "cat {}" => format!("{filter} {{}}"),
            reader => format!("{reader} | {}", filter.trim_end_matches(" <")),
        };
        Self::piped(what, &program, source)
    }

    /// Returns the change for callers that have no command line.
    pub(super) fn command(&self) -> String {
        let command = match &self.how {
            How::Options(options) => settings(options),
            How::Filtered { front, options, .. } => {
                format!("{front} | pgsluice load - ... {}", settings(options))
            }
            How::Psql { front, arguments } => format!("{front}psql {}", words(arguments)),
            How::Ledger(arguments) => format!("pgsluice ledger {}", words(arguments)),
            How::Session(name, value) => {
                format!("PGOPTIONS={} pgsluice ...", quoted(&format!("-c {name}={value}")))
            }
            How::Variable(name, value, options) => {
                format!("{name}={} pgsluice ... {}", quoted(value), settings(options))
            }
        };
        command.trim_end().replace(TABLE, "TABLE")
    }
}

/// Writes options for a shell.
fn settings(options: &[Setting]) -> String {
    words(&options.iter().flat_map(Setting::words).collect::<Vec<_>>())
}

/// Quotes words for a shell.
fn words(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// Returns the program of a pipe with the name of its input; of a stream it reads standard input.
fn reading(program: &str, source: &str) -> String {
    if is_stream(source) {
        return program.replace(" < {}", "").replace(" {}", "");
    }
    // A name that begins with a dash would be an option.
    let dash = if source.starts_with('-') { "./" } else { "" };
    program.replace("{}", &quoted(&format!("{dash}{source}")))
}

/// Whether the input has no name of its own: `<stdin>`, `<data>`.
pub fn is_stream(source: &str) -> bool {
    source.starts_with('<') && source.ends_with('>')
}

/// Returns the word as a shell reads it. Control characters are written as POSIX's `$'...'` has them: they can be
/// copied from a terminal, and do nothing there.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    if !word.contains(is_obeyed) {
        return format!("'{}'", word.replace('\'', "'\\''"));
    }
    let escaped = word.chars().map(|c| match c {
        '\n' => "\\n".to_owned(),
        '\'' | '\\' => format!("\\{c}"),
        c if is_obeyed(c) => {
            let mut utf8 = [0; 4];
            c.encode_utf8(&mut utf8).bytes().map(|byte| format!("\\{byte:03o}")).collect()
        }
        c => c.to_string(),
    });
    format!("$'{}'", escaped.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_back_by_a_shell() {
        for (word, expected) in [
            ("a.csv", r"a.csv"),
            ("", r"''"),
            ("$(x) 'y'", r"'$(x) '\''y'\'''"),
            ("\u{1}", r"$'\001'"),
            ("n\n'l\\\t\u{9b}", r"$'n\n\'l\\\011\302\233'"),
        ] {
            assert_eq!(quoted(word), expected);
            let echo = format!("printf %s {expected}");
            let Ok(output) = std::process::Command::new("bash").args(["-c", &echo]).output() else {
                continue;
            };
            assert_eq!(String::from_utf8_lossy(&output.stdout), word);
        }
    }

    #[test]
    fn a_pipe_reads_the_input_by_its_name() {
        let piped = Remedy::piped("Do", "tr x y < {}", "-a b");
        let piped = piped.with_option(option("format").of("csv"));
        assert_eq!(piped.command(), "tr x y < './-a b' | pgsluice load - ... --format csv");
        let of =
            |reader: &str, name: &str| Remedy::filter("Do", "tr x y <", reader, name).command();
        assert_eq!(of("gzip -dc {}", "a.gz"), "gzip -dc a.gz | tr x y | pgsluice load - ...");
        assert_eq!(of("cat {}", "<stdin>"), "tr x y | pgsluice load - ...");
    }
}
