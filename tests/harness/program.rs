//! The program as a process.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::{Ended, PATIENCE};

/// The program, or another that `PGSLUICE_BIN` names in its place.
pub(crate) fn program() -> Command {
    let program = std::env::var_os("PGSLUICE_BIN");
    let mut command =
        Command::new(program.unwrap_or_else(|| env!("CARGO_BIN_EXE_pgsluice").into()));
    command.env("PGSLUICE_SMALL_ROWS", "299");
    command
}

/// The program at work.
pub(crate) struct Running {
    pub(crate) child: Child,
    began: Instant,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Self { child, began: Instant::now() }
    }

    /// Writes to its standard input; a program that has ended reads nothing.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        let _ = self.child.stdin.as_mut().unwrap().write_all(bytes);
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    /// Kills it, whatever it is at.
    pub(crate) fn kill(self) -> Ended {
        self.kill_after(Duration::ZERO)
    }

    /// The same when it has had so long.
    pub(crate) fn kill_after(mut self, moment: Duration) -> Ended {
        thread::sleep(moment);
        self.child.kill().unwrap();
        self.ended_within(moment + PATIENCE)
    }

    /// The same when it is due, unless it has come to its end before.
    pub(crate) fn kill_when(mut self, mut is_due: impl FnMut() -> bool) -> Ended {
        while self.child.try_wait().unwrap().is_none() && !is_due() {
            thread::sleep(Duration::from_millis(1));
        }
        self.child.kill().unwrap();
        let moment = self.began.elapsed();
        self.ended_within(moment + PATIENCE)
    }

    /// Waits for the end, which must come.
    pub(crate) fn ended(self) -> Ended {
        self.ended_within(PATIENCE)
    }

    /// The same of one that may take longer than others.
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
