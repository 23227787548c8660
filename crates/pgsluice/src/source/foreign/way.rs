//! Commands that load a foreign file, for the user to copy.

use std::path::Path;

use super::super::{FileFormat, Input};
use crate::error::{Error, Remedy, Setting, Words, option, quote_shell};

/// The next step for a foreign file.
#[derive(Clone, Copy)]
pub(super) enum Way {
    /// A program prints the text in it.
    Print(&'static str),
    /// Like [`Self::Print`], but the program cannot read standard input.
    PrintFile(&'static str),
    /// `tar` prints its members.
    Untar,
    /// A Python program, from standard input to a stream of Arrow IPC.
    Convert(&'static str),
    /// A program prints a table of the file as CSV: its words before and after the file's name.
    Query(&'static str, &'static str),
    /// `pg_restore` makes SQL of it.
    Restore,
    /// psql runs it.
    Run,
    /// psql's `\copy` reads it.
    Copy,
    /// A sentence says what to do.
    Say(&'static str),
    /// A sentence says how to get the intended file, because this one contains text. The sentence lacks its
    /// full stop.
    Fetch(&'static str),
}

/// The way in which a program gets the contents of an input.
enum Reads {
    /// From the file itself.
    File,
    /// From this command, which prints its contents.
    Pipe(String),
    /// From standard input.
    Stdin,
}

impl Way {
    /// Whether the file is text, whose lines can be rows.
    pub(super) fn is_for_text(self) -> bool {
        matches!(self, Self::Run | Self::Fetch(_))
    }

    /// Adds the command to an error. `start` is the beginning of the input.
    pub(super) fn explain(self, error: Error, input: &Input, start: &[u8]) -> Error {
        let load = |front: String, options: Vec<Setting>| {
            Remedy::programs("Load its contents", front, &input.name, options)
        };
        let remedy = match self {
            Self::Say(sentence) => return error.with_hint(sentence),
            Self::Fetch(sentence) => {
                let hint = Words::from(sentence)
                    + ". If its lines are rows, say so with "
                    + option("format")
                    + ".";
                return error.with_hint(hint);
            }
            Self::PrintFile(_) | Self::Query(..) if !matches!(input.reads(), Reads::File) => {
                return error.with_hint("Save its contents to a file, and load that file.");
            }
            Self::Print(program) => load(input.give_to(program), Vec::new()),
            Self::PrintFile(program) => {
                load(input.give_to(program), format_of(first_member(start)))
            }
            Self::Untar => load(input.give_to("tar -xOf"), format_of(start)),
            Self::Convert(program) => {
                let program = format!("python3 -c {}", quote_shell(program));
                load(input.feed_to(&program), vec![option("format").with("arrow")])
            }
            Self::Query(before, after) => {
                let front = format!("{before} {} {after}", quote_shell(&input.name));
                let options = vec![option("format").with("csv"), option("header").with("map")];
                Remedy::programs("Load one of its tables", front, &input.name, options)
            }
            Self::Restore => restore(input),
            Self::Run => {
                let lines =
                    Remedy::options("Load its lines as rows", [option("format").with("text")]);
                return error.with_remedy(run(input)).with_remedy(lines);
            }
            Self::Copy => copy(input),
        };
        error.with_remedy(remedy)
    }
}

impl Input {
    fn reads(&self) -> Reads {
        let pipe = |reader: &str| Reads::Pipe(reader.replace("{}", &quote_shell(&self.name)));
        match (self.path(), self.compressed_by()) {
            (None, _) if self.object().is_some() => pipe(&self.printed_by()),
            (None, _) => Reads::Stdin,
            (Some(_), None) => Reads::File,
            (Some(_), Some("gzip")) => pipe("zcat {}"),
            (Some(_), Some(_)) => pipe("zstdcat {}"),
        }
    }

    /// Returns the command that passes the input to a program on standard input.
    fn feed_to(&self, program: &str) -> String {
        let file = quote_shell(&self.name);
        match self.reads() {
            Reads::File => format!("{program} < {file}"),
            Reads::Pipe(reader) => format!("{reader} | {program}"),
            Reads::Stdin => program.to_owned(),
        }
    }

    /// Returns the command that passes the input to a program as an argument: the file, or `-`.
    fn give_to(&self, program: &str) -> String {
        match self.reads() {
            Reads::File => format!("{program} {}", quote_shell(&self.name)),
            _ => self.feed_to(&format!("{program} -")),
        }
    }
}

fn restore(input: &Input) -> Remedy {
    // In a directory that pg_dump wrote, the table of contents has this name.
    let folder = Path::new(&input.name).parent().filter(|_| input.name.ends_with("/toc.dat"));
    let program = match folder {
        Some(folder) => format!("pg_restore -f - {}", quote_shell(&folder.display().to_string())),
        None if matches!(input.reads(), Reads::File) => input.give_to("pg_restore -f -"),
        None => input.feed_to("pg_restore -f -"),
    };
    Remedy::psql("Restore it", format!("{program} | "), &[])
}

fn run(input: &Input) -> Remedy {
    match input.reads() {
        Reads::File => Remedy::psql("Run it", String::new(), &["-f", &input.name]),
        Reads::Pipe(reader) => Remedy::psql("Run it", format!("{reader} | "), &[]),
        Reads::Stdin => Remedy::psql("Run it", String::new(), &[]),
    }
}

fn copy(input: &Input) -> Remedy {
    let literal = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let from = match input.reads() {
        Reads::File => literal(&input.name),
        Reads::Pipe(reader) => format!("PROGRAM {}", literal(&reader)),
        Reads::Stdin => "pstdin".to_owned(),
    };
    let copy = format!("\\copy {{table}} FROM {from} (FORMAT binary)");
    Remedy::psql("Load it with psql", String::new(), &["-c", &copy])
}

/// Returns the name of the first member of a ZIP archive.
fn first_member(start: &[u8]) -> &[u8] {
    let length = start.get(26).map_or(0, |length| usize::from(*length));
    start.get(30..30 + length).unwrap_or_default()
}

/// Returns the format that the name of an archive member implies; a zero may end the name.
fn format_of(name: &[u8]) -> Vec<Setting> {
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    let format = match FileFormat::from_name(&name) {
        None if name.contains(".csv") => Some("csv"),
        format => format.map(FileFormat::name),
    };
    format.map(|format| option("format").with(format)).into_iter().collect()
}
