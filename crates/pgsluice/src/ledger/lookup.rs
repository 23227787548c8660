//! The ledger as people look at it: which loads there are, what is in of each, and its end.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;
use tokio_postgres::{Client, Row};

use super::begin::{parse, receipt};
use super::layout::Layout;
pub use super::settle::Settled;
use super::settle::settle;
use crate::error::{Error, Result};
use crate::kind::Kind;
use crate::pg::connect::connect_for_own;
use crate::pg::conninfo::Target;
use crate::pg::ledger::{self as sql, Presence, prepared};
use crate::source::Fingerprint;

/// A load, as the ledger has it.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// Its name.
    pub id: String,
    /// The table, as it was named then.
    pub table: String,
    /// `finished` when all is in; before, `running`, or `unfinished` if no run of it is at work; `in
    /// doubt` while transactions of it are prepared.
    pub state: String,
    /// How often it was begun.
    pub attempts: i32,
    /// When, in the server's words.
    pub begun: String,
    /// When it was finished.
    pub ended: Option<String>,
    /// Rows that are in; of one that is not finished, those that were sent.
    pub rows: u64,
    /// The inputs.
    pub sources: Vec<String>,
}

/// A load in full.
#[derive(Clone, Debug, Serialize)]
pub struct Details {
    /// What [`list`] says of it.
    #[serde(flatten)]
    pub entry: Entry,
    /// How its input is read and routed.
    pub terms: BTreeMap<String, String>,
    /// Transactions that are prepared, and neither committed nor rolled back.
    pub prepared: Vec<String>,
    /// What is in, by the tables that rows were routed to.
    pub receipts: Vec<OfTable>,
}

/// The receipts of one table.
#[derive(Clone, Debug, Serialize)]
pub struct OfTable {
    /// Its name when the load began.
    pub table: String,
    /// Rows that were sent.
    pub rows: u64,
    /// All of its rows that begin before this byte of this source, counted from 0, are in.
    pub upto: (u32, u64),
    /// So are those that begin in these: source, first byte, the byte behind the last.
    pub ranges: Vec<(u32, u64, u64)>,
}

/// All loads of the ledger, the newest first.
pub async fn list(target: &Target) -> Result<Vec<Entry>> {
    let client = connect_for_own(target).await?;
    if sql::look(&client).await? != Presence::Whole {
        return Ok(Vec::new());
    }
    let known = Known::read(&client).await?;
    rows(&client, None).await?.iter().map(|row| entry(row, &known)).collect()
}

/// One load.
pub async fn show(target: &Target, id: &str) -> Result<Details> {
    let client = connect_for_own(target).await?;
    if sql::look(&client).await? != Presence::Whole {
        return Err(unknown(id));
    }
    let rows = rows(&client, Some(id)).await?;
    let row = rows.first().ok_or_else(|| unknown(id))?;
    let trees = client.query(sql::TREES, &[&id]).await?;
    let trees: BTreeMap<i32, Layout> =
        trees.iter().map(|row| Ok((row.get(0), parse(row.get(1))?))).collect::<Result<_>>()?;
    let mut receipts: BTreeMap<(i32, usize), OfTable> = BTreeMap::new();
    for receipt in client.query(sql::RECEIPTS, &[&id]).await?.iter().map(receipt) {
        let of_table = receipts.entry((receipt.tree, receipt.node)).or_insert_with(|| OfTable {
            table: trees.get(&receipt.tree).map_or_else(String::new, |t| t.label(receipt.node)),
            rows: 0,
            upto: (0, 0),
            ranges: Vec::new(),
        });
        of_table.rows += receipt.rows;
        of_table.upto = of_table.upto.max(receipt.upto);
        of_table.ranges.extend(receipt.ranges);
    }
    for of_table in receipts.values_mut() {
        let upto = of_table.upto;
        of_table.ranges.retain(|&(source, _, stop)| (source, stop) > upto);
        of_table.ranges.sort_unstable();
    }
    let known = Known::read(&client).await?;
    let names = prepared::of_load(&known.prepared, id).into_iter().map(|prepared| prepared.name);
    Ok(Details {
        entry: entry(row, &known)?,
        terms: parse(row.get(11))?,
        prepared: names.collect(),
        receipts: receipts.into_values().collect(),
    })
}

/// Takes a load out of the ledger, unless it runs. Its rows stay; what is in doubt of them is settled.
pub async fn forget(target: &Target, id: &str) -> Result<Settled> {
    let client = connect_for_own(target).await?;
    if sql::look(&client).await? != Presence::Whole {
        return Err(unknown(id));
    }
    let settled = settle(&client, id).await?;
    let begun = client.simple_query(&sql::begin_unless_running(id)).await?;
    if settled == Settled::Busy || !sql::is_held(&begun) {
        return Err(Error::new(Kind::Server, format!("load {id} is running"))
            .sqlstate("55006")
            .hint("Stop it first, or wait until it has ended."));
    }
    if sql::find(&client, id).await?.is_none() {
        return Err(unknown(id));
    }
    match client.batch_execute(&sql::forget(id)).await {
        Ok(()) => {
            client.batch_execute("COMMIT").await?;
            Ok(settled)
        }
        Err(error) => Err(sql::refused(&client, error).await),
    }
}

async fn rows(client: &Client, id: Option<&str>) -> Result<Vec<Row>> {
    match client.query(sql::LIST, &[&id]).await {
        Ok(rows) => Ok(rows),
        Err(error) => Err(sql::refused(client, error).await),
    }
}

/// What is known of the loads beside their rows.
struct Known {
    /// The keys of the locks of those that run.
    lives: HashSet<i64>,
    prepared: Vec<(String, u32)>,
}

impl Known {
    async fn read(client: &Client) -> Result<Self> {
        let (lives, prepared) = (sql::lives(client).await?, prepared::all(client).await?);
        Ok(Self { lives, prepared })
    }
}

fn entry(row: &Row, known: &Known) -> Result<Entry> {
    let is_in_doubt = !prepared::of_load(&known.prepared, row.get(0)).is_empty();
    let sources: Vec<Fingerprint> = parse(row.get(10))?;
    let rows = match row.get::<_, Option<i64>>(7) {
        Some(loaded) => loaded,
        None => row.get(9),
    };
    Ok(Entry {
        state: match (row.get(2), sql::is_running(row.get(0), &known.lives)) {
            _ if is_in_doubt => "in doubt",
            ("running", false) => "unfinished",
            (state, _) => state,
        }
        .to_owned(),
        id: row.get(0),
        table: row.get(1),
        attempts: row.get(3),
        begun: row.get(4),
        ended: row.get(5),
        rows: rows.unsigned_abs(),
        sources: sources.into_iter().map(|source| source.name).collect(),
    })
}

fn unknown(id: &str) -> Error {
    Error::new(Kind::Server, format!("load {id} is not in the ledger"))
        .sqlstate("02000")
        .hint("pgsluice ledger list says which are.")
}
