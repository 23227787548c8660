//! The embedded PostgreSQL: the default target when no other is given.
//!
//! This file is the API and reads as the life of a server: open, start, url, stop. Each question that
//! it asks has a file: `binaries` (which PostgreSQL), `reachable` (a copy that the server's account can
//! run), `account` (who runs it), `directory` (where its files lie). Then come `cluster` (initdb),
//! `settings` (values for loading), `launch` (start it) and `postmaster` (the running process).

mod account;
mod binaries;
mod cluster;
mod directory;
mod launch;
mod postmaster;
mod reachable;
mod settings;
mod url;

use std::path::{Path, PathBuf};

use pgsluice_session::{Error, Kind, Result};

use self::account::Account;
use self::binaries::Binaries;
pub use self::binaries::look_in;
use self::directory::Directory;
use self::launch::Launch;
use self::postmaster::Postmaster;
pub use self::url::Url;

/// What may be said about an embedded server; the default is what almost everybody wants.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The server's own directory; the default is `postgres-MAJOR` below the data home.
    pub directory: Option<PathBuf>,
    /// The directory that holds `postgres` and `initdb`; the default is to look for one.
    pub bin: Option<PathBuf>,
    /// Server settings for this start, name and value, as `postgres -c` takes them.
    pub settings: Vec<(String, String)>,
}

/// One embedded server, running or not.
#[derive(Clone, Debug)]
pub struct Embedded {
    directory: Directory,
    bin: Option<PathBuf>,
    settings: Vec<(String, String)>,
}

impl Embedded {
    /// Names a server without starting it or touching the disk.
    ///
    /// If neither a directory nor binaries are given, it opens a server that runs below the data home,
    /// whichever version it is.
    ///
    /// # Errors
    /// The directory is not given and cannot be derived: no home directory, or no PostgreSQL.
    pub fn open(options: Options) -> Result<Self> {
        let Options { directory, bin, settings } = options;
        let bin = bin.or_else(binaries::from_environment);
        let directory = match directory {
            Some(path) => Directory::at(&path)?,
            None => default_directory(bin.as_deref())?,
        };
        Ok(Self { directory, bin, settings })
    }

    /// Starts the server, making its cluster first where there is none; returns when it takes
    /// connections. A server that runs already is left as it is.
    ///
    /// # Errors
    /// No PostgreSQL is found, or it does not start; the detail has the end of its log.
    pub fn start(&self) -> Result<Url> {
        self.directory.create()?;
        let _lock = self.directory.lock()?;
        let postmaster = match Postmaster::wait_ready(&self.directory.data())? {
            Some(running) => {
                self.check_settings()?;
                running
            }
            None => self.launch()?,
        };
        self.directory.save_port(postmaster.port)?;
        self.url_of(&postmaster)
    }

    /// Refuses settings with which the server that runs was not started.
    fn check_settings(&self) -> Result<()> {
        if self.settings.is_empty() {
            return Ok(());
        }
        let file = self.directory.data().join("postmaster.opts");
        let started = std::fs::read_to_string(&file).map_err(failed("read", &file))?;
        let is_other =
            |(name, value): &&(String, String)| !started.contains(&format!("\"-c{name}={value}\""));
        let Some((name, value)) = self.settings.iter().find(is_other) else { return Ok(()) };
        let directory = self.directory().display();
        let message =
            format!("the embedded PostgreSQL in \"{directory}\" runs without --set {name}={value}");
        Err(Error::new(Kind::Usage, message).with_hint(
            "Settings take effect at server start: run pgsluice server stop, then start it again.",
        ))
    }

    fn launch(&self) -> Result<Postmaster> {
        let account = Account::of_server()?;
        let found = Binaries::find(self.bin.as_deref(), self.directory.major()?)?;
        let binaries = reachable::reach(found, &account)?;
        cluster::create(&self.directory, &binaries, &account, &self.settings)?;
        Launch {
            directory: &self.directory,
            binaries: &binaries,
            account: &account,
            settings: &self.settings,
        }
        .run()
    }

    /// Stops the server, disconnecting its clients; false when it was not running.
    ///
    /// # Errors
    /// The server belongs to another user, or does not end.
    pub fn stop(&self) -> Result<bool> {
        if Postmaster::running(&self.directory.data())?.is_none() {
            return Ok(false);
        }
        let _lock = self.directory.lock()?;
        match Postmaster::running(&self.directory.data())? {
            Some(postmaster) => postmaster.stop(&self.directory.data()).map(|()| true),
            None => Ok(false),
        }
    }

    /// Where the running server listens; `None` when it is not running.
    ///
    /// # Errors
    /// The server's files belong to another user.
    pub fn url(&self) -> Result<Option<Url>> {
        Postmaster::running(&self.directory.data())?
            .map(|postmaster| self.url_of(&postmaster))
            .transpose()
    }

    /// Whether the server answers; false also where its files may not be read.
    pub fn is_running(&self) -> bool {
        matches!(Postmaster::running(&self.directory.data()), Ok(Some(_)))
    }

    /// Whether the server left its lock file behind: it ended without a shutdown.
    pub fn has_crashed(&self) -> bool {
        !self.is_running() && postmaster::lock_file(&self.directory.data()).exists()
    }

    /// The directory with the server's data, log, password and socket.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    fn url_of(&self, postmaster: &Postmaster) -> Result<Url> {
        Ok(Url::new(postmaster.port, self.directory.password()?))
    }
}

fn default_directory(bin: Option<&Path>) -> Result<Directory> {
    let home = directory::home()?;
    if bin.is_none()
        && let Some(running) = running_below(&home)
    {
        return Ok(running);
    }
    let binaries = Binaries::find(bin, None)?;
    Directory::at(&home.join(format!("postgres-{}", binaries.major)))
}

fn running_below(home: &Path) -> Option<Directory> {
    let entries = std::fs::read_dir(home).ok()?;
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("postgres-"))
        .filter_map(|entry| Directory::at(&entry.path()).ok())
        .find(|directory| matches!(Postmaster::running(&directory.data()), Ok(Some(_))))
}

/// Turns an I/O error into this crate's, with what was tried on which path.
fn failed(action: &str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let message = format!("could not {action} \"{}\"", path.display());
    move |error| Error::new(Kind::Server, format!("{message}: {error}"))
}
