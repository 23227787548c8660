//! Passwords that are typed on the terminal.

use std::fs::File;
use std::io;

use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};
use pgsluice::{Error, Kind, Result};

/// Reads a password from the terminal, with psql's prompt. As in psql, the echo is off before the prompt
/// appears.
pub(crate) fn ask(user: Option<&str>) -> Result<String> {
    let prompt = match user {
        Some(user) => format!("Password for user {user}: "),
        None => "Password: ".to_owned(),
    };
    read(&prompt).map_err(|error| {
        Error::new(Kind::Usage, format!("could not read a password from the terminal: {error}"))
            .with_hint("Set PGPASSWORD, or add the password to ~/.pgpass.")
    })
}

fn read(prompt: &str) -> io::Result<String> {
    // rpassword prints the prompt before it turns the echo off.
    let _hidden = Hidden::begin()?;
    rpassword::prompt_password(prompt)
}

/// A guard that keeps the terminal's echo off.
struct Hidden {
    terminal: File,
    before: Termios,
}

impl Hidden {
    fn begin() -> io::Result<Self> {
        let terminal = File::open("/dev/tty")?;
        let before = tcgetattr(&terminal)?;
        let mut hidden = before.clone();
        hidden.local_flags.remove(LocalFlags::ECHO);
        tcsetattr(&terminal, SetArg::TCSAFLUSH, &hidden)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        // A failure cannot be handled here.
        let _ = tcsetattr(&self.terminal, SetArg::TCSANOW, &self.before);
    }
}
