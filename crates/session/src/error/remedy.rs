//! Remedies for an error: options to add to the command, or a program to put in front of it. The command line
//! makes a whole command of it, which can be copied.

use pgsluice_core::words::{Setting, Words, option};

use super::printable::is_obeyed;

/// A remedy for an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// The purpose, in words.
    pub what: Words,
    /// The change.
    pub how: CommandChange,
}

/// A change of the command that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandChange {
    /// Options that replace others of the same name.
    Options(Vec<Setting>),
    /// Programs that print loadable input in place of the original.
    Filtered {
        /// The programs, with the input's name among their words.
        front: String,
        /// The input's name.
        source: String,
        /// Options for their output.
        options: Vec<Setting>,
    },
    /// A command for psql, which connects to the same server.
    Psql {
        /// Programs whose output psql reads, followed by a pipe; or empty.
        front: String,
        /// The arguments of psql.
        arguments: Vec<String>,
    },
    /// The words of `pgsluice ledger`, which connects to the same server.
    Ledger(Vec<String>),
    /// A setting of the session, by its name and value.
    Session(String, String),
    /// An environment variable with its value, and options to add.
    Variable(String, String, Vec<Setting>),
}

/// Placeholder for the name of the table.
pub const TABLE: &str = "{table}";

impl Remedy {
    /// Creates a remedy that adds options.
    pub fn options(what: impl Into<Words>, options: impl IntoIterator<Item = Setting>) -> Self {
        Self { what: what.into(), how: CommandChange::Options(options.into_iter().collect()) }
    }

    /// Creates the remedy that rounds values.
    pub fn round() -> Self {
        Self::options("To round such values", [option("round")])
    }

    /// Whether the remedy rounds values.
    pub fn rounds(&self) -> bool {
        matches!(&self.how, CommandChange::Options(options) if options == &[option("round")])
    }

    /// Creates a remedy that puts a program in front; `{}` in it stands for the name of the input.
    pub fn program(what: impl Into<Words>, program: &str, source: &str) -> Self {
        Self::programs(what, reading(program, source), source, Vec::new())
    }

    /// Creates a remedy that puts programs in front, with options for their output.
    pub fn programs(
        what: impl Into<Words>,
        front: String,
        source: &str,
        options: Vec<Setting>,
    ) -> Self {
        Self {
            what: what.into(),
            how: CommandChange::Filtered { front, source: source.to_owned(), options },
        }
    }

    /// Creates a remedy that runs psql.
    pub fn psql(what: impl Into<Words>, front: String, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Self { what: what.into(), how: CommandChange::Psql { front, arguments } }
    }

    /// Creates a remedy that runs `pgsluice ledger`.
    pub fn ledger(what: impl Into<Words>, words: &[&str]) -> Self {
        let words = words.iter().map(|&word| word.to_owned()).collect();
        Self { what: what.into(), how: CommandChange::Ledger(words) }
    }

    /// Adds an option for the output of programs in front.
    pub fn with_option(mut self, more: Setting) -> Self {
        if let CommandChange::Filtered { options, .. } = &mut self.how {
            options.push(more);
        }
        self
    }

    /// Creates a remedy that puts `filter` in front. It reads the text of the input, which the shell command
    /// `reader` prints. A filter that accepts no file names ends with `<`.
    pub fn filter(what: impl Into<Words>, filter: &str, reader: &str, source: &str) -> Self {
        let program = match reader {
            "cat {}" => format!("{filter} {{}}"),
            reader => format!("{reader} | {}", filter.trim_end_matches(" <")),
        };
        Self::program(what, &program, source)
    }

    /// Returns the change for callers without a command line.
    pub(super) fn command(&self) -> String {
        let command = match &self.how {
            CommandChange::Options(options) => settings(options),
            CommandChange::Filtered { front, options, .. } => {
                format!("{front} | pgsluice load - ... {}", settings(options))
            }
            CommandChange::Psql { front, arguments } => format!("{front}psql {}", words(arguments)),
            CommandChange::Ledger(arguments) => format!("pgsluice ledger {}", words(arguments)),
            CommandChange::Session(name, value) => {
                format!("PGOPTIONS={} pgsluice ...", quote_shell(&format!("-c {name}={value}")))
            }
            CommandChange::Variable(name, value, options) => {
                format!("{name}={} pgsluice ... {}", quote_shell(value), settings(options))
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
    words.iter().map(|word| quote_shell(word)).collect::<Vec<_>>().join(" ")
}

/// Returns the program of a pipe with the name of its input; for a stream it reads standard input.
fn reading(program: &str, source: &str) -> String {
    if is_stream(source) {
        return program.replace(" < {}", "").replace(" {}", "");
    }
    // A name that begins with a dash would be an option.
    let dash = if source.starts_with('-') { "./" } else { "" };
    program.replace("{}", &quote_shell(&format!("{dash}{source}")))
}

/// Whether the input is a stream without a name of its own: `<stdin>`, `<data>`.
pub fn is_stream(source: &str) -> bool {
    source.starts_with('<') && source.ends_with('>')
}

/// Quotes the word for a shell. Control characters are written in POSIX's `$'...'`: they can be copied from a
/// terminal, and do nothing there.
pub fn quote_shell(word: &str) -> String {
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
            assert_eq!(quote_shell(word), expected);
            let echo = format!("printf %s {expected}");
            let Ok(output) = std::process::Command::new("bash").args(["-c", &echo]).output() else {
                continue;
            };
            assert_eq!(String::from_utf8_lossy(&output.stdout), word);
        }
    }

    #[test]
    fn a_pipe_reads_the_input_by_its_name() {
        let piped = Remedy::program("Do", "tr x y < {}", "-a b");
        let piped = piped.with_option(option("format").with("csv"));
        assert_eq!(piped.command(), "tr x y < './-a b' | pgsluice load - ... --format csv");
        let of =
            |reader: &str, name: &str| Remedy::filter("Do", "tr x y <", reader, name).command();
        assert_eq!(of("gzip -dc {}", "a.gz"), "gzip -dc a.gz | tr x y | pgsluice load - ...");
        assert_eq!(of("cat {}", "<stdin>"), "tr x y | pgsluice load - ...");
    }
}
