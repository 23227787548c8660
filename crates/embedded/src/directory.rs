//! The files of an embedded server, and their permissions.
//!
//! ```text
//! DIRECTORY/      0700; 0755 if root creates it, so that the server's account can pass through
//!     data/       PostgreSQL's data directory, owned by the server's account
//!     socket/     0700, owned by the server's account
//!     log         the server's output
//!     password    0600, owned by the creator of the cluster
//!     port        the last port, to keep it over restarts
//!     lock        held while a process starts or stops the server
//! ```

use std::env;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg, OFlag};
use nix::unistd::Uid;
use pgsluice_session::{Error, Kind, Result};

use super::account::{Account, is_root};
use super::failed;

/// The length that every system allows for a socket's directory: 103 bytes, less `/.s.PGSQL.65535`.
const SOCKET_DIRECTORY_MAX: usize = 103 - 15;

/// The directory of one server.
#[derive(Clone, Debug)]
pub(super) struct Directory(PathBuf);

impl Directory {
    pub(super) fn at(path: &Path) -> Result<Self> {
        std::path::absolute(path).map(Self).map_err(failed("find", path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn data(&self) -> PathBuf {
        self.0.join("data")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.0.join("log")
    }

    fn password_file(&self) -> PathBuf {
        self.0.join("password")
    }

    /// Creates the directory, or checks that an existing one may be used.
    pub(super) fn create(&self) -> Result<()> {
        make_directories(&self.0)?;
        if self.0.join("PG_VERSION").exists() {
            return Err(Error::new(
                Kind::Usage,
                format!(
                    "\"{}\" is a PostgreSQL data directory that pgsluice did not make",
                    self.0.display()
                ),
            )
            .with_hint("Name a directory that is new or that pgsluice made."));
        }
        let owner = fs::metadata(&self.0).map_err(failed("read", &self.0))?.uid();
        // Root writes files here, which is safe only if no other user can plant links.
        if owner != Uid::effective().as_raw() {
            return Err(Error::new(
                Kind::Usage,
                format!("\"{}\" belongs to another user (uid {owner})", self.0.display()),
            )
            .with_hint("Run pgsluice as that user, or name another directory."));
        }
        Ok(())
    }

    /// Waits until no other process starts or stops this server, and makes others wait.
    pub(super) fn lock(&self) -> Result<Flock<File>> {
        let path = self.0.join("lock");
        let file = create_private(&path).map_err(failed("open", &path))?;
        Flock::lock(file, FlockArg::LockExclusive)
            .map_err(|(_, errno)| failed("lock", &path)(errno.into()))
    }

    /// Returns the major version of the cluster; `None` if it does not exist.
    pub(super) fn major(&self) -> Result<Option<u32>> {
        let path = self.data().join("PG_VERSION");
        match fs::read_to_string(&path) {
            Ok(text) => Ok(text.trim().parse().ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("read", &path)(error)),
        }
    }

    pub(super) fn password(&self) -> Result<String> {
        let path = self.password_file();
        let text = fs::read_to_string(&path).map_err(failed("read", &path))?;
        Ok(text.trim_end().to_owned())
    }

    pub(super) fn save_password(&self, password: &str) -> Result<()> {
        write_private(&self.password_file(), password)
    }

    /// Returns the port that the server had when it last ran.
    pub(super) fn port(&self) -> Option<u16> {
        fs::read_to_string(self.0.join("port")).ok()?.trim().parse().ok()
    }

    pub(super) fn save_port(&self, port: u16) -> Result<()> {
        write_private(&self.0.join("port"), &port.to_string())
    }

    /// Creates the private directory for the server's socket: here, or below the system's temporary directory if
    /// this path is too long for a socket's address.
    pub(super) fn make_socket_directory(&self, account: &Account) -> Result<PathBuf> {
        let path = self.socket_directory();
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => account.give(&path)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed("create", &path)(error)),
        }
        let found = fs::symlink_metadata(&path).map_err(failed("read", &path))?;
        let data = fs::metadata(self.data()).map_err(failed("read", &self.data()))?;
        if !found.is_dir() || found.uid() != data.uid() || found.mode() & 0o077 != 0 {
            return Err(Error::new(
                Kind::Server,
                format!("\"{}\" is not a private directory of the server's user", path.display()),
            )
            .with_hint("Remove it, or set PGSLUICE_HOME to a shorter path."));
        }
        Ok(path)
    }

    fn socket_directory(&self) -> PathBuf {
        let here = self.0.join("socket");
        if here.as_os_str().as_bytes().len() <= SOCKET_DIRECTORY_MAX {
            return here;
        }
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        env::temp_dir().join(format!("pgsluice-{}-{:016x}", Uid::effective(), hasher.finish()))
    }
}

/// Returns the directory below which embedded servers live.
pub(super) fn home() -> Result<PathBuf> {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(home) = variable("PGSLUICE_HOME") {
        return std::path::absolute(&home).map_err(failed("find", &home));
    }
    if is_root() {
        // The server's account could not enter root's home directory.
        return Ok("/var/lib/pgsluice".into());
    }
    variable("XDG_DATA_HOME")
        .filter(|path| path.is_absolute())
        .or_else(|| Some(variable("HOME")?.join(".local/share")))
        .map(|share| share.join("pgsluice"))
        .ok_or_else(|| {
            Error::new(Kind::Server, "no place for the embedded server: HOME is not set")
                .with_hint("Set PGSLUICE_HOME to a directory of your own.")
        })
}

/// Creates `path` and its missing parents: private, but passable if root creates them.
pub(super) fn make_directories(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        make_directories(parent)?;
    }
    let mode = if is_root() { 0o755 } else { 0o700 };
    match fs::create_dir(path) {
        // The umask would remove bits from the mode of `create`.
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(mode)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
    .map_err(failed("create", path))
}

/// Writes a file that only its owner can read. A reader sees the old or the new content, never a part.
pub(super) fn write_private(path: &Path, text: &str) -> Result<()> {
    let new = path.with_extension("new");
    let write = |mut file: File| {
        file.set_len(0)?;
        writeln!(file, "{text}")?;
        file.sync_all()?;
        fs::rename(&new, path)
    };
    create_private(&new).and_then(write).map_err(failed("write", path))
}

fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(OFlag::O_NOFOLLOW.bits())
        .open(path)
}
