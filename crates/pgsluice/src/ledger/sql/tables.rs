//! The ledger's tables: a single list from which they are created and against which they are checked. Each
//! has a primary key, because a publication may include them: without a replica identity, rows could not be
//! deleted.
//!
//! ```text
//!     move         one row a table that is being partitioned
//!     load         one row a load: what it is, who runs it, what became of its rows
//!      |- tree     the partition trees that its rows were routed by
//!      |- receipt  which rows are in
//!      |- block    what was read of streams
//!      |- reject   rows that were left out
//!      '- witness  unlogged: a server that has crashed empties it with all other unlogged tables
//! ```
//!
//! A `participant` is a part of a load: the share of one process, or a position of writers that share the
//! load. Its name is empty for the load as a whole. Only the row in `load` is kept after the end of a load.

use super::schema::{FORMAT, MARK, Schema};
use crate::pg::sql::literal;

/// The definition of a table.
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) is_logged: bool,
    /// Name, type in `pg_catalog`, and whether the column is NOT NULL.
    columns: &'static [(&'static str, &'static str, bool)],
    /// The columns of the primary key, which is its only index.
    key: &'static [&'static str],
    comment: &'static str,
}

/// One row for each load, and for each part of a load. Only this table keeps its rows after the end of a
/// load.
pub(super) const LOAD: Table = Table {
    name: "load",
    is_logged: true,
    columns: &[
        ("id", "text", true),
        ("participant", "text", true),
        ("relation", "oid", true),
        ("name", "text", true),
        ("state", "text", true),
        ("attempt", "int4", true),
        ("terms", "jsonb", true),
        ("sources", "jsonb", true),
        ("run", "jsonb", true),
        ("position", "text", false),
        ("begun", "timestamptz", true),
        ("ended", "timestamptz", false),
        ("rows_read", "int8", false),
        ("rows_inserted", "int8", false),
        ("rows_updated", "int8", false),
        ("rows_deleted", "int8", false),
        ("rows_unchanged", "int8", false),
        ("rows_not_newer", "int8", false),
        ("rows_not_found", "int8", false),
        ("rows_duplicate", "int8", false),
        ("rows_skipped", "int8", false),
        ("rows_dropped", "int8", false),
        ("rows_rejected", "int8", false),
    ],
    key: &["id", "participant"],
    comment: "One row per load, or per part of a load. State: running or finished. Terms: the \
              settings that decide how the input is read and routed. Run: the process that \
              runs it, or ran it last. Position: for programs that load from a stream. A \
              finished load has no rows in the other tables.",
};

pub(super) const TABLES: [Table; 7] = [
    LOAD,
    Table {
        name: "tree",
        is_logged: true,
        columns: &[("load", "text", true), ("number", "int4", true), ("layout", "json", true)],
        key: &["load", "number"],
        comment: "The partition trees by which the rows of a load were routed.",
    },
    Table {
        name: "receipt",
        is_logged: true,
        columns: &[
            ("load", "text", true),
            ("participant", "text", true),
            ("number", "int8", true),
            ("tree", "int4", true),
            ("node", "int4", true),
            ("source", "int4", true),
            ("upto", "int8", true),
            ("sources", "_int4", true),
            ("starts", "_int8", true),
            ("stops", "_int8", true),
            ("rows", "int8", true),
            ("counts", "jsonb", false),
        ],
        key: &["number", "load", "participant"],
        comment: "The loaded rows of one node of a tree: all of its rows in sources before source, \
                  in this one those that begin before upto, and those that begin in starts[n] to \
                  stops[n] of sources[n], the latter excluded. Rows: their number. RowCounts: their \
                  outcomes, unless all were inserted or rejected.",
    },
    Table {
        name: "block",
        is_logged: true,
        columns: &[
            ("load", "text", true),
            ("participant", "text", true),
            ("source", "int4", true),
            ("start", "int8", true),
            ("stop", "int8", true),
            ("hash", "int8", true),
        ],
        key: &["load", "participant", "source", "start"],
        comment: "The blocks that were read from streams, which must be the same when a load is \
                  resumed.",
    },
    Table {
        name: "reject",
        is_logged: true,
        columns: &[
            ("load", "text", true),
            ("participant", "text", true),
            ("source", "int4", true),
            ("start", "int8", true),
        ],
        key: &["load", "participant", "source", "start"],
        comment: "The rows that are in the reject file, and not in the table.",
    },
    Table {
        name: "move",
        is_logged: true,
        columns: &[
            ("relation", "oid", true),
            ("name", "text", true),
            ("tree", "oid", true),
            ("log", "oid", false),
            ("load", "text", false),
            ("phase", "text", true),
            ("begun", "timestamptz", true),
            ("run", "jsonb", true),
        ],
        key: &["relation"],
        comment: "The tables that are being partitioned. Tree: the partitioned table that is to \
                  take the place of the relation. Log: the table of the keys that were changed meanwhile; \
                  NULL if nobody can change any. Load: the load that copies the rows; NULL if it is not \
                  in the ledger. Phase: copy, index, follow, verify or swap. Run: \
                  the process that does it. The swap, or an abort, removes the row.",
    },
    Table {
        name: "witness",
        is_logged: false,
        columns: &[("load", "text", true)],
        key: &["load"],
        comment: "Unlogged: a load that is missing here began before a crash of the server, which \
                  also emptied unlogged partitions.",
    },
];

impl Table {
    /// Returns all columns with their types, sorted by name, spelled like [`super::trust`] reads them from
    /// the catalogue.
    pub(super) fn shape(&self) -> String {
        let column = |(name, ty, is_needed): &(&str, &str, bool)| {
            format!("{name} {ty}{}", if *is_needed { " not null" } else { "" })
        };
        let mut columns: Vec<String> = self.columns.iter().map(column).collect();
        columns.sort();
        columns.join(", ")
    }

    /// Returns its index in the same spelling.
    pub(super) fn indexes(&self) -> String {
        format!("key {}", self.key.join(" "))
    }

    fn create(&self) -> String {
        let Self { name, is_logged, columns, key, .. } = self;
        let unlogged = if *is_logged { "" } else { "UNLOGGED " };
        let column = |(name, ty, is_needed): &(&str, &str, bool)| {
            format!("{name} pg_catalog.{ty}{}", if *is_needed { " NOT NULL" } else { "" })
        };
        let mut parts: Vec<String> = columns.iter().map(column).collect();
        parts.push(format!("PRIMARY KEY ({})", key.join(", ")));
        format!("CREATE {unlogged}TABLE {{ledger}}.{name} ({})", parts.join(", "))
    }
}

/// Returns the statements that create all tables in an existing schema.
pub(super) fn create(schema: &Schema) -> String {
    let tables = TABLES.iter().map(Table::create).collect::<Vec<_>>().join("; ");
    schema.sql(&format!("{tables}; {}", comments()))
}

/// Returns the statements that comment on each table; the comment on `load` has the number of the format.
fn comments() -> String {
    let comment = |table: &Table| {
        let text = match table.name {
            "load" => format!("{MARK}{FORMAT}. {}", table.comment),
            _ => table.comment.to_owned(),
        };
        format!("COMMENT ON TABLE {{ledger}}.{} IS {}", table.name, literal(text.as_bytes()))
    };
    TABLES.iter().map(comment).collect::<Vec<_>>().join("; ")
}
