//! The copy sink: one connection that takes payloads from the queue and commits them, one COPY
//! and one transaction for each.
//!
//! Where a statement trigger must fire once, all payloads are one COPY instead
//! ([`copy_as_one`]).

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use bytes::Buf;
use futures_util::SinkExt;
use pgsluice_core::bucket::Payload;
use pgsluice_core::catalog::ROOT;
use tokio_postgres::{Client, CopyInSink};

use super::lines;
use super::refusal::{Sent, refusal};
use crate::control::Control;
use crate::error::{Error, Kind, Result};
use crate::flow::Flow;
use crate::outcome::Committed;
use crate::pg::connect::connect;
use crate::pg::conninfo::Target;
use crate::pg::sql;
use crate::queue::Queue;

/// Bytes of payloads that are remembered while one COPY takes them all, to name a refused row.
const REMEMBERED_BYTES: usize = 16 << 20;

/// Sends payloads until there are no more, each in a transaction of its own.
pub(crate) async fn copy(
    flow: &Flow<'_>,
    queue: &Queue<'_>,
    target: &Target,
    committed: &mut Committed,
) -> Result<()> {
    let client = open(target).await?;
    while let Some(payload) = queue.pop() {
        let payload = Arc::new(payload);
        let node = payload.node();
        let statement = flow.plan.copy_statement(node);
        let sending = async {
            let mut sink = pin!(client.copy_in::<_, Block>(&statement).await?);
            send(&mut sink, &payload, flow.control).await?;
            sink.finish().await
        };
        let rows = unless_stopped(flow.control, sending).await?.map_err(|error| {
            refusal(flow, &error, &[Sent { lines_before: 0, payload: Arc::clone(&payload) }])
        })?;
        committed.sent += payload.rows() as u64;
        committed.stored += rows;
        flow.control.rows_loaded.fetch_add(rows, Relaxed);
        flow.control.payloads.fetch_add(1, Relaxed);
        give_back(queue, payload);
    }
    Ok(())
}

/// Sends all payloads in one COPY into the root.
pub(crate) async fn copy_as_one(
    flow: &Flow<'_>,
    queue: &Queue<'_>,
    target: &Target,
    committed: &mut Committed,
) -> Result<()> {
    let client = open(target).await?;
    let statement = flow.plan.copy_statement(ROOT);
    let mut remembered: VecDeque<Sent> = VecDeque::new();
    let mut sent = 0;
    let sending = async {
        let mut sink = pin!(client.copy_in::<_, Block>(&statement).await?);
        let (mut line, mut bytes) = (0, 0);
        // The queue blocks this thread while it waits, which is all that runs on it.
        while let Some(payload) = queue.pop() {
            let payload = Arc::new(payload);
            send(&mut sink, &payload, flow.control).await?;
            sent += payload.rows() as u64;
            bytes += payload.bytes();
            let lines_before = line;
            line += lines::count(&payload, &flow.plan.format, line == 0);
            remembered.push_back(Sent { lines_before, payload });
            while bytes > REMEMBERED_BYTES && remembered.len() > 1 {
                if let Some(Sent { payload, .. }) = remembered.pop_front() {
                    bytes -= payload.bytes();
                    give_back(queue, payload);
                }
            }
        }
        if flow.control.is_stopped() {
            // Dropping the sink aborts the COPY.
            return Ok(0);
        }
        sink.finish().await
    };
    let result = unless_stopped(flow.control, sending).await?;
    let rows = result.map_err(|error| refusal(flow, &error, remembered.make_contiguous()))?;
    *committed = Committed { sent, stored: rows };
    flow.control.rows_loaded.fetch_add(rows, Relaxed);
    flow.control.payloads.fetch_add(1, Relaxed);
    Ok(())
}

/// Makes everything that the load has committed durable.
pub(crate) async fn flush(target: &Target) -> Result<()> {
    let client = connect(target).await?;
    client.batch_execute(sql::FLUSH).await?;
    Ok(())
}

async fn open(target: &Target) -> Result<Client> {
    let client = connect(target).await?;
    client.batch_execute(sql::LOADING_SESSION).await?;
    Ok(client)
}

async fn send(
    sink: &mut std::pin::Pin<&mut CopyInSink<Block>>,
    payload: &Arc<Payload>,
    control: &Control,
) -> Result<(), tokio_postgres::Error> {
    for index in 0..payload.blocks().len() {
        if control.is_stopped() {
            break;
        }
        sink.feed(Block { payload: Arc::clone(payload), index, at: 0 }).await?;
    }
    Ok(())
}

/// The outcome of `work`, or an error as soon as the load is stopped; then `work` is dropped, and
/// with it a COPY that is not finished.
async fn unless_stopped<T>(control: &Control, work: impl Future<Output = T>) -> Result<T> {
    let stopped = async {
        while !control.is_stopped() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::select! {
        biased;
        () = stopped => Err(Error::new(Kind::Interrupted, "the load was stopped")),
        result = work => Ok(result),
    }
}

fn give_back(queue: &Queue<'_>, payload: Arc<Payload>) {
    // Once COPY is finished the connection holds no block of it.
    if let Some(payload) = Arc::into_inner(payload) {
        queue.recycle(payload);
    }
}

/// A block of a payload on its way to the server, without a copy of its own.
struct Block {
    payload: Arc<Payload>,
    index: usize,
    at: usize,
}

impl Buf for Block {
    fn remaining(&self) -> usize {
        self.payload.blocks()[self.index].len() - self.at
    }

    fn chunk(&self) -> &[u8] {
        &self.payload.blocks()[self.index][self.at..]
    }

    fn advance(&mut self, count: usize) {
        self.at += count;
    }
}
