//! Creates a cluster: initdb under another name, then one rename, so that a cluster is either complete or
//! absent. It always listens only on loopback and requires a password.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use nix::fcntl::OFlag;
use pgsluice_session::{Error, Kind, Result};

use super::account::Account;
use super::binaries::Binaries;
use super::directory::{self, Directory};
use super::{failed, settings};

/// Creates the cluster of `directory` unless it exists.
pub(super) fn create(
    directory: &Directory,
    binaries: &Binaries,
    account: &Account,
    chosen: &[(String, String)],
) -> Result<()> {
    if !account.can_enter(directory.path()) {
        return Err(unreachable(directory.path(), account));
    }
    if directory.data().exists() {
        return Ok(());
    }
    let new = directory.path().join("data.new");
    let password = random_password()?;
    let secret = ClusterSecret::create(directory.path().join("pwfile"), &password, account)?;
    let initdb =
        Initdb { binaries, account, data: &new, secret: &secret.0, sync: !unsynced(chosen) };
    initdb.run()?;
    append(&new.join("postgresql.conf"), &settings::for_loading(&new))?;
    directory.save_password(&password)?;
    fs::rename(&new, directory.data()).map_err(failed("rename", &new))
}

/// Whether the cluster is disposable, as `fsync=off` indicates, so that initdb need not flush it to disk either.
fn unsynced(chosen: &[(String, String)]) -> bool {
    chosen.iter().any(|(name, value)| name == "fsync" && value == "off")
}

struct Initdb<'a> {
    binaries: &'a Binaries,
    account: &'a Account,
    data: &'a Path,
    secret: &'a Path,
    sync: bool,
}

impl Initdb<'_> {
    fn run(&self) -> Result<()> {
        let mut output = None;
        for locale in locales(self.binaries.major) {
            let attempt = self.attempt(locale)?;
            if attempt.status.success() {
                return Ok(());
            }
            output.get_or_insert(attempt);
        }
        let stderr = output.map(|output| output.stderr).unwrap_or_default();
        Err(Error::new(Kind::Server, "initdb could not create the embedded server's cluster")
            .with_detail(String::from_utf8_lossy(&stderr).trim()))
    }

    fn attempt(&self, locale: &[&str]) -> Result<Output> {
        self.make_empty().map_err(failed("create", self.data))?;
        self.account.give(self.data)?;
        let program = self.binaries.program("initdb");
        let mut command = self.account.command(&program);
        command
            .arg("--pgdata")
            .arg(self.data)
            .args(["--username=postgres", "--auth=scram-sha-256", "--encoding=UTF8"])
            .arg("--pwfile")
            .arg(self.secret)
            .args(locale);
        if !self.sync {
            command.arg("--no-sync");
        }
        command.output().map_err(failed("run", &program))
    }

    fn make_empty(&self) -> std::io::Result<()> {
        if self.data.exists() {
            fs::remove_dir_all(self.data)?;
        }
        fs::create_dir(self.data)
    }
}

/// Returns the options for code point order in UTF-8, best first.
fn locales(major: u32) -> &'static [&'static [&'static str]] {
    if major >= 17 {
        &[&["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]]
    } else {
        &[&["--locale=C.UTF-8"], &["--locale=C"]]
    }
}

/// The file that passes the password to initdb, removed when this value is dropped.
struct ClusterSecret(PathBuf);

impl ClusterSecret {
    fn create(path: PathBuf, password: &str, account: &Account) -> Result<Self> {
        directory::write_private(&path, password)?;
        let secret = Self(path);
        account.give(&secret.0)?;
        Ok(secret)
    }
}

impl Drop for ClusterSecret {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn random_password() -> Result<String> {
    let source = Path::new("/dev/urandom");
    let mut bytes = [0; 24];
    let read = File::open(source).and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(failed("read", source))?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

fn append(path: &Path, text: &str) -> Result<()> {
    // The file's directory belongs to the server's account, whose links root must not follow.
    let file = OpenOptions::new().append(true).custom_flags(OFlag::O_NOFOLLOW.bits()).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(failed("write", path))
}

fn unreachable(path: &Path, account: &Account) -> Error {
    let name = account.name().unwrap_or("this user");
    Error::new(
        Kind::Server,
        format!("the server would run as {name}, who cannot enter \"{}\"", path.display()),
    )
    .with_hint(
        "Name another directory with --data or PGSLUICE_HOME, or give other users access (chmod \
         o+x) to each directory above it.",
    )
}
