//! Statements that create a partitioned table and its parts, and statements that rename.

use pgsluice_core::catalog::{Relation, quote_identifier};

use crate::ledger::sql::moves::MARK;
use crate::pg::sql::{alter_column, literal};

/// Puts tables without a tablespace clause into the database's tablespace.
pub(in crate::moving) const NO_DEFAULT_TABLESPACE: &str = "SET LOCAL default_tablespace = ''";

/// Creates the partitioned table `root` like `table`, without indexes, and with the additional
/// clauses `without`.
pub(in crate::moving) fn create_root(
    root: &Relation,
    (table, without): (&Relation, &str),
    key: &str,
    tablespace: &str,
) -> [String; 2] {
    [
        format!(
            "CREATE TABLE {root} (LIKE {table} INCLUDING ALL EXCLUDING INDEXES EXCLUDING STATISTICS{without}) \
             PARTITION BY {key}{tablespace}"
        ),
        format!("COMMENT ON TABLE {root} IS {}", literal(MARK.as_bytes())),
    ]
}

/// Revokes all privileges on a table from a role, whose name is quoted.
pub(in crate::moving) fn revoke(table: &Relation, role: &str) -> String {
    format!("REVOKE ALL ON {table} FROM {role}")
}

/// Sets the replica identity of a table to `FULL` or `NOTHING`.
pub(in crate::moving) fn replica_identity(table: &Relation, what: &str) -> String {
    format!("ALTER TABLE {table} REPLICA IDENTITY {what}")
}

/// Changes the owner of a table to a role, whose name is quoted.
pub(in crate::moving) fn give(table: &Relation, role: &str) -> String {
    format!("ALTER TABLE {table} OWNER TO {role}")
}

/// Creates an index. `definition` is the text after `USING`.
pub(in crate::moving) fn create_index(
    table: &Relation,
    name: &str,
    is_unique: bool,
    definition: &str,
) -> String {
    let unique = if is_unique { "UNIQUE " } else { "" };
    format!("CREATE {unique}INDEX {} ON {table} USING {definition}", quote_identifier(name))
}

/// Adds a constraint with this definition.
pub(in crate::moving) fn add_constraint(table: &Relation, name: &str, definition: &str) -> String {
    format!("ALTER TABLE {table} ADD CONSTRAINT {} {definition}", quote_identifier(name))
}

/// Drops a constraint.
pub(in crate::moving) fn drop_constraint(table: &Relation, name: &str) -> String {
    format!("ALTER TABLE {table} DROP CONSTRAINT {}", quote_identifier(name))
}

/// Comments on a constraint.
pub(in crate::moving) fn comment_on_constraint(
    table: &Relation,
    name: &str,
    comment: &str,
) -> String {
    format!(
        "COMMENT ON CONSTRAINT {} ON {table} IS {}",
        quote_identifier(name),
        literal(comment.as_bytes())
    )
}

/// Adds a foreign key without checking rows, and checks them in a second statement, which allows writes to
/// the other table.
pub(in crate::moving) fn add_foreign_key(
    table: &Relation,
    name: &str,
    definition: &str,
) -> [String; 2] {
    [
        add_constraint(table, name, definition) + " NOT VALID",
        format!("ALTER TABLE {table} VALIDATE CONSTRAINT {}", quote_identifier(name)),
    ]
}

/// Creates indexes in a tablespace; an empty name means the database's own.
pub(in crate::moving) fn in_tablespace(name: &str, statement: &str) -> String {
    format!("SET default_tablespace TO {}; {statement}", literal(name.as_bytes()))
}

/// Returns the statement for the user that makes a column NOT NULL; the names are quoted if necessary.
pub(in crate::moving) fn refuse_null(table: &str, column: &str) -> String {
    alter_column(table, column, "SET NOT NULL")
}

/// Gathers the statistics of a partitioned table without its partitions. Requires PostgreSQL 18.
pub(in crate::moving) fn analyze_only(table: &Relation) -> String {
    format!("ANALYZE ONLY {table}")
}

/// Gathers the statistics of a table and its partitions.
pub(in crate::moving) fn analyze(table: &Relation) -> String {
    format!("ANALYZE {table}")
}

/// Renames an object of a kind that has schemas.
pub(in crate::moving) fn rename(kind: &str, schema: &str, from: &str, to: &str) -> String {
    format!(
        "ALTER {kind} {}.{} RENAME TO {}",
        quote_identifier(schema),
        quote_identifier(from),
        quote_identifier(to)
    )
}

/// Renames a sequence whose name is quoted.
pub(in crate::moving) fn rename_sequence(sequence: &str, to: &str) -> String {
    format!("ALTER SEQUENCE {sequence} RENAME TO {}", quote_identifier(to))
}

/// Sets the sequence `new`, whose name is quoted, to the position of the sequence `old` of a schema. Skips as
/// many numbers as there can be sessions: each may be waiting for a number from the old sequence, and will
/// get it.
pub(in crate::moving) fn go_on(new: &str, schema: &str, old: &str) -> String {
    let old = format!("{}.{}", quote_identifier(schema), quote_identifier(old));
    format!(
        "SELECT setval({}, GREATEST(seqmin, LEAST(seqmax,
             last_value::numeric + current_setting('max_connections')::int4 * seqincrement))::int8, is_called)
         FROM {old}, pg_sequence WHERE seqrelid = {}::regclass",
        literal(new.as_bytes()),
        literal(old.as_bytes())
    )
}
