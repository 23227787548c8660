//! Tables that are being partitioned, in the ledger.

use serde::Serialize;
use tokio_postgres::Client;
use tokio_postgres::types::Oid;

use super::{Access, Schema, running};
use crate::error::Result;
use crate::ledger::Run;
use crate::pg::sql::literal;
use crate::pg::template::fill;

/// Query for moves. A move is running while its lock is held; see [`LOCK`].
const LIST: &str = "
WITH logging AS (
    SELECT tgname, tgrelid, tgfoid FROM pg_catalog.pg_trigger
    WHERE NOT tgisinternal AND tgname {any} (ARRAY['pgsluice_log', 'pgsluice_truncate'])
),
marked AS (
    SELECT c.oid, c.relname, c.relowner, c.relnamespace, n.nspname,
           pg_catalog.format('%I.%I', n.nspname, c.relname) AS name
    FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid {eq} c.relnamespace
    JOIN pg_catalog.pg_description s ON s.objoid {eq} c.oid AND s.objsubid {eq} 0
    WHERE s.description {eq} {mark}
)
SELECT m.relation, m.name, t.name, m.phase, m.begun::pg_catalog.text, m.run::pg_catalog.text,
       CASE WHEN l.relowner {eq} own.relowner THEN pg_catalog.col_description(l.oid, 1) END,
       own.oid IS NOT NULL,
       ARRAY(SELECT pg_catalog.format('DROP TRIGGER %I ON %I.%I', g.tgname, n.nspname, own.relname)
             FROM logging g JOIN pg_catalog.pg_namespace n ON n.oid {eq} own.relnamespace
             WHERE g.tgrelid {eq} own.oid AND m.log IS NOT NULL)
       OPERATOR(pg_catalog.||)
       ARRAY(SELECT pg_catalog.format('DROP FUNCTION %I.%I()', n.nspname, p.proname)
             FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid {eq} p.pronamespace
             WHERE p.prosecdef AND p.pronargs {eq} 0::pg_catalog.int2 AND m.log IS NOT NULL
               AND (p.proowner {eq} own.relowner
                    AND EXISTS (SELECT FROM logging g WHERE g.tgrelid {eq} own.oid AND g.tgfoid {eq} p.oid)
                    OR p.proowner {eq} l.relowner AND p.pronamespace {eq} l.relnamespace
                    AND (p.proname {eq} l.relname
                         OR p.proname {eq} pg_catalog.concat(l.relname, '_truncate')::pg_catalog.name)))
       OPERATOR(pg_catalog.||)
       ARRAY(SELECT pg_catalog.format('DROP TABLE %s', d.name)
             FROM (SELECT 1, pg_catalog.format('%I.%I', n.nspname, c.relname)
                   FROM pg_catalog.pg_inherits i
                   JOIN pg_catalog.pg_class c ON c.oid {eq} i.inhrelid AND c.relowner {eq} l.relowner
                   JOIN pg_catalog.pg_namespace n ON n.oid {eq} c.relnamespace
                   WHERE i.inhparent {eq} l.oid
                   UNION ALL VALUES (2, l.name), (3, t.name)) AS d (nth, name)
             WHERE d.name IS NOT NULL ORDER BY d.nth),
       l.oid IS NOT NULL AND t.oid IS NOT NULL
       AND (m.load IS NULL OR EXISTS (SELECT FROM ONLY {ledger}.load a WHERE a.id {eq} m.load)), m.load,
       EXISTS (SELECT FROM pg_catalog.pg_locks l
               JOIN pg_catalog.pg_database d ON d.oid {eq} l.database
               WHERE l.locktype {eq} 'advisory' AND l.granted AND l.objsubid {eq} 2::pg_catalog.int2
                 AND d.datname {eq} pg_catalog.current_database()
                 AND l.classid {eq} {lock}::pg_catalog.oid AND l.objid {eq} m.relation)
FROM ONLY {ledger}.move m
LEFT JOIN pg_catalog.pg_class own ON own.oid {eq} m.relation
LEFT JOIN marked t ON t.oid {eq} m.tree
LEFT JOIN marked l ON l.oid {eq} m.log
ORDER BY m.begun, m.relation";

/// Query for tables that have triggers of a move and are not among `$1`: the oid, the name, and the
/// statements that drop the triggers, their functions, the log and the tree, as far as these belong to the
/// owner of the table.
const LOST: &str = "
WITH logging AS (
    SELECT own.oid, own.relname, own.relowner, own.relnamespace, g.tgname, p.proname, p.pronamespace,
           pg_catalog.format('%I.%I', n.nspname, own.relname) AS name,
           p.prosecdef AND p.pronargs {eq} 0::pg_catalog.int2 AND p.proowner {eq} own.relowner AS is_own
    FROM pg_catalog.pg_trigger g
    JOIN pg_catalog.pg_class own ON own.oid {eq} g.tgrelid
    JOIN pg_catalog.pg_namespace n ON n.oid {eq} own.relnamespace
    JOIN pg_catalog.pg_proc p ON p.oid {eq} g.tgfoid
    WHERE NOT g.tgisinternal AND g.tgname {any} (ARRAY['pgsluice_log', 'pgsluice_truncate'])
      AND NOT own.oid {any} ($1)
),
beside AS (
    SELECT l.oid AS own, c.oid, c.relkind, pg_catalog.format('%I.%I', n.nspname, c.relname) AS name
    FROM logging l
    JOIN pg_catalog.pg_class c ON c.relowner {eq} l.relowner
         AND (c.relnamespace {eq} l.pronamespace AND c.relname {eq} l.proname AND l.tgname {eq} 'pgsluice_log'
              OR c.relnamespace {eq} l.relnamespace AND c.relkind {eq} 'p'
                 AND c.relname {eq} pg_catalog.concat(l.relname, '_new')::pg_catalog.name AND l.tgname {eq} 'pgsluice_log')
    JOIN pg_catalog.pg_namespace n ON n.oid {eq} c.relnamespace
    JOIN pg_catalog.pg_description s ON s.objoid {eq} c.oid AND s.objsubid {eq} 0
    WHERE s.description {eq} {mark}
)
SELECT l.oid, l.name,
       pg_catalog.array_agg(pg_catalog.format('DROP TRIGGER %I ON %s', l.tgname, l.name))
       OPERATOR(pg_catalog.||)
       pg_catalog.array_agg(pg_catalog.format('DROP FUNCTION %I.%I()', n.nspname, l.proname)) FILTER (WHERE l.is_own)
       OPERATOR(pg_catalog.||)
       ARRAY(SELECT pg_catalog.format('DROP TABLE %I.%I', n.nspname, c.relname)
             FROM beside b
             JOIN pg_catalog.pg_inherits i ON i.inhparent {eq} b.oid AND b.relkind {eq} 'r'
             JOIN pg_catalog.pg_class c ON c.oid {eq} i.inhrelid AND c.relowner {eq} l.relowner
             JOIN pg_catalog.pg_namespace n ON n.oid {eq} c.relnamespace
             WHERE b.own {eq} l.oid)
       OPERATOR(pg_catalog.||)
       ARRAY(SELECT pg_catalog.format('DROP TABLE %s', b.name) FROM beside b WHERE b.own {eq} l.oid)
FROM logging l
JOIN pg_catalog.pg_namespace n ON n.oid {eq} l.pronamespace
GROUP BY l.oid, l.name, l.relowner
ORDER BY l.name";

/// The phase of a move that is not in the ledger although its triggers exist, for example in a restored dump.
const LOST_PHASE: &str = "lost";

/// The first key of the advisory lock that the move of a table holds; the second is the table's oid.
pub(crate) const LOCK: i32 = i32::from_be_bytes(*b"pgsm");

/// The comment on a tree that is being built.
pub(crate) const MARK: &str =
    "pgsluice partition: to take the place of a table. To drop it, run pgsluice partition abort.";

/// A table that is being partitioned.
#[derive(Clone, Debug, Serialize)]
pub struct MoveEntry {
    /// The table's oid.
    #[serde(skip)]
    pub(crate) relation: Oid,
    /// The table.
    pub table: String,
    /// The partitioned table under construction, qualified and quoted; `None` if it no longer exists.
    pub tree: Option<String>,
    /// The state from which another process can continue, as JSON: a comment on a column of the log. It
    /// contains SQL, so it is trusted only if the owner of the table wrote it, whose triggers COPY would run
    /// anyway.
    #[serde(skip)]
    pub(crate) state: Option<String>,
    /// Whether the table exists.
    #[serde(skip)]
    pub(crate) exists: bool,
    /// The statements that drop what the move created: triggers, functions of the owner of the table or the
    /// log, log and tree.
    #[serde(skip)]
    pub(crate) drops: Vec<String>,
    /// Whether the tree and the log exist, and the ledger has the load that copies the rows.
    #[serde(skip)]
    is_whole: bool,
    /// The load that copies the rows, if it is in the ledger.
    #[serde(skip)]
    pub(crate) load: Option<String>,
    /// The phase: copy, index, follow, verify or swap; `lost` if the ledger does not have the move.
    pub phase: String,
    /// The time when it began, as the server spells it.
    pub begun: String,
    /// The process that performs it, or last did.
    pub run: Run,
    /// Whether that process holds the lock of the move.
    pub is_running: bool,
}

impl MoveEntry {
    /// Whether it is not in the ledger although its triggers exist.
    pub fn is_lost(&self) -> bool {
        self.phase == LOST_PHASE
    }

    /// Whether another process can continue it.
    pub fn can_go_on(&self) -> bool {
        self.is_whole && self.state.is_some()
    }
}

impl Schema {
    /// Returns the tables that are being partitioned, the earliest first.
    pub(crate) async fn moves(&self, client: &Client) -> Result<Vec<MoveEntry>> {
        let mut moves = match self.open(client, Access::Read).await? {
            true => self.read_entries(client).await?,
            false => Vec::new(),
        };
        let known: Vec<Oid> = moves.iter().map(|it| it.relation).collect();
        let mark = literal(MARK.as_bytes());
        let rows = client.query(&fill(LOST, &[("mark", &mark)]), &[&known]).await?;
        let lost = |row: &tokio_postgres::Row| MoveEntry {
            relation: row.get(0),
            table: row.get(1),
            tree: None,
            state: None,
            exists: true,
            drops: row.get(2),
            is_whole: false,
            load: None,
            phase: LOST_PHASE.to_owned(),
            begun: String::new(),
            run: Run::default(),
            is_running: false,
        };
        moves.extend(rows.iter().map(lost));
        Ok(moves)
    }

    async fn read_entries(&self, client: &Client) -> Result<Vec<MoveEntry>> {
        let ledger = self.quoted();
        let (lock, mark) = (LOCK.to_string(), literal(MARK.as_bytes()));
        let sql = fill(LIST, &[("ledger", &ledger), ("lock", &lock), ("mark", &mark)]);
        let entry = |row: &tokio_postgres::Row| MoveEntry {
            relation: row.get(0),
            table: row.get(1),
            tree: row.get(2),
            phase: row.get(3),
            begun: row.get(4),
            run: serde_json::from_str(row.get(5)).unwrap_or_default(),
            state: row.get(6),
            exists: row.get(7),
            drops: row.get(8),
            is_whole: row.get(9),
            load: row.get(10),
            is_running: row.get(11),
        };
        Ok(client.query(&sql, &[]).await?.iter().map(entry).collect())
    }

    /// Returns the statement that records a move of table `relation` into the tree `tree` with the log `log`,
    /// all spelled as in SQL, and the load that copies the rows.
    pub(crate) fn record_move(
        &self,
        relation: &str,
        label: &str,
        tree: &str,
        (log, load): (Option<&str>, Option<&str>),
        run: &Run,
    ) -> String {
        let text = |text: &str| literal(text.as_bytes());
        let [log, load] = [log, load].map(|it| it.map_or_else(|| "NULL".to_owned(), text));
        let run = serde_json::to_string(run).unwrap_or_default();
        format!(
            "INSERT INTO {}.move (relation, name, tree, log, load, phase, begun, run)
             VALUES ({}::pg_catalog.regclass::pg_catalog.oid, {}, {}::pg_catalog.regclass::pg_catalog.oid,
                     {log}::pg_catalog.regclass::pg_catalog.oid, {load}, 'copy', pg_catalog.now(), {})",
            self.quoted(),
            text(relation),
            text(label),
            text(tree),
            running(&text(&run)),
        )
    }

    /// Returns the statement that records the phase of a table's move.
    pub(crate) fn advance_move(&self, relation: Oid, phase: &str) -> String {
        self.update_move(relation, &format!("phase = {}", literal(phase.as_bytes())))
    }

    fn update_move(&self, relation: Oid, set: &str) -> String {
        let update =
            "UPDATE ONLY {ledger}.move SET {set} WHERE relation {eq} {relation}::pg_catalog.oid";
        fill(
            update,
            &[("ledger", &self.quoted()), ("set", set), ("relation", &relation.to_string())],
        )
    }

    /// Returns the statement that records which process continues a move.
    pub(crate) fn take_over_move(&self, relation: Oid, run: &Run) -> String {
        let run = serde_json::to_string(run).unwrap_or_default();
        self.update_move(relation, &format!("run = {}", running(&literal(run.as_bytes()))))
    }

    /// Returns the statement that removes the move of a table.
    pub(crate) fn forget_move(&self, relation: Oid) -> String {
        let delete =
            "DELETE FROM ONLY {ledger}.move WHERE relation {eq} {relation}::pg_catalog.oid";
        fill(delete, &[("ledger", &self.quoted()), ("relation", &relation.to_string())])
    }
}
