//! Queries of the ledger for the user: the loads, the rows that each has committed, and its end.

use std::collections::{BTreeMap, HashSet};

use pgsluice_core::origin::Origin;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use tokio_postgres::{Client, Row};

use super::begin::receipt;
use super::layout::Layout;
use super::members::Members;
use super::run::Run;
use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::{Error, Result, command};
use crate::ledger::sql::json::parse;
use crate::ledger::sql::{self as sql, Access, Participant, Schema};
use crate::pg::connect::connect;
use crate::pg::conninfo::Target;
use crate::pg::exchange;
use crate::pg::sql::{
    COMMIT, DURABLE, OID, PG_CATALOG_ONLY, ROLLBACK, SEARCH_PATH, SET_SEARCH_PATH,
};
use crate::row_counts::RowCounts;
use crate::source::Fingerprint;

/// A load in the ledger.
#[derive(Clone, Debug, Serialize)]
pub struct LedgerEntry {
    /// The id of the load.
    pub id: String,
    /// The table's name when the load began.
    pub table: String,
    /// `finished` if all rows are in the table; before that `running`, or `unfinished` if no run of the load
    /// is active.
    pub state: String,
    /// The number of attempts.
    pub attempts: i32,
    /// The time when it was begun, as the server spells it.
    pub begun: String,
    /// The time when it was finished.
    pub ended: Option<String>,
    /// The number of committed rows; for an unfinished load, the number of rows that were sent.
    pub rows: u64,
    /// The inputs.
    pub sources: Vec<String>,
    /// The number of participants whose shares are complete; `None` for a load without participants.
    pub participants: Option<u64>,
    /// The present run, or the last one.
    pub run: Run,
}

/// A selection of loads.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Loads into this table, written as in SQL. A table that no longer exists is found by its old name.
    pub table: Option<String>,
    /// Loads that ended this long ago, or began this long ago if they have not ended: an SQL interval.
    pub older_than: Option<String>,
}

/// The result of removing loads from the ledger.
#[derive(Clone, Debug, Default)]
pub struct Forgotten {
    /// The loads that were removed.
    pub loads: Vec<String>,
    /// The loads that are running and were not removed.
    pub running: Vec<String>,
}

/// A load in full.
#[derive(Clone, Debug, Serialize)]
pub struct Details {
    /// The load as [`list`] shows it.
    #[serde(flatten)]
    pub entry: LedgerEntry,
    /// The terms by which its input is read and routed.
    pub terms: BTreeMap<String, String>,
    /// The outcomes of its rows, as far as known. For an unfinished load, these are only the rows that were
    /// not simply inserted.
    pub counts: RowCounts,
    /// The committed rows, by the tables that they were routed to.
    pub receipts: Vec<TableReceipts>,
    /// The position of a writer, as given by its program: JSON, or else a string.
    pub position: Option<Box<RawValue>>,
    /// The positions of participants, if several writers share the load; null for a participant without one.
    pub positions: BTreeMap<String, Option<Box<RawValue>>>,
}

/// The receipts of one table.
#[derive(Clone, Debug, Serialize)]
pub struct TableReceipts {
    /// Its name when the load began.
    pub table: String,
    /// The number of rows that were sent.
    pub rows: u64,
    /// Their outcomes, if they were not simply inserted.
    pub counts: RowCounts,
    /// All rows of the table that begin before this byte of this source, counted from 0, are committed.
    pub upto: (u32, u64),
    /// The rows that begin in these ranges are committed too: source, first byte, and the byte after the
    /// last.
    pub ranges: Vec<(u32, u64, u64)>,
}

/// Returns the loads of the ledger in `schema`, the newest first.
pub async fn list(
    target: &Target,
    schema: &str,
    filter: &Filter,
    control: &Control,
) -> Result<Vec<LedgerEntry>> {
    let listing = async {
        match LookupSession::open(target, schema, Access::Read).await? {
            Some(session) => session.entries(filter).await,
            None => Ok(Vec::new()),
        }
    };
    control.stop.unless_stopped(listing).await
}

/// Returns one load in full.
pub async fn show(target: &Target, schema: &str, id: &str, control: &Control) -> Result<Details> {
    control.stop.unless_stopped(details(target, schema, id)).await
}

async fn details(target: &Target, schema: &str, id: &str) -> Result<Details> {
    let Some(session) = LookupSession::open(target, schema, Access::Read).await? else {
        return Err(unknown(id));
    };
    let LookupSession { client, schema, .. } = &session;
    let rows = session.rows(Some(id), &Filter::default()).await?;
    let row = rows.first().ok_or_else(|| unknown(id))?;
    let named = Participant::new(schema, id);
    let trees = client.query(&named.sql(sql::TREES), &[&id]).await?;
    let trees: BTreeMap<i32, Layout> =
        trees.iter().map(|row| Ok((row.get(0), parse(row.get(1))?))).collect::<Result<_>>()?;
    let mut receipts: BTreeMap<(i32, usize), TableReceipts> = BTreeMap::new();
    for receipt in client.query(&named.sql(sql::RECEIPTS), &[&id]).await?.iter().map(receipt) {
        let of_table =
            receipts.entry((receipt.tree, receipt.node)).or_insert_with(|| TableReceipts {
                table: trees.get(&receipt.tree).map_or_else(String::new, |t| t.label(receipt.node)),
                rows: 0,
                counts: RowCounts::default(),
                upto: (0, 0),
                ranges: Vec::new(),
            });
        of_table.rows += receipt.rows;
        of_table.counts.add(receipt.counts);
        let Origin { input, at } = receipt.upto;
        of_table.upto = of_table.upto.max((input, at));
        of_table.ranges.extend(receipt.ranges);
    }
    for of_table in receipts.values_mut() {
        let upto = of_table.upto;
        of_table.ranges.retain(|&(source, _, stop)| (source, stop) > upto);
        of_table.ranges.sort_unstable();
    }
    let lives = session.lives().await?;
    let terms: BTreeMap<String, String> = parse(row.get(9))?;
    let entry = session.entry(row, &lives)?;
    let participants = match terms.contains_key("shared") {
        true => named.participants(client).await?,
        false => Vec::new(),
    };
    let counts = match named.find(client).await? {
        Some(_) if !participants.is_empty() => sum(participants.iter().map(|(_, at)| at.counts)),
        // The rows of a writer have no receipts.
        Some(found) if entry.state == FINISHED || terms.contains_key("writer") => found.counts,
        _ => sum(receipts.values().map(|of_table| of_table.counts)),
    };
    Ok(Details {
        entry,
        counts,
        terms,
        position: row.get::<_, Option<&str>>(11).and_then(position),
        positions: participants
            .into_iter()
            .map(|(name, at)| (name, at.position.as_deref().and_then(position)))
            .collect(),
        receipts: receipts.into_values().collect(),
    })
}

fn sum(counts: impl Iterator<Item = RowCounts>) -> RowCounts {
    counts.fold(RowCounts::default(), |mut sum, counts| {
        sum.add(counts);
        sum
    })
}

/// Returns a position as JSON. The Rust API accepts any text as a position.
fn position(text: &str) -> Option<Box<RawValue>> {
    RawValue::from_string(text.to_owned()).or_else(|_| to_raw_value(text)).ok()
}

/// Removes a load from the ledger. Its rows stay in the table.
///
/// # Errors
///
/// Fails if the ledger has no such load, or if it is running.
pub async fn forget(target: &Target, schema: &str, id: &str) -> Result<()> {
    let Some(session) = LookupSession::open(target, schema, Access::Write).await? else {
        return Err(unknown(id));
    };
    if Participant::new(&session.schema, id).find(&session.client).await?.is_none() {
        return Err(unknown(id));
    }
    if !session.forget(id).await? {
        return Err(Error::new(Kind::Server, format!("load {id} is running"))
            .with_sqlstate("55006")
            .with_hint("Stop it first, or wait until it ends."));
    }
    exchange::drop_leftovers(&session.client).await
}

/// Removes all loads that `filter` selects from the ledger, or only the unfinished ones. Also drops the
/// leftovers of exchanges that have died.
pub async fn forget_all(
    target: &Target,
    schema: &str,
    filter: &Filter,
    only_unfinished: bool,
) -> Result<Forgotten> {
    let mut forgotten = Forgotten::default();
    let Some(session) = LookupSession::open(target, schema, Access::Write).await? else {
        return Ok(forgotten);
    };
    for LedgerEntry { id, state, .. } in session.entries(filter).await? {
        if only_unfinished && state == FINISHED {
            continue;
        }
        match session.forget(&id).await? {
            true => forgotten.loads.push(id),
            false => forgotten.running.push(id),
        }
    }
    exchange::drop_leftovers(&session.client).await?;
    Ok(forgotten)
}

/// The state of a finished load.
const FINISHED: &str = "finished";

/// A session that queries a ledger.
struct LookupSession {
    client: Client,
    schema: Schema,
    /// The user's search_path, by which the names of tables are resolved.
    search_path: String,
}

impl LookupSession {
    /// Connects to the server; returns `None` if there is no ledger.
    async fn open(target: &Target, schema: &str, access: Access) -> Result<Option<Self>> {
        let (client, schema) = (connect(target).await?, Schema::new(schema));
        let search_path = client.query_one(SEARCH_PATH, &[]).await?.get(0);
        client.batch_execute(&format!("{PG_CATALOG_ONLY}; {DURABLE}")).await?;
        let is_there = schema.open(&client, access).await?;
        Ok(is_there.then_some(Self { client, schema, search_path }))
    }

    async fn entries(&self, filter: &Filter) -> Result<Vec<LedgerEntry>> {
        let (rows, lives) = (self.rows(None, filter).await?, self.lives().await?);
        rows.iter().map(|row| self.entry(row, &lives)).collect()
    }

    async fn rows(&self, id: Option<&str>, filter: &Filter) -> Result<Vec<Row>> {
        let Filter { table, older_than } = filter;
        let oid = match table {
            Some(table) => self.find(table).await?,
            None => None,
        };
        let list = self.schema.sql(sql::LIST);
        match self.client.query(&list, &[&id, &oid, &table, &older_than]).await {
            Ok(rows) => Ok(rows),
            Err(error) => Err(self.schema.refused(&self.client, error).await),
        }
    }

    /// Returns the table with this name, if it still exists.
    async fn find(&self, table: &str) -> Result<Option<u32>> {
        self.client.query_one(SET_SEARCH_PATH, &[&self.search_path]).await?;
        let found = self.client.query_one(OID, &[&table]).await?.get(0);
        self.client.batch_execute(PG_CATALOG_ONLY).await?;
        Ok(found)
    }

    /// Returns the locks of the loads that are running.
    async fn lives(&self) -> Result<HashSet<i64>> {
        sql::lives(&self.schema, &self.client).await
    }

    fn entry(&self, row: &Row, lives: &HashSet<i64>) -> Result<LedgerEntry> {
        let named = Participant::new(&self.schema, row.get(0));
        let sources: Vec<Fingerprint> = parse(row.get(8))?;
        let rows = match row.get::<_, Option<i64>>(6) {
            Some(loaded) => loaded,
            None => row.get(7),
        };
        let terms: BTreeMap<String, String> = parse(row.get(9))?;
        let participants = match terms.contains_key("participant") {
            true if row.get::<_, &str>(2) == FINISHED => {
                Some(Members::from_json(row.get(8))?.count())
            }
            true => Some(row.get::<_, i64>(12).unsigned_abs()),
            false => None,
        };
        Ok(LedgerEntry {
            participants,
            state: match (row.get(2), named.is_running(lives)) {
                ("running", false) => "unfinished",
                (state, _) => state,
            }
            .to_owned(),
            id: named.id,
            table: row.get(1),
            attempts: row.get(3),
            begun: row.get(4),
            ended: row.get(5),
            rows: rows.unsigned_abs(),
            sources: sources.into_iter().map(|source| source.name).collect(),
            run: parse(row.get(10))?,
        })
    }

    /// Removes a load from the ledger. Returns false if it is running.
    async fn forget(&self, id: &str) -> Result<bool> {
        let Self { client, schema, .. } = self;
        let named = Participant::new(schema, id);
        let begun = client.simple_query(&named.begin_unless_running()).await?;
        if !sql::is_held(&begun) {
            client.batch_execute(ROLLBACK).await?;
            return match named.find_foreign_holder(client).await? {
                Some(holder) => Err(named.held_up(&holder)),
                None => Ok(false),
            };
        }
        match client.batch_execute(&named.forget()).await {
            Ok(()) => client.batch_execute(COMMIT).await?,
            Err(error) => return Err(schema.refused(client, error).await),
        }
        Ok(true)
    }
}

pub(super) fn unknown(id: &str) -> Error {
    Error::new(Kind::Server, format!("load {id} is not in the ledger"))
        .with_sqlstate("02000")
        .with_hint("List the loads with " + command("pgsluice ledger list") + ".")
}
