//! The run of the program that works at a load.

use std::hash::{BuildHasher, RandomState};

use serde::{Deserialize, Serialize};

use crate::ledger::sql::Participant;

/// One run of the program, including its retries. The server adds the role and the time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// A token that differs for every run.
    pub token: String,
    /// The name of the computer.
    pub host: String,
    /// The process on that computer.
    pub pid: u32,
    /// The program and its version.
    pub program: String,
    /// The role, in the ledger only.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub user: String,
    /// The time when it began or resumed the load, as the server spells it; in the ledger only.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub since: String,
}

/// A load in the ledger, and the run that works at it.
#[derive(Clone, Copy)]
pub(crate) struct LoadRun<'a> {
    pub(crate) named: &'a Participant,
    pub(crate) run: &'a Run,
}

impl Run {
    /// Describes this process.
    pub(crate) fn new() -> Self {
        let host = nix::unistd::gethostname().unwrap_or_default();
        Self {
            token: format!("{:016x}", RandomState::new().hash_one(std::process::id())),
            host: host.to_string_lossy().into_owned(),
            pid: std::process::id(),
            program: concat!("pgsluice ", env!("CARGO_PKG_VERSION")).to_owned(),
            ..Self::default()
        }
    }
}
