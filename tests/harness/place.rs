//! A private server that can be stopped, killed and configured. It stops when the test ends, even if the test fails.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

use super::Server;

/// A data home with one server, and methods to run the program on it.
pub(crate) struct Place {
    pub(crate) directory: TempDir,
    pub(crate) program: PathBuf,
    pub(crate) bin: PathBuf,
    pub(crate) uid: Option<u32>,
}

impl Place {
    /// Creates a place for a server of this version.
    pub(crate) fn new(server: Server) -> Self {
        let directory = tempfile::Builder::new().prefix("pgsluice-test").tempdir().unwrap();
        // As root, the server runs as another user, who needs access to the directory.
        fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
        let program = env!("CARGO_BIN_EXE_pgsluice").into();
        Self { directory, program, bin: server.bin(), uid: None }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn is_root(&self) -> bool {
        fs::metadata(self.directory.path()).unwrap().uid() == 0
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path("server/data")
    }

    pub(crate) fn command(&self, verb: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["server", verb, "--data"]).arg(self.path("server"));
        command.env("PGSLUICE_HOME", self.path("home")).env_remove("PGSLUICE_PG_BIN");
        // Variables of the caller's shell for another server must not affect this one.
        command.env("PGDATA", "/nowhere").env("PGPORT", "1").env("PGHOST", "nowhere");
        if verb == "start" {
            command.args(["--set", "fsync=off", "--set", "shared_buffers=16MB"]);
            command.arg("--bin").arg(&self.bin);
        }
        if let Some(uid) = self.uid {
            command.gid(uid).uid(uid).current_dir("/");
        }
        command
    }

    pub(crate) fn run(&self, verb: &str) -> Output {
        self.command(verb).output().unwrap()
    }

    pub(crate) fn start(&self) -> String {
        url_of(&self.run("start"))
    }

    /// Starts the server with an additional setting.
    pub(crate) fn start_with(&self, setting: &str) -> String {
        url_of(&self.command("start").args(["--set", setting]).output().unwrap())
    }

    /// Runs `pg_ctl stop -m immediate`, which gives the server no time to write anything.
    pub(crate) fn stop_immediately(&self) {
        let owner = fs::metadata(self.data()).unwrap();
        let mut command = Command::new(self.programs().join("pg_ctl"));
        command.args(["stop", "-m", "immediate", "-w", "-D"]).arg(self.data()).current_dir("/");
        if self.is_root() {
            command.gid(owner.gid()).uid(owner.uid());
        }
        let stopped = command.output().unwrap();
        assert!(stopped.status.success(), "{}", stderr(&stopped));
    }

    /// Returns the directory of the server's programs, which its user can read.
    pub(crate) fn programs(&self) -> PathBuf {
        let server = fs::read_link(format!("/proc/{}/exe", self.postmaster())).unwrap();
        server.parent().unwrap().to_owned()
    }

    pub(crate) fn postmaster(&self) -> String {
        let text = fs::read_to_string(self.data().join("postmaster.pid")).unwrap();
        text.lines().next().unwrap().to_owned()
    }

    pub(crate) fn start_foreground(&self) -> (Child, String) {
        let mut command = self.command("start");
        command.arg("--foreground").stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        (child, url.trim().to_owned())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.run("stop");
    }
}

/// Returns the URL in the output of a successful start.
pub(crate) fn url_of(output: &Output) -> String {
    assert!(output.status.success(), "{}", stderr(output));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
