//! What may change between a kill and the resume.

use super::tree::Tree;
use crate::violence::Chance;

/// A change of the server, or of who loads.
#[derive(Clone, Debug, Default)]
pub(super) struct Change {
    pub(super) name: &'static str,
    /// What is run, and what takes it back.
    pub(super) sql: String,
    pub(super) undo: Option<String>,
    /// The other user resumes.
    pub(super) changes_user: bool,
    /// Resumed only when the clock has passed the bound.
    pub(super) waits: bool,
    /// `COPY root` would fail as well, or rows would have another place: not only at the beginning.
    pub(super) may_fail: bool,
    /// The load must come to its end.
    pub(super) is_harmless: bool,
    /// A table that rows may be in and that is no part of the tree any more.
    pub(super) apart: Option<String>,
}

/// What the names in statements stand for.
pub(super) struct Names<'a> {
    pub(super) role: &'a str,
    pub(super) database: &'a str,
}

/// Any change of a table `t` of this tree.
pub(super) fn change(chance: &mut Chance, tree: &Tree, names: &Names<'_>) -> Change {
    let Names { role, database } = names;
    let leaf = &tree.leaves[chance.below(tree.leaves.len())];
    let with = |name, sql: String, undo: String| Change {
        name,
        sql,
        undo: Some(undo),
        ..Change::default()
    };
    match chance.below(17) {
        0 => Change {
            name: "nothing",
            is_harmless: true,
            undo: Some(String::new()),
            ..Change::default()
        },
        1 => Change {
            name: "user",
            changes_user: true,
            undo: Some(String::new()),
            ..Change::default()
        },
        2 => with(
            "usage granted",
            format!("GRANT USAGE ON SCHEMA s TO {role}"),
            format!("REVOKE USAGE ON SCHEMA s FROM {role}"),
        ),
        3 => with(
            "usage revoked",
            format!("REVOKE USAGE ON SCHEMA s FROM {role}"),
            format!("GRANT USAGE ON SCHEMA s TO {role}"),
        ),
        4 => with(
            "execution revoked",
            format!("REVOKE ALL ON FUNCTION s.f FROM PUBLIC, {role}"),
            format!("GRANT ALL ON FUNCTION s.f TO PUBLIC, {role}"),
        )
        .that_may_fail(),
        5 => Change {
            is_harmless: true,
            ..with(
                "a leaf revoked",
                format!("REVOKE INSERT ON {leaf} FROM {role}"),
                format!("GRANT INSERT ON {leaf} TO {role}"),
            )
        },
        6..=8 => {
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
                ..with(
                    name,
                    format!("ALTER DATABASE {database} SET {name} = {value}"),
                    format!("ALTER DATABASE {database} RESET {name}"),
                )
            }
        }
        9 | 10 => Change {
            name: "the clock",
            waits: true,
            is_harmless: true,
            undo: Some(String::new()),
            ..Change::default()
        },
        11 => with(
            "renamed",
            format!("ALTER TABLE {leaf} RENAME TO t_other"),
            format!("ALTER TABLE t_other RENAME TO {leaf}"),
        ),
        12 => detached(leaf),
        13 => chance
            .one_of(&[
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
                (
                    "column",
                    "ALTER TABLE t ALTER v TYPE varchar(90)",
                    "ALTER TABLE t ALTER v TYPE text",
                ),
            ])
            .into(),
        14 => (
            "default",
            "ALTER TABLE t ALTER w SET DEFAULT 2",
            "ALTER TABLE t ALTER w SET DEFAULT 1",
        )
            .into(),
        15 => (
            "function replaced",
            "CREATE OR REPLACE FUNCTION s.f(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
                 'BEGIN RETURN ($1 + 1) % 4; END'",
            "CREATE OR REPLACE FUNCTION s.f(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
                 'BEGIN RETURN $1 % 4; END'",
        )
            .into(),
        _ => divided(leaf),
    }
}

impl Change {
    fn that_may_fail(self) -> Self {
        Self { may_fail: true, ..self }
    }
}

impl From<(&'static str, &str, &str)> for Change {
    fn from((name, sql, undo): (&'static str, &str, &str)) -> Self {
        // Rows that are in no partition, or that a domain takes no longer, end a load wherever they come.
        let undo = (!undo.is_empty()).then(|| undo.to_owned());
        Self { name, sql: sql.to_owned(), undo, may_fail: true, ..Self::default() }
    }
}

/// A leaf leaves the tree with its rows, and comes back.
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

/// A leaf is replaced by a table that is divided anew, with its rows.
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
