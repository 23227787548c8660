//! A channel: a connection, the plan of its rows, and what the session has prepared for that.

use std::cell::Cell;

use futures_util::future::try_join;
use tokio_postgres::{Client, Error};

use super::failure::Failure;
use super::proof::Proof;
use super::recheck::Recheck;
use super::statements::Statements;
use super::taken::made;
use crate::control::Control;
use crate::counts::first_row::Opening;
use crate::pg::connect::Link;
use crate::plan::Plan;

/// A connection, as its transactions see it.
#[derive(Clone, Copy)]
pub(crate) struct Channel<'s> {
    pub(crate) link: &'s Link,
    pub(crate) plan: &'s Plan,
    pub(crate) prepared: &'s Prepared,
    pub(crate) control: &'s Control,
    /// The clock that the first row stops, if a load has one.
    pub(crate) opening: Option<&'s Opening>,
}

/// Statements that a session has prepared for a plan, because preparing them takes round trips, and its stage.
pub(crate) struct Prepared {
    pub(super) recheck: Recheck,
    /// Shows the leaves of rows that go through the root together.
    pub(super) proof: Option<Proof>,
    pub(super) statements: Statements,
    /// Whether the session has a stage.
    has_stage: Cell<bool>,
}

impl Prepared {
    /// Prepares the statements for rows of `plan`; with those that show the leaves of rows if it `proves` them.
    pub(crate) async fn new(client: &Client, plan: &Plan, proves: bool) -> Result<Self, Error> {
        let proving = async { if proves { Proof::prepare(client, plan).await } else { Ok(None) } };
        let (recheck, proof) = try_join(Recheck::prepare(client, plan), proving).await?;
        let (statements, has_stage) = (Statements::default(), Cell::new(false));
        Ok(Self { recheck, proof, statements, has_stage })
    }

    /// Makes the stage of the session, unless it has one.
    pub(crate) async fn make_stage(&self, client: &Client, plan: &Plan) -> Result<(), Error> {
        if self.has_stage.get() {
            return Ok(());
        }
        let Some(made) = made(plan) else { return Ok(()) };
        client.batch_execute(&made).await?;
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
