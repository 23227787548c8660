//! The embedded PostgreSQL: the default target if no other is given.
//!
//! This file is the API, in the order of a server's life: open, start, url, stop. `binaries` chooses the
//! PostgreSQL, `accessible` makes a copy that the server's account can run, `account` is the user that runs it,
//! and `directory` holds its files. `cluster` runs initdb, `settings` has values for loading, `launch` starts
//! the server, and `postmaster` is the running process.

mod accessible;
mod account;
mod binaries;
mod cluster;
mod directory;
mod launch;
mod postmaster;
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

/// Options of an embedded server; the defaults suit almost every use.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The server's own directory; the default is `postgres-MAJOR` below the data home.
    pub directory: Option<PathBuf>,
    /// The directory that contains `postgres` and `initdb`; by default one is searched for.
    pub bin: Option<PathBuf>,
    /// Server settings for this start, name and value, as in `postgres -c`.
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
    /// If neither a directory nor binaries are given, this opens a server that is running below the data home,
    /// whatever its version.
    ///
    /// # Errors
    /// Fails if the directory is not given and cannot be derived: no home directory, or no PostgreSQL.
    pub fn open(options: Options) -> Result<Self> {
        let Options { directory, bin, settings } = options;
        let bin = bin.or_else(binaries::from_environment);
        let directory = match directory {
            Some(path) => Directory::at(&path)?,
            None => default_directory(bin.as_deref())?,
        };
        Ok(Self { directory, bin, settings })
    }

    /// Starts the server, after creating its cluster if necessary. Returns when it accepts connections. A
    /// running server is left unchanged.
    ///
    /// # Errors
    /// Fails if no PostgreSQL is found, or if it does not start; the detail contains the end of its log.
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

    /// Fails if the running server was started without these settings.
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
        let account = Account::for_server()?;
        let found = Binaries::find(self.bin.as_deref(), self.directory.major()?)?;
        let binaries = accessible::make_accessible(found, &account)?;
        cluster::create(&self.directory, &binaries, &account, &self.settings)?;
        Launch {
            directory: &self.directory,
            binaries: &binaries,
            account: &account,
            settings: &self.settings,
        }
        .run()
    }

    /// Stops the server and disconnects its clients. Returns false if it was not running.
    ///
    /// # Errors
    /// Fails if the server belongs to another user, or does not end.
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

    /// Returns the address of the running server; `None` if it is not running.
    ///
    /// # Errors
    /// Fails if the server's files belong to another user.
    pub fn url(&self) -> Result<Option<Url>> {
        Postmaster::running(&self.directory.data())?
            .map(|postmaster| self.url_of(&postmaster))
            .transpose()
    }

    /// Whether the server answers; false also if its files cannot be read.
    pub fn is_running(&self) -> bool {
        matches!(Postmaster::running(&self.directory.data()), Ok(Some(_)))
    }

    /// Whether the server ended without a shutdown, leaving its lock file behind.
    pub fn has_crashed(&self) -> bool {
        !self.is_running() && postmaster::lock_file(&self.directory.data()).exists()
    }

    /// Returns the directory with the server's data, log, password and socket.
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

/// Turns an I/O error into this crate's, with the action and the path.
fn failed(action: &str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let message = format!("could not {action} \"{}\"", path.display());
    move |error| Error::new(Kind::Server, format!("{message}: {error}"))
}
