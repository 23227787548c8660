//! Sessions that write to a table during its move, and stop at the moment of the swap.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::harness::{Chance, Session, explain};

/// A trigger that makes every write to the partitioned table fail, so that the old table has the expected
/// rows. It belongs to the table and is carried over.
pub(super) const GATE: &str = "
CREATE FUNCTION gate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT relkind FROM pg_class WHERE oid = TG_RELID) = 'p' THEN
        RAISE EXCEPTION 'moved' USING ERRCODE = 'ZZ001';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER gate BEFORE INSERT OR UPDATE OR DELETE ON events FOR EACH STATEMENT EXECUTE FUNCTION gate();
ALTER TABLE events ENABLE ALWAYS TRIGGER gate";

/// Transactions as messages separated by `|`, with `{a}` and `{b}` for two rows, `{new}` for a new number,
/// `{k}` for a value of the partition key, and `{name}` for a prepared transaction.
const WRITES: &[&str] = &[
    "INSERT INTO events VALUES ({new}, {k}, {new}, 'new')",
    "UPDATE events SET v = concat(v, 'x') WHERE id = {a}",
    "UPDATE events SET k = {k} WHERE id = {a}",
    "DELETE FROM events WHERE id = {a}",
    "UPDATE events SET id = {new} WHERE id = {a}",
    "INSERT INTO events SELECT id, {k}, u, 'again' FROM events WHERE id = {b}
     ON CONFLICT (id) DO UPDATE SET v = excluded.v, k = excluded.k",
    "BEGIN; UPDATE events SET u = -{a} WHERE id = {a} AND u = {a}; UPDATE events SET u = {a} WHERE id = {b} AND u = {b};
     UPDATE events SET u = {b} WHERE id = {a} AND u = -{a}; COMMIT",
    "BEGIN; DELETE FROM events WHERE id = {a}; INSERT INTO events VALUES ({a}, {k}, {new}, 'back'); COMMIT",
    "BEGIN; UPDATE events SET v = 'undone', k = {k} WHERE id % 50 = {a} % 50; ROLLBACK",
    "BEGIN; UPDATE events SET v = 'kept' WHERE id = {a}; SAVEPOINT s; DELETE FROM events WHERE id = {b};
     ROLLBACK TO s; UPDATE events SET k = {k} WHERE id = {b}; COMMIT",
    "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM events; UPDATE events SET k = {k} WHERE id = {a}; COMMIT",
    "BEGIN ISOLATION LEVEL SERIALIZABLE; UPDATE events SET v = 'serial' WHERE id = {a} OR id = {b}; COMMIT",
    "BEGIN; UPDATE events SET k = {k}, v = 'prepared' WHERE id = {a}; PREPARE TRANSACTION {name}
     | SELECT pg_sleep(0.02) | COMMIT PREPARED {name}",
    "BEGIN; DELETE FROM events WHERE id = {a}; PREPARE TRANSACTION {name} | ROLLBACK PREPARED {name}",
    "UPDATE events SET v = 'many' WHERE id BETWEEN {a} AND {a} + 100",
    "BEGIN; SET LOCAL session_replication_role = replica; UPDATE events SET v = 'replica', k = {k} WHERE id = {a}; COMMIT",
    "INSERT INTO lines VALUES ({a})",
    "BEGIN; INSERT INTO lines VALUES ({a}); UPDATE events SET v = 'with a line' WHERE id = {a}; COMMIT",
    "WITH gone AS (DELETE FROM events WHERE id = {a} RETURNING *)
     INSERT INTO events SELECT {new}, k, {new}, v FROM gone",
];

/// A table with rows 1 to `rows`, another table `lines` that may refer to it, and sessions that write to both.
pub(super) struct Writers {
    pub(super) url: String,
    pub(super) rows: usize,
    /// An expression of the partition key's type, with `{n}` for a number.
    pub(super) key: &'static str,
    /// The last number that a new row has received.
    pub(super) last: AtomicU64,
    /// The number of transactions.
    pub(super) count: AtomicU64,
}

impl Writers {
    /// Writes until the table is partitioned, or `is_over`.
    pub(super) fn write(&self, chance: &mut Chance, is_over: impl Fn() -> bool) {
        let session = Session::open(&self.url);
        let database = self.url.rsplit('/').next().unwrap_or_default();
        session.run("SET client_min_messages = error; SET lock_timeout = '30s'");
        while !is_over() {
            let row = |chance: &mut Chance| (1 + chance.below(self.rows)).to_string();
            let new = 1_000_000 + self.last.fetch_add(1, Relaxed);
            let write = chance
                .one_of(WRITES)
                .replace("{a}", &row(chance))
                .replace("{b}", &row(chance))
                .replace("{k}", &self.key.replace("{n}", &chance.below(1 << 20).to_string()))
                .replace("{new}", &new.to_string())
                .replace("{name}", &format!("'{database} {new}'"));
            self.count.fetch_add(1, Relaxed);
            let written = write.split('|').try_for_each(|message| session.try_run(message));
            let Err(error) = written else { continue };
            // Other sessions write to the same rows.
            let state = error.code().map_or("", |code| code.code()).to_owned();
            let _ = session.try_run("ROLLBACK");
            match state.as_str() {
                // The unique key that ON CONFLICT names has more columns after the swap.
                "ZZ001" | "42P10" => return,
                "23505" | "40001" | "40P01" => {}
                "23503" if write.contains("lines") => {}
                _ => panic!("{}\nin: {write}", explain(&error)),
            }
        }
    }
}
