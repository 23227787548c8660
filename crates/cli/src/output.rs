//! Output: data goes to stdout, messages go to stderr. It is not an error if the reader is gone.

use std::io::{self, IsTerminal, Write};

pub(crate) use pgsluice::counts::words::{count, group_digits};
use pgsluice::error::printable;
use pgsluice::{Error, Kind, Result};
use serde::Serialize;

use crate::conceal::conceal;

/// Writes a message to stderr, with the program's name in front.
pub(crate) fn say(message: &str) {
    let _ = writeln!(io::stderr(), "pgsluice: {}", printable(message));
}

/// Writes the output of clap: help unchanged, an error with the program's name in front.
pub(crate) fn print_usage(error: &clap::Error) {
    if !error.use_stderr() {
        let _ = error.print();
        return;
    }
    let text = error.to_string();
    let concealed = conceal(&text);
    let shown = printable(&concealed);
    let mut stderr = io::stderr();
    let _ = match shown == text && stderr.is_terminal() {
        true => write!(stderr, "pgsluice: {}", error.render().ansi()),
        false => write!(stderr, "pgsluice: {shown}"),
    };
}

/// Writes one JSON value to stdout, unescaped.
pub(crate) fn print_json(value: &impl Serialize) -> Result<()> {
    let json = serde_json::to_string(value)
        .map_err(|error| Error::new(Kind::Internal, format!("could not write JSON: {error}")))?;
    write_line(&json)
}

/// Writes lines of text to stdout. Their control characters are escaped, because they may contain foreign
/// names.
pub(crate) fn print(data: &str) -> Result<()> {
    write_line(&printable(data))
}

fn write_line(line: &str) -> Result<()> {
    match writeln!(io::stdout(), "{line}") {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let message = format!("could not write to standard output: {error}");
            Err(Error::new(Kind::Input, message))
        }
        _ => Ok(()),
    }
}

/// Formats a number of bytes with binary units: `12 MiB`.
pub(crate) fn bytes(number: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut value = number as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = usize::from(unit > 0 && value < 10.0);
    format!("{value:.decimals$} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!(bytes(1023), "1023 bytes");
        assert_eq!(bytes(9 << 20), "9.0 MiB");
        assert_eq!(bytes(488 << 20), "488 MiB");
    }
}
