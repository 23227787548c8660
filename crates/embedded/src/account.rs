//! The account that runs the server. PostgreSQL refuses to run as root, so root's server runs under an
//! unprivileged account, and every other user's under their own. Every program of PostgreSQL is started through
//! this module.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::unistd::{Gid, Uid, User, chown};
use pgsluice_session::{Error, Kind, Result};

use super::failed;

/// The account to switch to, if any.
#[derive(Debug)]
pub(super) struct Account(Option<Ids>);

#[derive(Debug)]
struct Ids {
    uid: Uid,
    gid: Gid,
    name: String,
}

impl Account {
    /// Returns `postgres` or else `nobody` for root, and the current user otherwise.
    pub(super) fn for_server() -> Result<Self> {
        if !is_root() {
            return Ok(Self(None));
        }
        ["postgres", "nobody"]
            .into_iter()
            .filter_map(|name| User::from_name(name).ok().flatten())
            .find(|user| !user.uid.is_root())
            .map(|User { uid, gid, name, .. }| Self(Some(Ids { uid, gid, name })))
            .ok_or_else(|| {
                Error::new(Kind::Server, "PostgreSQL does not run as root, and there is no user \"postgres\" or \"nobody\" to run it as")
                    .with_hint("Run pgsluice as an ordinary user, or add a user: useradd --system postgres")
            })
    }

    /// Returns the account's name, if it is not the current user's.
    pub(super) fn name(&self) -> Option<&str> {
        self.0.as_ref().map(|ids| ids.name.as_str())
    }

    /// Returns a command that runs as this account, in a directory that it can always enter, and without the
    /// `PG*` variables that would redirect it.
    pub(super) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir("/").stdin(Stdio::null()).env("LC_ALL", "C");
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PG") {
                command.env_remove(name);
            }
        }
        if let Some(ids) = &self.0 {
            // As root, `uid` also clears the supplementary groups.
            command.gid(ids.gid.as_raw()).uid(ids.uid.as_raw());
        }
        command
    }

    /// Makes the account the owner of `path`.
    pub(super) fn give(&self, path: &Path) -> Result<()> {
        let Some(ids) = &self.0 else { return Ok(()) };
        chown(path, Some(ids.uid), Some(ids.gid))
            .map_err(|errno| failed("change the owner of", path)(errno.into()))
    }

    /// Whether the account can enter `directory`.
    pub(super) fn can_enter(&self, directory: &Path) -> bool {
        // The child changes its account before its directory, so the kernel checks the account's access.
        let probe = self.command("true").current_dir(directory).output();
        probe.is_ok_and(|output| output.status.success())
    }
}

/// Whether this process is root.
pub(super) fn is_root() -> bool {
    Uid::effective().is_root()
}
