//! The steps of a write: its rows are gathered according to a plan, and stored by the method that suits them.

use std::sync::Arc;

use tokio::runtime::Runtime;

use super::batch::WriteBatch;
use super::extras::RejectRows;
use super::failure::WriteFailure;
use super::record::RecordUpdate;
use super::send_method::SendMethod;
use super::session::{Planned, Session};
use crate::control::Control;
use crate::error::Result;
use crate::job::{InputOptions, Job};
use crate::pg::connect::Link;
use crate::pg::conninfo::Target;
use crate::row_counts::RowCounts;
use crate::sink::channel::Channel;
use crate::writer::extras::RejectInsert;

/// Gathers the rows of `input`. The first call checks the job and makes a plan. It is replaced when the names
/// in the rows refer to other columns.
pub(super) fn gather(
    job: &Job,
    target: &Target,
    session: &mut Session,
    input: &InputOptions,
    runtime: &Runtime,
    control: &Arc<Control>,
) -> Result<WriteBatch> {
    let Session { link, planned, .. } = session;
    let job = Job { input: input.clone(), ..job.clone() };
    if planned.is_none() {
        job.check()?;
    }
    let opened = job.open(target, control)?;
    let planned = match planned {
        Some(planned) if planned.named.are_those_of(&opened) => planned,
        other => {
            let Link { client, canceller, .. } = link;
            let planning = canceller.unless_stopped(control, Planned::new(&opened, client));
            let mut planned = runtime.block_on(planning)?;
            planned.named.add(other.take().map(|before| before.named));
            other.insert(planned)
        }
    };
    planned.gatherer.gather(&opened, &planned.plan, &opened.input.files, target, control)
}

/// Stores rows by the `method` that was chosen for them, or by another one if the server refuses it. Returns
/// the counts and the method that succeeded.
pub(super) async fn store(
    planned: &Planned,
    channel: Channel<'_>,
    batch: &WriteBatch,
    method: SendMethod,
    update: RecordUpdate<'_>,
    rejects: Option<RejectRows<'_>>,
) -> Result<(RowCounts, SendMethod), WriteFailure> {
    let rejects = match rejects {
        Some(rejects) => Some(RejectInsert::new(&channel.link.client, rejects).await?),
        None => None,
    };
    let (mut method, mut tried) = (method, 0);
    let updated_first = planned.updates_first.get();
    loop {
        let refused = match planned.store(channel, batch, method, update, rejects.as_ref()).await {
            Ok(counts) => return Ok((counts, method)),
            Err(refused) => refused,
        };
        match planned.next_method(method, &refused, tried) {
            Some(next) => (method, tried) = (next, tried + 1),
            None => {
                // The update did not help.
                planned.updates_first.set(updated_first);
                return Err(refused);
            }
        }
    }
}
