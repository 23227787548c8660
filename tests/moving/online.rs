//! Random online moves: several sessions write to the table in many ways until the swap. Then the old table
//! must have the rows of the partitioned table.
//!
//! Each server runs a few. `PROPTEST_CASES` changes their number, and `PGSLUICE_SEED` the seed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;

use super::case::{Case, cases};
use super::writers::{GATE, Writers};
use crate::harness::{Chance, Server, on_each_server};

on_each_server!([random_writers,]);

const CASES: usize = 5;

/// The type of the partition key, an expression with `{n}` for its values, whether it accepts NULL, and the
/// arguments.
const KEYS: &[(&str, &str, &[&str])] = &[
    ("int NOT NULL", "{n} % 100", &["--by=HASH (id)", "--leaves=5"]),
    (
        "date NOT NULL",
        "date '2026-01-01' + {n} % 300",
        &["--by=RANGE (k)", "--step=month", "--widen-keys"],
    ),
    (
        "timestamptz",
        "CASE WHEN {n} % 5 > 0 THEN timestamptz '2026-01-01Z' + {n} % 9000 * interval '1 hour' END",
        &["--by=RANGE (k)", "--step=month", "--default-partition", "--widen-keys"],
    ),
    (
        "text COLLATE \"C\"",
        "(ARRAY['a', 'B', '''', NULL])[1 + {n} % 4]",
        &["--by=LIST (k)", "--default-partition", "--by=HASH (id)", "--leaves=2", "--widen-keys"],
    ),
    (
        "numeric(8,1) NOT NULL",
        "({n} % 1000) / 10.0",
        &["--by=RANGE (k)", "--step=25", "--widen-keys"],
    ),
];

/// Keys that identify the rows of the table.
const IDS: &[&str] = &["PRIMARY KEY", "NOT NULL UNIQUE"];

/// A foreign key of another table. The key that it refers to does not change.
const REFERRING: &str = "
ALTER TABLE lines ADD FOREIGN KEY (event) REFERENCES events (id) ON DELETE CASCADE ON UPDATE CASCADE";

/// Counts the valid foreign keys that refer to the table, and the rows that violate them.
const REFERS: &str = "
SELECT concat((SELECT count(*) FROM pg_constraint WHERE confrelid = 'events'::regclass AND conrelid = 'lines'::regclass
                                                    AND conparentid = 0 AND convalidated), ' ',
              (SELECT count(*) FROM lines WHERE NOT EXISTS (SELECT FROM events WHERE id = event)))";

/// Points at which the move pauses, so that more is written there, or is killed and run again.
const POINTS: &[&str] = &[
    "moving::logged",
    "payload::sent",
    "payload::committed",
    "moving::copied",
    "moving::built",
    "moving::followed",
];

/// The number of repetitions of a text of 32 characters in each row. With wide rows, several transactions
/// copy the table.
const WIDTHS: &[usize] = &[1, 24];

fn random_writers(server: Server) {
    let (cases, seed) = cases(CASES, server);
    let mut chance = Chance::from_seed(seed);
    let case = Case::new(server);
    for count in 0..cases {
        judge((&case, server), &mut chance, &format!("case {count} of PGSLUICE_SEED={seed}"));
    }
}

fn judge((case, server): (&Case, Server), chance: &mut Chance, which: &str) {
    let (ty, key, by) = chance.one_of(KEYS);
    let (id, rows) = (chance.one_of(IDS), 500 + chance.below(20_000));
    let width = chance.one_of(WIDTHS);
    // The unique key then contains the column of the partition key, which is NULL in some rows.
    let is_widened = by.contains(&"--widen-keys");
    let unique = match (is_widened, chance.is_one_in(2)) {
        (true, true) => ", UNIQUE (u)",
        _ => "",
    };
    let id = if is_widened && !ty.contains("NOT NULL") { "NOT NULL UNIQUE" } else { id };
    let values = key.replace("{n}", "(i * 7919)");
    let ddl = format!(
        "DROP TABLE IF EXISTS events, events_old, lines CASCADE; DROP FUNCTION IF EXISTS gate;
         CREATE TABLE events (id bigint {id}, k {ty}, u bigint, v text{unique},
                              g bigint GENERATED ALWAYS AS (id * 2) STORED);
         INSERT INTO events (id, k, u, v) SELECT i, {values}, i, repeat(md5(i::text), {width}) FROM generate_series(1, {rows}) AS i;
         CREATE TABLE lines (event bigint);
         {GATE}"
    );
    case.bench.session.run(&ddl);
    // Before 15, a row that moves to another partition would delete the rows that refer to it.
    let refers = !is_widened && server.major() >= 15;
    if refers {
        case.bench.session.run(REFERRING);
    }
    let (point, time) = (chance.one_of(POINTS), chance.below(500).to_string());
    let jobs = format!("-j{}", 1 + chance.below(3));
    let arguments = [&["events", "--json", "-q", &jobs], by].concat();
    let environment = [("PGSLUICE_FAILPOINT", point), ("PGSLUICE_FAILPOINT_SLEEP", &time)];
    let is_killed = chance.is_one_in(3);
    let context =
        format!("{which}: {arguments:?}, {point} for {time} ms or killed: {is_killed}\n{ddl}");
    let writers = Writers {
        url: case.bench.url.clone(),
        rows,
        key,
        last: AtomicU64::new(0),
        count: AtomicU64::new(0),
    };
    let is_over = AtomicBool::new(false);
    let mut chances: Vec<Chance> = (0..3).map(|_| Chance::from_seed(chance.next())).collect();
    let ended = thread::scope(|scope| {
        for chance in &mut chances {
            scope.spawn(|| writers.write(chance, || is_over.load(SeqCst)));
        }
        let mut ended =
            case.start(&arguments, &environment[..if is_killed { 1 } else { 2 }]).ended();
        if is_killed {
            assert_eq!(ended.status.code(), None, "{context}\n{ended:?}");
            ended = case.start(&arguments, &[]).ended();
        }
        is_over.store(true, SeqCst);
        ended
    });
    assert!(ended.status.success(), "{context}\n{ended:?}");
    let moved: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let (followed, written) =
        (moved["rows_followed"].as_u64().unwrap(), writers.count.load(SeqCst));
    assert!(followed > 0 && written > 0, "{context}\n{moved}");
    assert_eq!(case.kind("events"), "p", "{context}");
    case.same_rows("events_old", "events", &context);
    if refers {
        assert_eq!(case.bench.value(REFERS), "1 0", "{context}");
    }
    assert_eq!(case.moves_left(), 0, "{context}");
    case.nothing_beside(&context);
}
