//! Timeouts of a session. No timeout of a role ends a session that works or waits, but the server ends one whose
//! client is gone, so that its locks do not stay.

use futures_util::future::join;
use tokio_postgres::Client;

use crate::conninfo::Liveness;
use crate::template::{eq, fill, gt};

/// Timeouts that a role may set, each with the first version that has it.
const TIME_OUTS: [(u32, &str); 4] = [
    (0, "statement_timeout"),
    (0, "idle_in_transaction_session_timeout"),
    (14, "idle_session_timeout"),
    (17, "transaction_timeout"),
];

/// Makes the server check every 5 seconds during a statement whether the client is still there (14 or later).
const LOOK: &str = "
SELECT pg_catalog.set_config('client_connection_check_interval', '5s', false)
WHERE pg_catalog.current_setting('client_connection_check_interval') {eq} '0'";

/// Applies the settings.
pub(super) async fn set(
    client: &Client,
    version: u32,
    liveness: &Liveness,
) -> Result<(), tokio_postgres::Error> {
    let known = TIME_OUTS.iter().filter(|(since, _)| version >= *since);
    let never: Vec<String> = known.map(|(_, name)| format!("SET {name} = 0")).collect();
    let never = never.join("; ");
    let look = if version >= 14 { fill(LOOK, &[]) } else { String::new() };
    let noticing = notice(liveness);
    let noticing =
        async { join(client.batch_execute(&noticing), client.batch_execute(&look)).await };
    // Not every platform supports these settings.
    let (set, _) = join(client.batch_execute(&never), noticing).await;
    set
}

/// Returns SQL that makes the server notice a silent client as soon as the client would notice a silent server,
/// or sooner if the role is set so.
fn notice(liveness: &Liveness) -> String {
    let setting = |(name, value): &(&str, _)| {
        let now = format!("pg_catalog.current_setting('{name}')::pg_catalog.int4");
        format!(
            "SELECT pg_catalog.set_config('{name}', '{value}', false)
             WHERE {now} {eq} 0 OR {now} {gt} {value}"
        )
    };
    liveness.server_settings().iter().map(setting).collect::<Vec<_>>().join("; ")
}
