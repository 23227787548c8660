//! One attempt at a load.

use std::sync::Arc;

use tokio::runtime::Runtime;

use crate::control::Control;
use crate::counts::first_row::Opening;
use crate::job::Job;
use crate::ledger::Run;
use crate::pg::conninfo::Target;

/// An attempt, with the data that each of its steps needs.
pub(super) struct Attempt<'a> {
    pub(super) job: &'a Job,
    pub(super) id: &'a str,
    pub(super) run: &'a Run,
    pub(super) target: &'a Target,
    pub(super) control: &'a Arc<Control>,
    pub(super) opening: Opening,
    pub(super) runtime: Runtime,
}
