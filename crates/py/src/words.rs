//! Options and remedies in Python's spelling: options are keywords.

use pgsluice::error::{CommandChange, Named, Remedy, Setting, TABLE, is_stream};

/// Keywords that take numbers.
const NUMBERS: [&str; 3] = ["header", "max_rejects", "max_new_partitions"];

/// The option that only `load` has.
const OF_LOAD: &str = "create-partitions";

/// A call that has failed.
pub(crate) struct Call {
    pub(crate) command: String,
    /// The keywords of the called function, if they differ from those of the command.
    pub(crate) keywords: Option<Vec<String>>,
}

impl Call {
    /// Returns a call of `load`.
    pub(crate) fn load() -> Self {
        Self { command: "load".to_owned(), keywords: None }
    }

    /// Whether the called function has all of these options.
    fn takes(&self, options: &[Setting]) -> bool {
        let is_known = |option: &Setting| {
            let known = self.keywords.as_ref();
            known.is_none_or(|known| known.contains(&option.name.replace('-', "_")))
        };
        options.iter().all(is_known)
    }
}

/// Returns an option as its keyword or as an argument of `relation()`, or a command as its function.
pub(crate) fn spell(named: &Named) -> String {
    match named {
        Named::Option(option) if option.value.is_none() => match &*option.name {
            "from-table" => "relation()".to_owned(),
            "from" => "conninfo of relation()".to_owned(),
            "where" => "where of relation()".to_owned(),
            name => name.replace('-', "_"),
        },
        Named::Option(option) => keyword(option),
        Named::Command("plan --full") => "plan(full=True)".to_owned(),
        Named::Command("pgsluice ledger list") => "pgsluice.ledger()".to_owned(),
        Named::Command(command) => (*command).to_owned(),
    }
}

/// Returns the keywords to add to a call, or a call of another function. Returns `None` for steps in a shell,
/// and for options that the called function does not have.
pub(crate) fn keywords(call: &Call, remedy: &Remedy) -> Option<String> {
    let command = &*call.command;
    match &remedy.how {
        CommandChange::Options(options) | CommandChange::Variable(_, _, options)
            if !call.takes(options) =>
        {
            None
        }
        CommandChange::Filtered { .. } if call.keywords.is_some() => None,
        CommandChange::Options(options) => Some(assign(command, options)),
        CommandChange::Session(name, value) => {
            let options = literal(&format!("-c {name}={value}"));
            Some(format!("os.environ[\"PGOPTIONS\"] = {options}"))
        }
        CommandChange::Variable(name, value, options) => {
            let variable = format!("os.environ[{}] = {}", literal(name), literal(value));
            Some(format!("{variable}, and {}", assign(command, options)))
        }
        CommandChange::Filtered { front, source, options } => pipe(front, source, options),
        CommandChange::Psql { .. } | CommandChange::Ledger(_) => None,
    }
}

/// Writes a call that loads the output of a program instead of the file that it reads.
fn pipe(front: &str, source: &str, options: &[Setting]) -> Option<String> {
    if is_stream(source) || front.contains(TABLE) {
        return None;
    }
    let command = literal(front);
    let output = format!("subprocess.Popen({command}, shell=True, stdout=subprocess.PIPE).stdout");
    let words = assign("load", options);
    let more = if words.is_empty() { words } else { format!(", {words}") };
    Some(format!("pgsluice.load({output}, ...{more})"))
}

/// Writes options as keywords.
fn assign(command: &str, options: &[Setting]) -> String {
    let words = options.iter().map(keyword).collect::<Vec<_>>().join(", ");
    match command != "load" && options.iter().any(|option| option.name == OF_LOAD) {
        true => format!("pgsluice.load(..., {words})"),
        false => words,
    }
}

/// Writes an option as a keyword with its value.
fn keyword(option: &Setting) -> String {
    let name = option.name.replace('-', "_");
    match option.value.as_deref() {
        None => format!("{name}=True"),
        Some(number) if NUMBERS.contains(&&*name) && number.parse::<u64>().is_ok() => {
            format!("{name}={number}")
        }
        Some(pair) if name == "map" => format!("{name}={}", dictionary(pair)),
        Some(text) => format!("{name}={}", literal(text)),
    }
}

/// Writes a pair `NAME=COLUMN` as a dictionary, with the column unquoted.
fn dictionary(pair: &str) -> String {
    let (name, column) = pair.rsplit_once('=').unwrap_or((pair, ""));
    let inner = column.strip_prefix('"').and_then(|column| column.strip_suffix('"'));
    let column = inner.map_or_else(|| column.to_owned(), |inner| inner.replace("\"\"", "\""));
    format!("{{{}: {}}}", literal(name), literal(&column))
}

/// Writes a string as a Python literal.
fn literal(text: &str) -> String {
    let escaped = text.chars().map(|c| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() && u32::from(c) < 0x100 => format!("\\x{:02x}", u32::from(c)),
        c => c.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}
