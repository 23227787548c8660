//! Begins a load in the ledger, or resumes it if it is the same load.

use std::collections::HashSet;

use futures_util::future::{join3, try_join};
use pgsluice_core::catalog::ROOT;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};

use super::Ledger;
use super::begin_share;
use super::begun::{Begun, check, emptied, refuse};
use super::blocks::{Blocks, StreamBlock};
use super::claimed::{Claimed, StoredReceipt};
use super::earlier;
use super::earlier_tree::EarlierTree;
use super::layout::Layout;
use super::others::{lock_out_others, wait_for};
use super::receipts::Receipts;
use super::row_counts;
use super::run::LoadRun;
use super::terms;
use crate::control::Control;
use crate::error::Result;
use crate::job::Job;
use crate::ledger::sql::json::{json, parse};
use crate::ledger::sql::{self as sql, Access, FoundLoad, NewLoad, Participant};
use crate::pg::Parameters;
use crate::pg::conninfo::Target;
use crate::pg::lookup;
use crate::pg::sql::{COMMIT, DURABLE, NO_LOCK_TIMEOUT, PG_CATALOG_ONLY, literal};
use crate::plan::{Plan, format_for};
use crate::row_counts::RowCounts;
use crate::source::Fingerprint;
use pgsluice_core::origin::Origin;

/// Begins or resumes a load. This is durable before the attempt writes any row. Otherwise a server that lost
/// it in a crash would ascribe these rows to another attempt.
pub(crate) async fn begin(
    job: &Job,
    of: LoadRun<'_>,
    plan: &Plan,
    client: &mut Client,
    target: &Target,
    control: &Control,
) -> Result<Begun> {
    let LoadRun { named, .. } = of;
    let sources = Fingerprint::read_all(&job.input.files)?;
    let table = &plan.tree.nodes[ROOT].relation;
    let columns = &plan.catalogue.columns;
    let own = terms::describe_load(job, &plan.shape.format, plan.catalogue.version)?;
    // The user's search_path is one of the terms, and is not used for anything else.
    let asking = try_join(
        async { Ok(client.batch_execute(NO_LOCK_TIMEOUT).await?) },
        sql::terms::query(client, &own, table, columns),
    );
    let ((), now) = asking.await?;
    client.batch_execute(&format!("{PG_CATALOG_ONLY}; {DURABLE}")).await?;
    named.schema.make(client, Access::Write).await?;
    if let Some(share) = &job.safety.share {
        return begin_share::begin(job, of, share, plan, &now, client).await;
    }
    let is_exclusive = lock_out_others(of, client, job.safety.end_other, control).await?;
    let end_other = job.safety.end_other && is_exclusive;
    wait_for(named, end_other, client, target, control).await?;
    let ledger = match named.find(client).await? {
        None => {
            earlier::check(job, named, plan, &sources, client, control).await?;
            let published = named.schema.publication_warning(client).await?;
            published.into_iter().for_each(|warning| control.warn(&warning));
            start(of, plan, &now, sources, client).await?
        }
        Some(found) => {
            let before: Vec<Fingerprint> = parse(&found.sources)?;
            let checked =
                check(&found, plan, &now).and_then(|()| Fingerprint::check(&before, &sources));
            checked.map_err(|error| refuse(error, &named.id))?;
            if found.is_finished {
                client.batch_execute(COMMIT).await?;
                return Ok(Begun::Finished(Ledger::new(named, 0, 0, before), found.counts));
            }
            resume(of, &found, plan, sources, client, control).await?
        }
    };
    ledger.let_in(client, is_exclusive).await?;
    Ok(Begun::Running(ledger))
}

/// Writes a load that the ledger does not have, and ends the transaction.
async fn start(
    LoadRun { named, run }: LoadRun<'_>,
    plan: &Plan,
    terms: &str,
    sources: Vec<Fingerprint>,
    client: &Client,
) -> Result<Ledger> {
    let (sources_json, run) = (json(&sources)?, json(run)?);
    let terms = format!("{}::pg_catalog.jsonb", literal(terms.as_bytes()));
    let new = NewLoad {
        named,
        table: &plan.tree.nodes[ROOT].relation,
        terms: &terms,
        sources: &sources_json,
        run: &run,
        finished: None,
    };
    let layout = Layout::from_plan(plan);
    let insert = new.insert();
    let writing = join3(
        client.batch_execute(&insert),
        insert_tree(client, named, 0, &layout),
        client.batch_execute(COMMIT),
    );
    let (written, planted, committed) = writing.await;
    if let Err(error) = written {
        return Err(named.schema.refused(client, error).await);
    }
    planted?;
    committed?;
    Ok(Ledger::new(named, 1, 0, sources))
}

/// Resumes a load that the ledger has, and ends the transaction.
async fn resume(
    LoadRun { named, run }: LoadRun<'_>,
    found: &FoundLoad,
    plan: &Plan,
    sources: Vec<Fingerprint>,
    client: &mut Client,
    control: &Control,
) -> Result<Ledger> {
    let id = &named.id;
    client.batch_execute(&named.retry(&json(run)?)).await?;
    let oids: Vec<u32> = plan.catalogue.facts.iter().map(|facts| facts.oid).collect();
    if client.query_one(&named.sql(sql::EMPTIED), &[id, &oids]).await?.get(0) {
        return Err(refuse(emptied(), id));
    }
    let receipts = client.query(&named.sql(sql::RECEIPTS), &[id]).await?;
    let receipts: Vec<StoredReceipt> = receipts.iter().map(receipt).collect();
    let blocks = blocks(client, named).await?;
    let rejected = client.query(&named.sql(sql::REJECTS), &[id]).await?;
    let rejected: HashSet<Origin> = rejected.iter().map(|row| origin(row, 0)).collect();
    let (tree, others) = trees(client, named, plan, &receipts).await?;
    client.batch_execute(COMMIT).await?;
    let of = |number: i32| receipts.iter().filter(move |receipt| receipt.tree == number);
    let mut earlier_trees = Vec::new();
    for (number, layout) in others {
        let built =
            EarlierTree::build(layout, Claimed::from_receipts(of(number)), plan, client).await;
        earlier_trees.push(built.map_err(|error| refuse(error, id))?);
    }
    let rows: u64 = receipts.iter().map(|receipt| receipt.rows).sum();
    control.set_rows_before(rows.saturating_sub(rejected.len() as u64));
    let next = receipts.iter().map(|receipt| receipt.number + 1).max().unwrap_or(0);
    let mut counts_before = RowCounts::default();
    receipts.iter().for_each(|receipt| counts_before.add(receipt.counts));
    Ok(Ledger {
        claimed: Claimed::from_receipts(of(tree)),
        earlier_trees,
        rejected,
        receipts: Receipts::from_earlier(next, of(tree)),
        blocks: Blocks::from_earlier(blocks),
        counts_before,
        ..Ledger::new(named, found.attempt + 1, tree, sources)
    })
}

/// Returns the number of the plan's tree in the ledger, where it is inserted if missing, and the other trees
/// that `receipts` refer to.
async fn trees(
    client: &Client,
    named: &Participant,
    plan: &Plan,
    receipts: &[StoredReceipt],
) -> Result<(i32, Vec<(i32, Layout)>)> {
    let now = Layout::from_plan(plan);
    let (mut tree, mut others, mut next) = (None, Vec::new(), 0);
    for row in client.query(&named.sql(sql::TREES), &[&named.id]).await? {
        let (number, layout): (i32, Layout) = (row.get(0), parse(row.get(1))?);
        next = next.max(number + 1);
        if layout == now {
            tree = Some(number);
        } else if receipts.iter().any(|receipt| receipt.tree == number) {
            others.push((number, layout));
        }
    }
    if tree.is_none() {
        insert_tree(client, named, next, &now).await?;
    }
    Ok((tree.unwrap_or(next), others))
}

impl Ledger {
    pub(super) fn new(
        named: &Participant,
        attempt: i32,
        tree: i32,
        sources: Vec<Fingerprint>,
    ) -> Self {
        Self {
            named: named.clone(),
            attempt,
            tree,
            sources,
            claimed: Claimed::default(),
            earlier_trees: Vec::new(),
            rejected: HashSet::new(),
            receipts: Receipts::default(),
            blocks: Blocks::default(),
            counts_before: RowCounts::default(),
            share: None,
        }
    }
}

async fn insert_tree(
    client: &Client,
    named: &Participant,
    number: i32,
    layout: &Layout,
) -> Result<()> {
    let layout = json(layout)?;
    let planted: Parameters<'_> =
        &[(&named.id, Type::TEXT), (&number, Type::INT4), (&layout, Type::TEXT)];
    client.execute_typed(&named.sql(sql::PLANT), planted).await?;
    Ok(())
}

async fn blocks(client: &Client, named: &Participant) -> Result<Vec<StreamBlock>> {
    let rows = client.query(&named.sql(sql::BLOCKS), &[&named.id]).await?;
    let block = |row: &Row| StreamBlock {
        source: row.get::<_, i32>(0).unsigned_abs(),
        start: row.get::<_, i64>(1).unsigned_abs(),
        stop: row.get::<_, i64>(2).unsigned_abs(),
        hash: row.get(3),
    };
    Ok(rows.iter().map(block).collect())
}

pub(super) fn receipt(row: &Row) -> StoredReceipt {
    let (sources, starts, stops): (Vec<i32>, Vec<i64>, Vec<i64>) =
        (row.get(5), row.get(6), row.get(7));
    let ranges = sources.into_iter().zip(starts.into_iter().zip(stops));
    let ranges = ranges.map(|(source, (start, stop))| {
        (source.unsigned_abs(), start.unsigned_abs(), stop.unsigned_abs())
    });
    StoredReceipt {
        number: row.get(0),
        tree: row.get(1),
        node: row.get::<_, i32>(2).unsigned_abs() as usize,
        upto: origin(row, 3),
        ranges: ranges.collect(),
        rows: row.get::<_, i64>(8).unsigned_abs(),
        counts: row.get::<_, Option<&str>>(9).map(row_counts::read).unwrap_or_default(),
    }
}

/// Reads the origin from two columns, starting at `column`.
fn origin(row: &Row, column: usize) -> Origin {
    let (input, at) = (row.get::<_, i32>(column), row.get::<_, i64>(column + 1));
    Origin { input: input.unsigned_abs(), at: at.unsigned_abs() }
}

/// Returns the statement that writes a small load of `rows` rows into `table`; its commit finishes the load.
pub(crate) fn insert_small_load(
    job: &Job,
    LoadRun { named, run }: LoadRun<'_>,
    table: &lookup::FoundTable,
    rows: u64,
) -> Result<String> {
    let sources = json(&Fingerprint::read_all(&job.input.files)?)?;
    let format = format_for(&job.input.format, table.version);
    let (own, run) = (terms::describe_load(job, &format, table.version)?, json(run)?);
    let columns = table.columns_with_types(job.input.columns.as_deref());
    let columns = format!("{}::pg_catalog.text", literal(columns.as_bytes()));
    let terms = sql::terms::expression(&own, Some(&columns));
    let table = &table.relation;
    let new =
        NewLoad { named, table, terms: &terms, sources: &sources, run: &run, finished: Some(rows) };
    Ok(new.insert())
}
