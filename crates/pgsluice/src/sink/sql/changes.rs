//! Statements that change existing rows. The rows of a payload are copied into a stage, a temporary table of
//! the session, and are moved from there into their leaf in one transaction.
//!
//! Names are qualified, because triggers and defaults must see the user's search_path.

use pgsluice_core::catalog::{Relation, quote_identifier};

use super::stage::{number_column, stage};
use crate::pg::compared::{ComparedColumn, has_key};
use crate::pg::template::{eq, fill, lt, ne};

/// The application of the rows of the stage to one table.
#[derive(Clone, Debug)]
pub(crate) struct Apply<'a> {
    /// The table.
    pub(crate) into: &'a Relation,
    /// Whether the table is partitioned, so that the rows go to its leaves.
    pub(crate) has_leaves: bool,
    /// The columns that are written.
    pub(crate) columns: &'a [String],
    /// The columns that identify a row.
    pub(crate) key: &'a [ComparedColumn],
    /// Whether a conflict with any constraint makes a row an existing one.
    pub(crate) any_constraint: bool,
    /// The columns of the stage, if its rows are numbered and tried in that order.
    pub(crate) by_number: Option<&'a [String]>,
    /// Whether existing rows are updated before the others are inserted. This takes less time and checks only
    /// the columns that are set, but fails if another session inserts one of the keys.
    pub(crate) updates_first: bool,
    /// Whether NULL equals NULL.
    pub(crate) joins_nulls: bool,
    /// The column whose value must be greater than in the existing row.
    pub(crate) newer: Option<&'a str>,
    /// The column that marks rows as deletions, and whether it is a boolean.
    pub(crate) delete_when: Option<(&'a str, bool)>,
    /// Columns whose type stores equal values identically.
    pub(crate) exact: &'a [String],
    /// Whether rows are inserted in the order of their keys.
    pub(crate) sorts_keys: bool,
    pub(crate) how: ConflictAction<'a>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum ConflictAction<'a> {
    /// Rows whose key exists are skipped.
    Skip,
    /// Existing rows are updated in these columns. Other rows are inserted if `inserts`, and skipped
    /// otherwise.
    Update { set: &'a [String], inserts: bool },
    /// Existing rows are deleted.
    Delete,
}

/// An expression that is true for a returned row that was inserted, and false for one that was [`marked`]. It
/// removes the mark.
///
/// A row that is returned through another table than its leaf has no `xmax`, and the server's counters
/// include rows that foreign key actions have changed. So the row itself is marked: it is returned before the
/// next one is stored.
const IS_UNMARKED: &str = "CASE WHEN pg_catalog.current_setting('pgsluice.updates', true) {eq} 'yes' \
     THEN pg_catalog.set_config('pgsluice.updates', 'no', true) {ne} 'no' ELSE true END";

/// The counts that the statements report for one leaf ([`Apply::statements`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Applied {
    /// The leaf's oid; 0 for all leaves.
    pub(crate) leaf: u32,
    pub(crate) inserted: i64,
    pub(crate) updated: i64,
    /// Rows whose key existed, if nothing is inserted.
    pub(crate) matched: i64,
    /// Rows that request a deletion; those whose key existed; and those that deleted a row.
    pub(crate) deleting: i64,
    pub(crate) found: i64,
    pub(crate) deleted: i64,
}

impl Applied {
    /// Reads a row of an answer.
    pub(crate) fn from_answer(row: &tokio_postgres::SimpleQueryRow) -> Self {
        let number = |column: usize| row.get(column).and_then(|text| text.parse().ok());
        let count = |column: usize| number(column).unwrap_or_default();
        Self {
            leaf: row.get(0).and_then(|text| text.parse().ok()).unwrap_or_default(),
            inserted: count(1),
            updated: count(2),
            matched: count(3),
            deleting: count(4),
            found: count(5),
            deleted: count(6),
        }
    }

    /// Reads a row of the answer to [`Apply::insert`].
    pub(crate) fn from_insert(row: &tokio_postgres::Row) -> Self {
        Self { leaf: row.get(0), inserted: row.get(1), updated: row.get(2), ..Self::default() }
    }

    /// Returns the sum of both.
    pub(crate) fn with(self, other: &Self) -> Self {
        Self {
            leaf: self.leaf,
            inserted: self.inserted + other.inserted,
            updated: self.updated + other.updated,
            matched: self.matched + other.matched,
            deleting: self.deleting + other.deleting,
            found: self.found + other.found,
            deleted: self.deleted + other.deleted,
        }
    }
}

impl Apply<'_> {
    /// Returns the statements. Each row of their answers has the fields of [`Applied`] in order.
    pub(crate) fn statements(&self) -> String {
        let statements = match self.how {
            ConflictAction::Delete => return self.delete("true"),
            ConflictAction::Skip if self.updates_first => self.insert_absent(&[]),
            ConflictAction::Update { set, inserts: true } if self.updates_first => {
                self.insert_absent(set)
            }
            ConflictAction::Skip | ConflictAction::Update { inserts: true, .. } => {
                self.insert(&self.rows_to_store())
            }
            ConflictAction::Update { set, inserts: false } => self.update(set),
        };
        match self.flag() {
            Some(flag) => format!("{statements}; {}", self.delete(&flag)),
            None => statements,
        }
    }

    /// Returns the condition for rows of the stage that delete, if some may.
    fn flag(&self) -> Option<String> {
        self.delete_when.map(is_flagged)
    }

    /// Returns the rows of the stage that do not delete.
    fn rows_to_store(&self) -> String {
        match self.flag() {
            Some(flag) => format!("{} WHERE ({flag}) IS NOT TRUE", stage()),
            None => stage().to_string(),
        }
    }

    /// Returns the statement that inserts `rows` and applies the conflict action to existing ones.
    pub(crate) fn insert(&self, rows: &str) -> String {
        let Self { into, columns, key, .. } = self;
        let (action, is_new) = match self.how {
            ConflictAction::Update { set: set @ [_, ..], .. } => {
                let (assigned, changes) =
                    (assignments(set, "excluded"), self.changes(set, "excluded"));
                let (changes, is_new) = match self.has_leaves {
                    // An existing row is locked before it is updated.
                    false => (changes, format!("xmax {eq} 0")),
                    true => (mark_if(&changes), fill(IS_UNMARKED, &[])),
                };
                (format!("UPDATE SET {assigned} WHERE {changes}"), is_new)
            }
            _ => ("NOTHING".to_owned(), "true".to_owned()),
        };
        let columns = list(columns, "");
        let any = self.any_constraint;
        let arbiter = || key.iter().map(ComparedColumn::arbiter).collect::<Vec<_>>().join(", ");
        let target = if any { String::new() } else { format!(" ({})", arbiter()) };
        let order = match self.by_number {
            Some(columns) => vec![quote_identifier(&number_column(columns))],
            None if self.sorts_keys => {
                key.iter().map(|column| quote_identifier(&column.name)).collect()
            }
            None => Vec::new(),
        };
        let order = match &order[..] {
            [] => String::new(),
            order => format!(" ORDER BY {}", order.join(", ")),
        };
        format!(
            "WITH done AS (\
             INSERT INTO {into} AS t ({columns}) OVERRIDING SYSTEM VALUE SELECT {columns} FROM {rows}{order} \
             ON CONFLICT{target} DO {action} RETURNING tableoid AS leaf, {is_new} AS is_new) \
             SELECT leaf, pg_catalog.count(*) FILTER (WHERE is_new), \
             pg_catalog.count(*) FILTER (WHERE NOT is_new), 0, 0, 0, 0 \
             FROM done GROUP BY leaf"
        )
    }

    /// Sets the columns `set` of existing rows, and inserts the others. Both happen in one statement, so that
    /// both halves see the same rows.
    fn insert_absent(&self, set: &[String]) -> String {
        let Self { into, columns, .. } = self;
        let (rows, columns, same) = (self.rows_to_store(), list(columns, ""), self.same_key());
        let table = self.lookup_table();
        format!(
            "WITH updated AS ({}), inserted AS (\
             INSERT INTO {into} ({columns}) OVERRIDING SYSTEM VALUE \
             SELECT {columns} FROM (SELECT * FROM {rows}) AS s \
             WHERE NOT EXISTS (SELECT FROM {table} AS t WHERE {same}) RETURNING tableoid AS leaf) \
             SELECT leaf, pg_catalog.count(*) FILTER (WHERE is_new), \
             pg_catalog.count(*) FILTER (WHERE NOT is_new), 0, 0, 0, 0 \
             FROM (SELECT leaf, false AS is_new FROM updated \
             UNION ALL SELECT leaf, true AS is_new FROM inserted) AS done GROUP BY leaf",
            self.update_existing(set)
        )
    }

    /// Returns the statement that sets the columns `set` of existing rows.
    fn update_existing(&self, set: &[String]) -> String {
        if set.is_empty() {
            return "SELECT 0::pg_catalog.oid AS leaf WHERE false".to_owned();
        }
        format!(
            "UPDATE {} AS t SET {} FROM (SELECT * FROM {}) AS s WHERE {} AND {} RETURNING t.tableoid AS leaf",
            self.lookup_table(),
            assignments(set, "s"),
            self.rows_to_store(),
            self.same_key(),
            self.changes(set, "s")
        )
    }

    fn update(&self, set: &[String]) -> String {
        let (table, rows, same) = (self.lookup_table(), self.rows_to_store(), self.same_key());
        let done = self.update_existing(set);
        format!(
            "WITH done AS ({done}) SELECT 0, 0, (SELECT pg_catalog.count(*) FROM done), \
             (SELECT pg_catalog.count(*) FROM (SELECT * FROM {rows}) AS s JOIN {table} AS t ON {same}), 0, 0, 0"
        )
    }

    /// Returns the statement that deletes the rows with the keys of the rows of the stage for which `flag`
    /// holds.
    fn delete(&self, flag: &str) -> String {
        let (table, stage, same, newer) =
            (self.lookup_table(), stage(), self.same_key(), self.is_newer("s"));
        let deleting = format!("{stage} WHERE {flag}");
        let found = match self.newer {
            None => "(SELECT pg_catalog.count(*) FROM done)".to_owned(),
            Some(_) => format!(
                "(SELECT pg_catalog.count(*) FROM (SELECT * FROM {deleting}) AS s JOIN {table} AS t ON {same})"
            ),
        };
        format!(
            "WITH done AS (\
             DELETE FROM {table} AS t USING (SELECT * FROM {deleting}) AS s WHERE {same}{newer} RETURNING 1) \
             SELECT 0, 0, 0, 0, (SELECT pg_catalog.count(*) FROM {deleting}), {found}, \
             (SELECT pg_catalog.count(*) FROM done)"
        )
    }

    /// Returns the table in which existing rows are looked up. Tables that inherit from a leaf are excluded,
    /// because its index does not know their keys.
    fn lookup_table(&self) -> String {
        match self.has_leaves {
            true => self.into.to_string(),
            false => format!("ONLY {}", self.into),
        }
    }

    /// Returns the condition that a row of the stage and a row of the table have the same key.
    fn same_key(&self) -> String {
        has_key(self.key, "s", self.joins_nulls)
    }

    /// Returns the condition that an update would change the row of the table. Columns whose type stores
    /// equal values identically are compared first, because it takes longer to build records of two rows. The
    /// records decide where a value is NULL.
    fn changes(&self, set: &[String], new: &str) -> String {
        let exact =
            set.iter().filter(|name| self.exact.contains(name)).map(|name| quote_identifier(name));
        let exact = exact.map(|name| format!("t.{name} {ne} {new}.{name}"));
        let differs: Vec<String> = exact.chain([differs(set, new)]).collect();
        format!("({}){}", differs.join(" OR "), self.is_newer(new))
    }

    fn is_newer(&self, new: &str) -> String {
        self.newer.map_or_else(String::new, |column| format!(" AND {}", is_newer(column, new)))
    }
}

/// Returns the condition that the stored values of some `columns` differ between the row `t` of a table and
/// the row `new`.
pub(crate) fn differs(columns: &[String], new: &str) -> String {
    format!(
        "ROW({})::pg_catalog.record OPERATOR(pg_catalog.*<>) ROW({})::pg_catalog.record",
        list(columns, "t."),
        list(columns, &format!("{new}."))
    )
}

/// Returns the condition that the row `new` has a greater value in a column. NULL is older than any value.
pub(crate) fn is_newer(column: &str, new: &str) -> String {
    let column = quote_identifier(column);
    format!(
        "(t.{column} {lt} {new}.{column} \
         OR t.{column} IS NULL AND {new}.{column} IS NOT NULL)"
    )
}

/// Returns the condition that a row requests a deletion by this column, which is a boolean or not.
pub(crate) fn is_flagged((column, is_boolean): (&str, bool)) -> String {
    let holds = if is_boolean { "IS TRUE" } else { "IS NOT NULL" };
    format!("{} {holds}", quote_identifier(column))
}

/// Returns the condition `changes`, extended to mark a row for [`IS_UNMARKED`] if it holds.
fn mark_if(changes: &str) -> String {
    format!(
        "CASE WHEN {changes} THEN pg_catalog.set_config('pgsluice.updates', 'yes', true) IS NOT NULL ELSE false END"
    )
}

fn assignments(set: &[String], new: &str) -> String {
    let assigned: Vec<String> = set
        .iter()
        .map(|name| quote_identifier(name))
        .map(|name| format!("{name} = {new}.{name}"))
        .collect();
    assigned.join(", ")
}

fn list(columns: &[String], before: &str) -> String {
    let columns: Vec<String> =
        columns.iter().map(|name| format!("{before}{}", quote_identifier(name))).collect();
    columns.join(", ")
}
