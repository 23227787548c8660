//! Changes that can happen between a kill and the resume.

use super::tree::Tree;
use crate::harness::Chance;

/// A change of the server, or of the user that loads.
#[derive(Clone, Debug, Default)]
pub(super) struct Change {
    pub(super) name: &'static str,
    /// The statement that makes the change.
    pub(super) sql: String,
    pub(super) undo: Option<String>,
    /// Whether the other user resumes the load.
    pub(super) changes_user: bool,
    /// Whether the load is resumed only after the clock has passed the bound.
    pub(super) waits: bool,
    /// Whether `COPY root` would fail too, or would put rows elsewhere. Then the load may fail at any time,
    /// not only at the beginning.
    pub(super) may_fail: bool,
    /// Whether the load must succeed.
    pub(super) is_harmless: bool,
    /// A table that may have rows and is no longer a part of the tree.
    pub(super) apart: Option<String>,
}

/// The names that replace placeholders in statements.
pub(super) struct Names<'a> {
    pub(super) role: &'a str,
    pub(super) database: &'a str,
}

/// Returns a random change of the table `t` of this tree.
pub(super) fn change(chance: &mut Chance, tree: &Tree, names: &Names<'_>) -> Change {
    let leaf = &tree.leaves[chance.below(tree.leaves.len())];
    let harmless = Change { is_harmless: true, undo: Some(String::new()), ..Change::default() };
    match chance.below(17) {
        0 => Change { name: "nothing", ..harmless },
        1 => Change { name: "user", changes_user: true, is_harmless: false, ..harmless },
        2..=5 => right(chance, leaf, names.role),
        6..=8 => setting(chance, names.database),
        9 | 10 => Change { name: "the clock", waits: true, ..harmless },
        11 => undone(
            "renamed",
            format!("ALTER TABLE {leaf} RENAME TO t_other"),
            format!("ALTER TABLE t_other RENAME TO {leaf}"),
        ),
        12 => detached(leaf),
        13..=15 => change_key(chance),
        _ => divided(leaf),
    }
}

fn undone(name: &'static str, sql: String, undo: String) -> Change {
    Change { name, sql, undo: Some(undo), ..Change::default() }
}

fn right(chance: &mut Chance, leaf: &str, role: &str) -> Change {
    let granted = format!("GRANT USAGE ON SCHEMA s TO {role}");
    let revoked = format!("REVOKE USAGE ON SCHEMA s FROM {role}");
    match chance.below(4) {
        0 => undone("usage granted", granted, revoked),
        1 => undone("usage revoked", revoked, granted),
        2 => Change {
            // COPY needs this privilege too.
            may_fail: true,
            ..undone(
                "execution revoked",
                format!("REVOKE ALL ON FUNCTION s.f FROM PUBLIC, {role}"),
                format!("GRANT ALL ON FUNCTION s.f TO PUBLIC, {role}"),
            )
        },
        _ => Change {
            is_harmless: true,
            ..undone(
                "a leaf revoked",
                format!("REVOKE INSERT ON {leaf} FROM {role}"),
                format!("GRANT INSERT ON {leaf} TO {role}"),
            )
        },
    }
}

fn setting(chance: &mut Chance, database: &str) -> Change {
    let (name, value) = chance.one_of(&[
        ("extra_float_digits", "0"),
        ("DateStyle", "'SQL, DMY'"),
        ("TimeZone", "'America/New_York'"),
        ("IntervalStyle", "iso_8601"),
        ("search_path", "s, public"),
        ("bytea_output", "escape"),
        ("synchronous_commit", "on"),
    ]);
    Change {
        is_harmless: name == "synchronous_commit",
        ..undone(
            name,
            format!("ALTER DATABASE {database} SET {name} = {value}"),
            format!("ALTER DATABASE {database} RESET {name}"),
        )
    }
}

/// Returns a change of something that a key depends on. A row that a domain no longer accepts ends a load
/// wherever it is.
fn change_key(chance: &mut Chance) -> Change {
    let (name, sql, undo) = chance.one_of(&[
        ("label added", "ALTER TYPE mood ADD VALUE 'glum' BEFORE 'happy'", ""),
        (
            "clause dropped",
            "ALTER DOMAIN s.few DROP CONSTRAINT few",
            "ALTER DOMAIN s.few ADD CONSTRAINT few CHECK (VALUE < 900) NOT VALID",
        ),
        (
            "clause added",
            "ALTER DOMAIN s.few ADD CONSTRAINT fewer CHECK (VALUE < 899) NOT VALID",
            "ALTER DOMAIN s.few DROP CONSTRAINT fewer",
        ),
        ("column", "ALTER TABLE t ALTER v TYPE varchar(90)", "ALTER TABLE t ALTER v TYPE text"),
        ("default", "ALTER TABLE t ALTER w SET DEFAULT 2", "ALTER TABLE t ALTER w SET DEFAULT 1"),
        (
            "function replaced",
            "CREATE OR REPLACE FUNCTION s.f(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
                 'BEGIN RETURN ($1 + 1) % 4; END'",
            "CREATE OR REPLACE FUNCTION s.f(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
                 'BEGIN RETURN $1 % 4; END'",
        ),
    ]);
    let undo = (!undo.is_empty()).then(|| undo.to_owned());
    Change { name, sql: sql.to_owned(), undo, may_fail: true, ..Change::default() }
}

/// Returns a change that detaches a leaf with its rows, and attaches it again.
fn detached(leaf: &str) -> Change {
    Change {
        name: "detached",
        sql: format!(
            "CREATE TABLE kept AS SELECT pg_get_expr(relpartbound, 0) AS bound,
                 (SELECT inhparent::regclass::text FROM pg_inherits WHERE inhrelid = c.oid) AS parent
             FROM pg_class c WHERE relname = '{leaf}';
             DO $$ BEGIN EXECUTE format('ALTER TABLE %s DETACH PARTITION {leaf}', (SELECT parent FROM kept)); END $$"
        ),
        undo: Some(format!(
            "DO $$ BEGIN EXECUTE format('ALTER TABLE %s ATTACH PARTITION {leaf} %s',
                 (SELECT parent FROM kept), (SELECT bound FROM kept)); END $$; DROP TABLE kept"
        )),
        may_fail: true,
        apart: Some(leaf.to_owned()),
        ..Change::default()
    }
}

/// Returns a change that replaces a leaf with a partitioned table that has its rows.
fn divided(leaf: &str) -> Change {
    Change {
        name: "divided",
        sql: format!(
            "DO $$ DECLARE parent text; bound text; BEGIN
                 SELECT i.inhparent::regclass::text, pg_get_expr(c.relpartbound, 0) INTO parent, bound
                 FROM pg_class c JOIN pg_inherits i ON i.inhrelid = c.oid WHERE c.relname = '{leaf}';
                 EXECUTE format('ALTER TABLE %s DETACH PARTITION {leaf}', parent);
                 ALTER TABLE {leaf} RENAME TO kept;
                 EXECUTE format('CREATE TABLE {leaf} PARTITION OF %s %s PARTITION BY HASH (v, id)', parent, bound);
                 CREATE TABLE d0 PARTITION OF {leaf} FOR VALUES WITH (MODULUS 2, REMAINDER 0);
                 CREATE TABLE d1 PARTITION OF {leaf} FOR VALUES WITH (MODULUS 2, REMAINDER 1);
                 INSERT INTO {leaf} SELECT * FROM kept; DROP TABLE kept;
             END $$"
        ),
        ..Change::default()
    }
}
