//! A channel: a connection, the plan of its rows, and the statements that the session has prepared for that
//! plan.

use std::cell::Cell;

use futures_util::future::try_join;
use tokio_postgres::{Client, Error};

use super::failure::Failure;
use super::proof::Proof;
use super::recheck::Recheck;
use super::stage_merge::create_stage;
use super::statements::Statements;
use crate::control::Control;
use crate::counts::first_row::Opening;
use crate::pg::connect::Link;
use crate::plan::Plan;

/// The view that a transaction has of its connection.
#[derive(Clone, Copy)]
pub(crate) struct Channel<'s> {
    pub(crate) link: &'s Link,
    pub(crate) plan: &'s Plan,
    pub(crate) prepared: &'s Prepared,
    pub(crate) control: &'s Control,
    /// The clock that stops at the first row, if a load has one.
    pub(crate) opening: Option<&'s Opening>,
}

/// Statements that a session has prepared for a plan, and its stage. Preparing them takes round trips.
pub(crate) struct Prepared {
    pub(super) recheck: Recheck,
    /// The statements that show the leaves of rows that go through the root together.
    pub(super) proof: Option<Proof>,
    pub(super) statements: Statements,
    /// Whether the session has a stage.
    has_stage: Cell<bool>,
}

impl Prepared {
    /// Prepares the statements for rows of `plan`, and the statements of the proof if `proves`.
    pub(crate) async fn new(client: &Client, plan: &Plan, proves: bool) -> Result<Self, Error> {
        let proving = async { if proves { Proof::prepare(client, plan).await } else { Ok(None) } };
        let (recheck, proof) = try_join(Recheck::prepare(client, plan), proving).await?;
        let (statements, has_stage) = (Statements::default(), Cell::new(false));
        Ok(Self { recheck, proof, statements, has_stage })
    }

    /// Creates the stage of the session, unless it exists.
    pub(crate) async fn make_stage(&self, client: &Client, plan: &Plan) -> Result<(), Error> {
        if self.has_stage.get() {
            return Ok(());
        }
        let Some(create) = create_stage(plan) else { return Ok(()) };
        client.batch_execute(&create).await?;
        self.has_stage.set(true);
        Ok(())
    }

    /// Whether the connection must not be used again, because a COPY could not begin.
    pub(crate) fn is_spoiled(&self) -> bool {
        self.statements.has_refused()
    }

    /// Whether the server can show the leaves of rows that go through the root together.
    pub(super) fn has_proof(&self) -> bool {
        self.proof.is_some()
    }
}

impl Channel<'_> {
    /// Fails if the load is stopped.
    pub(super) fn check_running(&self) -> Result<(), Failure> {
        if self.control.stop.is_stopped() { Err(Failure::Stopped) } else { Ok(()) }
    }
}
