//! Looks for deadlocks that the server cannot see. A connection may wait for a row of another
//! connection of the same load, which in turn waits for it in the client.

use std::time::Duration;

use tokio_postgres::Client;

use super::Atomic;
use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::pg::connect;
use crate::pg::conninfo::Target;
use crate::pg::runtime::runtime;
use crate::pg::two_phase;

/// Between two looks.
const PAUSE: Duration = Duration::from_secs(1);

/// Why a load goes on with one connection.
pub(crate) const WAITED: &str = "its connections waited for each other's rows";

/// Looks at the connections until all are ready, and stops the load if one waits for another.
pub(crate) fn watch(atomic: &Atomic, control: &Control, target: &Target) {
    let watched = runtime().and_then(|runtime| {
        let mut client: Option<Client> = None;
        while atomic.is_at_work(PAUSE, control) {
            let looking = async {
                let client = match &client {
                    Some(client) => client,
                    None => client.insert(connect::connect_for_own(target).await?),
                };
                two_phase::are_entangled(client, &atomic.sessions()).await
            };
            if runtime.block_on(control.stop.unless_stopped(looking))? {
                control.attempts.use_single_connection(WAITED);
                return Err(entangled());
            }
        }
        Ok(())
    });
    report(watched, control);
}

fn report(watched: Result<()>, control: &Control) {
    if let Err(error) = watched {
        control.stop.fail(error);
    }
}

/// The error of connections that wait for each other.
pub(crate) fn entangled() -> Error {
    let message = "connections of this load wait for each other's rows";
    Error::new(Kind::Server, message)
        .with_sqlstate("40P01")
        .with_detail(
            "Several of its transactions contain rows with the same unique key, or rows whose \
             trigger writes to one shared row.",
        )
        .with_hint("Load with -j 1.")
        .permanent()
}
