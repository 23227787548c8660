//! stdout is data, stderr is for people. A reader that has gone away is no error.

use std::io::{self, Write};

use pgsluice::Result;

use crate::conceal::conceal;

/// Writes a message to stderr, with the program's name in front.
pub(crate) fn say(message: &str) {
    let _ = writeln!(io::stderr(), "pgsluice: {message}");
}

/// Writes what clap has to say, in colours if there is nothing to conceal.
pub(crate) fn print_usage(error: &clap::Error) {
    let text = error.to_string();
    let shown = conceal(&text);
    let _ = if shown == text { error.print() } else { write!(io::stderr(), "{shown}") };
}

/// Writes lines of data to stdout.
pub(crate) fn print(data: &str) -> Result<()> {
    match writeln!(io::stdout(), "{data}") {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let message = format!("could not write to standard output: {error}");
            Err(pgsluice::Error::new(pgsluice::Kind::Input, message))
        }
        _ => Ok(()),
    }
}

/// A number with commas between thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of bytes in PostgreSQL's units, which are powers of two: `12 MB`.
pub(crate) fn bytes(number: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "kB", "MB", "GB", "TB"];
    let mut value = number as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = usize::from(unit > 0 && value < 10.0);
    format!("{value:.decimals$} {}", UNITS[unit])
}

/// `one` or `many` with the number before it.
pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!(["0", "999", "1,000", "1,234,567"], [0, 999, 1000, 1_234_567].map(grouped));
        assert_eq!(bytes(1023), "1023 bytes");
        assert_eq!(bytes(9 << 20), "9.0 MB");
        assert_eq!(bytes(488 << 20), "488 MB");
        assert_eq!(count(1, "row", "rows"), "1 row");
    }
}
