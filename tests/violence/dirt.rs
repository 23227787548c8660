//! Inputs in which one row in a hundred is bad, of every kind of refusal. The bad rows are chosen at random,
//! so the test knows the expected content of the table, the reject file and its log.

use std::collections::BTreeMap;
use std::fs;

use crate::harness::{Bench, Chance, Ended, Running, Subject, Twins};

/// A kind of refusal.
struct Kind {
    sqlstate: &'static str,
    /// A part of the server's message.
    message: &'static str,
    column: Option<&'static str>,
    spoil: fn(&mut Vec<String>),
}

/// The columns. Most of them exist to be refused.
const HEADER: &str = "id,k,v,d,r,q,x";
const ID: usize = 0;
const K: usize = 1;
const V: usize = 2;
const D: usize = 3;
const R: usize = 4;
const Q: usize = 5;
const X: usize = 6;

const KINDS: [Kind; 13] = [
    // Values that no codec accepts, so the server reports the error.
    kind("22P02", "invalid input syntax for type integer: \"x\"", Some("k"), |row| {
        set(row, K, "x")
    }),
    kind("22003", "is out of range for type integer", Some("k"), |row| set(row, K, "3000000000")),
    kind("22008", "date/time field value out of range", Some("d"), |row| set(row, D, "2024-02-30")),
    // Too many columns, and too few.
    kind("22P04", "extra data after last expected column", None, |row| row.push("1".to_owned())),
    kind("22P04", "missing data for column \"x\"", None, |row| row.truncate(X)),
    // Constraints; that of q is deferred.
    kind("23502", "null value in column \"k\"", Some("k"), |row| set(row, K, "")),
    kind("23514", "check constraint \"t_v_check\"", None, |row| set(row, V, "bad")),
    kind("23505", "unique constraint", None, |row| {
        let id: usize = row[ID].parse().unwrap();
        row[ID] = (id / 2 % EARLIER * 2 + 1).to_string();
    }),
    kind("23P01", "exclusion constraint", None, |row| set(row, X, "\"[-9,-8)\"")),
    kind("23503", "foreign key constraint \"t_r_fkey\"", None, |row| row[R].insert(0, '5')),
    kind("23503", "foreign key constraint \"t_q_fkey\"", None, |row| row[Q].insert(0, '6')),
    kind("23514", "no partition of relation \"t\" found for row", None, |row| {
        let id: usize = row[ID].parse().unwrap();
        row[ID] = (id + 900_000_000).to_string();
    }),
    kind("P0001", "k is 13", None, |row| set(row, K, "13")),
];

const fn kind(
    sqlstate: &'static str,
    message: &'static str,
    column: Option<&'static str>,
    spoil: fn(&mut Vec<String>),
) -> Kind {
    Kind { sqlstate, message, column, spoil }
}

fn set(row: &mut [String], column: usize, value: &str) {
    value.clone_into(&mut row[column]);
}

const LEAVES: usize = 4;

/// Number of existing rows of each leaf, with which bad rows collide. Their ids are odd.
const EARLIER: usize = 25;

/// Returns the number of ids of a leaf. The input has the even ones.
fn ids_of_leaf(rows: usize) -> usize {
    2 * rows / LEAVES + 100
}

fn good_row(number: usize, rows: usize) -> Vec<String> {
    // In no particular order.
    let place = number * 7919 % rows;
    let (leaf, place) = (place * LEAVES / rows, place % (rows / LEAVES));
    let id = leaf * ids_of_leaf(rows) + 2 * place + 2;
    let row = [
        id.to_string(),
        (14 + id % 7).to_string(),
        format!("\"v {id}\""),
        format!("2024-02-{:02}", 1 + id % 28),
        (10 + id % 90).to_string(),
        (10 + id / 90 % 90).to_string(),
        format!("\"[{id},{})\"", id + 1),
    ];
    row.into()
}

/// Returns statements for the tables and the existing rows.
fn ddl(rows: usize) -> String {
    let leaf = |number: usize| {
        let (from, to) = (number * ids_of_leaf(rows), (number + 1) * ids_of_leaf(rows));
        format!(
            "CREATE TABLE t_{number} PARTITION OF t FOR VALUES FROM ({from}) TO ({to});
             ALTER TABLE t_{number} ADD EXCLUDE USING gist (x WITH &&);"
        )
    };
    let leaves: String = (0..LEAVES).map(leaf).collect();
    format!(
        "CREATE TABLE ref (id int PRIMARY KEY);
         INSERT INTO ref SELECT generate_series(0, 99);
         CREATE TABLE t (
             id int PRIMARY KEY, k int NOT NULL, v text CHECK (v <> 'bad'), d date,
             r int REFERENCES ref, q int REFERENCES ref DEFERRABLE INITIALLY DEFERRED, x int4range
         ) PARTITION BY RANGE (id);
         {leaves}
         CREATE FUNCTION refuse_13() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN IF new.k = 13 THEN RAISE 'k is 13'; END IF; RETURN new; END $$;
         CREATE TRIGGER refuse_13 BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION refuse_13();
         {}",
        earlier(rows)
    )
}

fn earlier(rows: usize) -> String {
    let (step, leaves, last) = (ids_of_leaf(rows), LEAVES - 1, EARLIER - 1);
    format!(
        "INSERT INTO t SELECT leaf * {step} + 2 * n + 1, 1, 'before', NULL, 1, 1,
                CASE n WHEN 0 THEN int4range '[-9,-8)' END
         FROM generate_series(0, {leaves}) AS leaf, generate_series(0, {last}) AS n"
    )
}

/// A row of the input that is refused.
struct Bad {
    kind: &'static Kind,
    /// The line number, from 1 on.
    line: usize,
    text: String,
    intact: String,
}

/// The inputs, loaded into a table that refuses bad rows. The other twin has the correct form of all rows.
pub(crate) struct Dirt {
    pub(crate) twins: Twins,
    rows: usize,
    /// The bad rows by file and offset.
    bad: BTreeMap<(String, usize), Bad>,
    /// The leaves without the bad rows.
    wanted: String,
}

const REJECTS: &str = "bad.csv";
const LOG: &str = "bad.csv.log";

/// Options without which the first bad row ends a load.
pub(crate) const REJECTING: [&str; 2] = ["--reject-file=bad.csv", "--max-rejects=20%"];

impl Dirt {
    pub(crate) fn new(bench: Bench, rows: usize, chance: &mut Chance) -> Self {
        let mut clean = [HEADER; 2].map(|header| header.to_owned() + "\n");
        let (mut dirty, mut lines) = (clean.clone(), [1; 2]);
        let (mut bad, mut kinds) = (Vec::new(), [None; 100]);
        for number in 0..rows {
            if number % 100 == 0 {
                kinds = each_once(chance);
            }
            let file = number * 2 / rows;
            lines[file] += 1;
            let mut row = good_row(number, rows);
            let intact = row.join(",");
            clean[file] += &intact;
            clean[file].push('\n');
            if let Some(kind) = kinds[number % 100] {
                (kind.spoil)(&mut row);
                let (text, line) = (row.join(","), lines[file]);
                bad.push(((file, dirty[file].len()), Bad { kind, line, text, intact }));
            }
            dirty[file] += &row.join(",");
            dirty[file].push('\n');
        }
        let twins = Twins::new(bench, &ddl(rows), &clean);
        for (path, dirty) in twins.files.iter().zip(dirty) {
            fs::write(path, dirty).unwrap();
        }
        let name = |file: usize| twins.files[file].display().to_string();
        let bad = bad.into_iter().map(|((file, offset), bad)| ((name(file), offset), bad));
        let bad: BTreeMap<_, _> = bad.collect();
        let wanted = leaves_without(&twins, bad.values());
        Self { twins, rows, bad, wanted }
    }

    pub(crate) fn bad_rows(&self) -> usize {
        self.bad.len()
    }

    /// Checks the content of the reject file and of the log.
    fn check_files(&self) {
        let [rejects, log] = [REJECTS, LOG].map(|name| self.read(name));
        let mut rows = rejects.lines();
        assert_eq!(rows.next(), Some(HEADER));
        let mut missing: BTreeMap<_, _> = self.bad.iter().collect();
        for line in log.lines() {
            let reason: serde_json::Value = serde_json::from_str(line).unwrap();
            let place = (reason["source"].as_str().unwrap().to_owned(), number(&reason["offset"]));
            let bad = missing.remove(&place);
            let Bad { kind, line, text, .. } =
                bad.unwrap_or_else(|| panic!("good, or there twice: {reason}"));
            assert_eq!(rows.next(), Some(&**text), "{reason}");
            assert_eq!(number(&reason["line"]), *line, "{reason}");
            assert_eq!(reason["sqlstate"], kind.sqlstate, "{reason}");
            assert!(reason["message"].as_str().unwrap().contains(kind.message), "{reason}");
            assert_eq!(reason["column"].as_str(), kind.column, "{reason}");
        }
        let (more, missing) = (rows.next(), missing.len());
        assert_eq!((more, missing), (None, 0), "rows without a reason, and reasons missing");
    }

    /// Returns the reject file with each row corrected.
    pub(crate) fn repaired(&self) -> String {
        let pairs = self.bad.values().map(|bad| (&*bad.text, &*bad.intact));
        let intact: BTreeMap<&str, &str> = pairs.collect();
        let repair = |row| intact.get(row).map_or(row, |intact| *intact).to_owned() + "\n";
        self.read(REJECTS).lines().map(repair).collect()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.twins.bench.path(name)).unwrap()
    }
}

fn number(value: &serde_json::Value) -> usize {
    value.as_u64().unwrap() as usize
}

/// Assigns each kind to one of a hundred places.
fn each_once(chance: &mut Chance) -> [Option<&'static Kind>; 100] {
    let mut kinds = [None; 100];
    for kind in &KINDS {
        let free: Vec<usize> = (0..kinds.len()).filter(|&place| kinds[place].is_none()).collect();
        kinds[chance.one_of(&free)] = Some(kind);
    }
    kinds
}

/// Returns the leaves of the twin without some rows, which stay in the table.
fn leaves_without<'b>(twins: &Twins, bad: impl Iterator<Item = &'b Bad>) -> String {
    let session = &twins.bench.session;
    let id = |bad: &Bad| bad.intact.split_once(',').unwrap().0.to_owned() + "\n";
    let ids: String = bad.map(id).collect();
    session.run("CREATE TEMPORARY TABLE bad (id int PRIMARY KEY)");
    session.copy_in("COPY bad FROM STDIN", ids.into()).unwrap();
    session.run("BEGIN; DELETE FROM twin.t USING bad WHERE bad.id = t.id");
    let leaves = twins.leaves("twin");
    session.run("ROLLBACK; DROP TABLE bad");
    leaves
}

impl Subject for Dirt {
    fn bench(&mut self) -> &mut Bench {
        &mut self.twins.bench
    }

    fn begin_anew(&self) {
        self.twins.bench.session.run(&format!("TRUNCATE t; {}", earlier(self.rows)));
        for name in [REJECTS, LOG] {
            let _ = fs::remove_file(self.twins.bench.path(name));
        }
    }

    fn start(&self, url: &str, id: &str, options: &[String]) -> Running {
        self.twins.start_into(url, id, options)
    }

    fn check(&self, ended: &Ended) -> u64 {
        // A load may have been struck after it finished, but before it reported that.
        let already_finished = ended.status.success() && ended.stdout.contains("\"jobs\":0,");
        let summary = ended.summary_of(if already_finished { 0 } else { 3 });
        assert_eq!(number(&summary["rows_read"]), self.rows, "{summary}");
        assert_eq!(number(&summary["rows_rejected"]), self.bad.len(), "{summary}");
        assert_eq!(self.twins.leaves("public"), self.wanted);
        self.check_files();
        summary["rows_already_loaded"].as_u64().unwrap()
    }

    fn rows(&self) -> u64 {
        self.rows as u64
    }

    fn in_table(&self) -> [u64; 2] {
        let before = LEAVES * EARLIER;
        [before, before + self.rows - self.bad.len()].map(|rows| rows as u64)
    }
}
