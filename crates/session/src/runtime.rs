//! The small tokio runtime that a thread uses to talk to the server.

use tokio::runtime::{Builder, Runtime};

use crate::error::kind::Kind;
use crate::error::{Error, Result};

/// Creates a runtime for the current thread.
pub fn runtime() -> Result<Runtime> {
    build(&mut Builder::new_current_thread())
}

/// Creates a runtime for the current thread that polls its connections whenever a task yields.
pub fn attentive() -> Result<Runtime> {
    build(Builder::new_current_thread().event_interval(1))
}

fn build(builder: &mut Builder) -> Result<Runtime> {
    let built = builder.enable_all().build();
    built.map_err(|error| Error::new(Kind::Connection, format!("could not start: {error}")))
}
