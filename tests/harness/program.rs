//! The program as a process.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::{Ended, PATIENCE};

/// Returns a command for the program, or for the one that `PGSLUICE_BIN` names.
pub(crate) fn program() -> Command {
    let program = std::env::var_os("PGSLUICE_BIN");
    let mut command =
        Command::new(program.unwrap_or_else(|| env!("CARGO_BIN_EXE_pgsluice").into()));
    command.env("PGSLUICE_SMALL_ROWS", "299");
    command
}

/// A running process of the program.
pub(crate) struct Running {
    pub(crate) child: Child,
    began: Instant,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Self { child, began: Instant::now() }
    }

    /// Writes to its standard input. A program that has ended reads nothing.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        let _ = self.child.stdin.as_mut().unwrap().write_all(bytes);
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    /// Kills the process.
    pub(crate) fn kill(self) -> Ended {
        self.kill_after(Duration::ZERO)
    }

    /// Kills the process after `moment`.
    pub(crate) fn kill_after(mut self, moment: Duration) -> Ended {
        thread::sleep(moment);
        self.child.kill().unwrap();
        self.ended_within(moment + PATIENCE)
    }

    /// Kills the process once `is_due`, unless it has ended before.
    pub(crate) fn kill_when(mut self, mut is_due: impl FnMut() -> bool) -> Ended {
        while self.child.try_wait().unwrap().is_none() && !is_due() {
            thread::sleep(Duration::from_millis(1));
        }
        self.child.kill().unwrap();
        let moment = self.began.elapsed();
        self.ended_within(moment + PATIENCE)
    }

    /// Waits until the process ends, which must happen in time.
    pub(crate) fn ended(self) -> Ended {
        self.ended_within(PATIENCE)
    }

    /// Waits longer than [`Self::ended`] does.
    pub(crate) fn ended_within(mut self, patience: Duration) -> Ended {
        let out = read(self.child.stdout.take());
        let err = read(self.child.stderr.take());
        let deadline = self.began + patience;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > deadline {
                self.child.kill().unwrap();
                panic!("the program hangs: {}", err.join().unwrap());
            }
            thread::sleep(Duration::from_millis(5));
        };
        Ended { status, stdout: out.join().unwrap(), stderr: err.join().unwrap() }
    }
}

fn read(stream: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    let mut stream = stream.unwrap();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
