//! The query for another load that has loaded, or begun to load, the same inputs into the same table.

use std::mem;

use tokio_postgres::{Client, SimpleQueryMessage, SimpleQueryRow};

use super::Participant;
use crate::pg::sql::literal;
use crate::pg::template::{eq, fill, ge, gt, minus, ne};

/// A load of the same input.
pub(crate) struct Earlier {
    pub(crate) id: String,
    /// The time when it finished, as the server spells it; `None` if it is unfinished.
    pub(crate) ended: Option<String>,
}

/// The part of the ledger that is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchScope {
    /// All loads, including unfinished ones: the answer decides whether rows are loaded.
    All,
    /// Finished loads in this number of blocks that were added last, about seven loads each, because a
    /// warning must be cheap.
    Last(u32),
}

/// Query without a result.
pub(crate) const NOTHING: &str = "SELECT WHERE false";

/// Query for the tables among `{tables}` that may hold rows, because they have at least one block, or because
/// their rows are elsewhere. Plain statements are used because a new session plans them fastest. The tables
/// themselves are not read: that would lock all partitions, and run policies and views of other roles.
const HOLDING: &str = "
SELECT c.relkind {any} (ARRAY['f', 'v']::pg_catalog.\"char\"[])
       OR pg_catalog.pg_relation_size(c.oid) {gt} 0
FROM pg_catalog.pg_class c WHERE c.oid {any} ({tables})";

/// Query for whether the partition of `{tables}` with the most writes may hold rows. It usually does, and
/// opening all partitions takes long. It needs PostgreSQL 15 or later, where statistics are in shared memory.
const MOST_WRITTEN: &str = "
SELECT pg_catalog.pg_relation_size(m.inhrelid) {gt} 0
FROM (SELECT i.inhrelid FROM pg_catalog.pg_inherits i WHERE i.inhparent {any} ({tables})
      ORDER BY pg_catalog.pg_stat_get_tuples_inserted(i.inhrelid) DESC LIMIT 1) m";

/// Query for their partitions.
const PARTITIONS: &str = "
SELECT i.inhrelid
FROM pg_catalog.pg_inherits i WHERE i.inhparent {any} ({tables})";

impl Participant {
    /// Returns the query for the last loads into the table `name` with `count` inputs that match the JSON
    /// `files`, unfinished ones first. It runs before each load; [`may_hold_rows`] only if it finds one.
    pub(crate) fn earlier(
        &self,
        name: &str,
        files: &str,
        count: usize,
        look: SearchScope,
    ) -> String {
        // This comes first, because the user's texts may contain placeholders.
        let ledger = self.sql("{ledger}");
        let load = literal(format!("{ledger}.load").as_bytes());
        let finished = format!("state {eq} 'finished' AND rows_inserted {gt} 0");
        let recent = match look {
            SearchScope::All => format!("(state {eq} 'running' OR {finished})"),
            SearchScope::Last(blocks) => format!(
                "{finished} AND ctid {ge} (
                     SELECT pg_catalog.format('(%s,0)', GREATEST(0,
                         pg_catalog.pg_relation_size({load}::pg_catalog.regclass)
                             OPERATOR(pg_catalog./) pg_catalog.current_setting('block_size')::pg_catalog.int8
                             {minus} {blocks}))::pg_catalog.tid)"
            ),
        };
        let max = if look == SearchScope::All { 1000 } else { 1 };
        // In a subquery, the name is resolved once instead of once for each load.
        let [name, files, id] = [name, files, &self.id].map(|text| literal(text.as_bytes()));
        // Only these rows are converted to text.
        format!(
            "SELECT id, ended::pg_catalog.text FROM (
                 SELECT id, ended FROM ONLY {ledger}.load
                 WHERE {recent}
                   AND relation {eq} (SELECT pg_catalog.to_regclass({name})::pg_catalog.oid)
                   AND participant {eq} '' AND id {ne} {id}
                   AND pg_catalog.jsonb_array_length(sources) {eq} {count}
                   AND sources OPERATOR(pg_catalog.@>) {files}::pg_catalog.jsonb
                 ORDER BY ended DESC NULLS FIRST LIMIT {max}) last"
        )
    }
}

impl Earlier {
    /// Reads a row of the answer to [`Participant::earlier`].
    pub(crate) fn from_row(row: &SimpleQueryRow) -> Option<Self> {
        Some(Self { id: row.get(0)?.to_owned(), ended: row.get(1).map(str::to_owned) })
    }
}

/// Whether the table `name` may still hold rows. Checks the partition with the most writes first, then level
/// by level.
pub(crate) async fn may_hold_rows(
    client: &Client,
    name: &str,
    version: u32,
) -> Result<bool, tokio_postgres::Error> {
    let of = |question: &str, tables: &str| fill(question, &[("tables", tables)]);
    let list = |tables: &str| format!("ARRAY[{tables}]::pg_catalog.oid[]");
    let root = list(&format!("pg_catalog.to_regclass({})", literal(name.as_bytes())));
    let leaves = format!("ARRAY({})", of(PARTITIONS, &root));
    let all = vec![of(HOLDING, &root), of(HOLDING, &leaves), of(PARTITIONS, &leaves)];
    let (mut questions, mut next) = (all, None);
    if version >= 150_000 {
        let first = [&root, &leaves].map(|tables| of(MOST_WRITTEN, tables));
        next = Some(mem::replace(&mut questions, first.into()));
    }
    loop {
        let answers = client.simple_query(&questions.join(";")).await?;
        let fields = answers.iter().filter_map(|answer| match answer {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        });
        let mut partitions = Vec::new();
        for field in fields {
            match field {
                "t" => return Ok(true),
                "f" => {}
                oid => partitions.push(oid),
            }
        }
        if let Some(all) = next.take() {
            questions = all;
            continue;
        }
        if partitions.is_empty() {
            return Ok(false);
        }
        let tables = list(&partitions.join(", "));
        questions = vec![of(HOLDING, &tables), of(PARTITIONS, &tables)];
    }
}
