//! Two concurrent loads of the same keys, and a session that writes these keys too: all of them finish, and
//! each key has the value that one of them wrote last.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use super::{number, row_counts};
use crate::harness::{Bench, Chance, Running, Server, Session, on_each_server};

on_each_server!([two_loads_update_and_somebody_writes, two_loads_skip_the_same_new_keys,]);

const ROUNDS: u64 = 3;

const KEYS: usize = 4_000;

fn bench(server: Server) -> Bench {
    let bench = Bench::new(server);
    bench.session.run("CREATE TABLE t (id int PRIMARY KEY, v text) PARTITION BY HASH (id)");
    for leaf in 0..4 {
        bench.session.run(&format!(
            "CREATE TABLE t_{leaf} PARTITION OF t FOR VALUES WITH (MODULUS 4, REMAINDER {leaf})"
        ));
    }
    // Both loads have all keys, in different orders; some keys come first with a value that is overwritten.
    for (name, step) in [("one", 7), ("two", 3)] {
        let rows = (0..KEYS).map(|row| (row, row * step % KEYS));
        let early = rows.clone().filter(|(row, _)| row % 10 == 0);
        let early: String = early.map(|(_, id)| format!("{id},early {name}\n")).collect();
        let rows: String = rows.map(|(_, id)| format!("{id},{name}\n")).collect();
        bench.file(&format!("{name}.csv"), format!("{early}{rows}"));
    }
    bench
}

fn start(bench: &Bench, action: &str) -> [Running; 2] {
    ["one.csv", "two.csv"].map(|file| {
        let load = [file, "-t", "t", "-q", "--json", "--on-conflict", action, "-j2"];
        let load = load.iter().chain(&["--few-rows=0", "--memory=1MiB", "--duplicates=last"]);
        bench.start(load, Stdio::null())
    })
}

fn two_loads_update_and_somebody_writes(server: Server) {
    let bench = bench(server);
    for round in 0..number("CONFLICT_ROUNDS", ROUNDS) {
        bench.session.run(&format!(
            "TRUNCATE t; INSERT INTO t SELECT id, 'before' FROM generate_series(0, {KEYS} - 1, 2) AS id"
        ));
        let done = Arc::new(AtomicBool::new(false));
        let (session, is_done) = (bench.other(), Arc::clone(&done));
        let writing = thread::spawn(move || write(&session, Chance::from_seed(round), &is_done));
        let ended = start(&bench, "update").map(Running::ended);
        done.store(true, Relaxed);
        let written = writing.join().unwrap();
        for ended in &ended {
            let row_counts = row_counts(ended, 0);
            assert_eq!(row_counts["duplicate"], KEYS as u64 / 10, "{row_counts:?}");
        }
        let found = bench.session.rows("SELECT id, v FROM t");
        let mut found: HashMap<usize, String> = found
            .into_iter()
            .map(|row| (row[0].as_ref().unwrap().parse().unwrap(), row[1].clone().unwrap()))
            .collect();
        for id in 0..KEYS {
            let value = found.remove(&id);
            let is_of_load = matches!(value.as_deref(), Some("one" | "two"));
            // A value that the writer replaced itself cannot be the final one.
            let is_of_writer = written.get(&id).is_some_and(|last| *last == value);
            assert!(
                is_of_load || is_of_writer,
                "round {round}: key {id} is {value:?}, its writer's last is {:?}",
                written.get(&id)
            );
        }
        assert!(found.is_empty(), "{found:?}");
        eprintln!("round {round}: {} keys were written by another as well", written.len());
    }
}

/// Inserts, updates and deletes until both loads are done. Returns the outcome of the last effective
/// statement for each key.
fn write(
    session: &Session,
    mut chance: Chance,
    is_done: &AtomicBool,
) -> HashMap<usize, Option<String>> {
    let mut written = HashMap::new();
    let mut number = 0;
    while !is_done.load(Relaxed) {
        number += 1;
        // Few enough that the same id comes again.
        let id = chance.below(KEYS / 8) * 8 + chance.below(2);
        let value = format!("writer {number}");
        let (statement, left) = match chance.below(3) {
            0 => (
                format!("INSERT INTO t VALUES ({id}, '{value}') ON CONFLICT DO NOTHING"),
                Some(value),
            ),
            1 => (format!("UPDATE t SET v = '{value}' WHERE id = {id}"), Some(value)),
            _ => (format!("DELETE FROM t WHERE id = {id}"), None),
        };
        if !session.rows(&format!("{statement} RETURNING 1")).is_empty() {
            written.insert(id, left);
        }
    }
    written
}

fn two_loads_skip_the_same_new_keys(server: Server) {
    let bench = bench(server);
    for round in 0..number("CONFLICT_ROUNDS", ROUNDS) {
        bench.session.run("TRUNCATE t");
        let row_counts = start(&bench, "skip").map(|load| row_counts(&load.ended(), 0));
        let sum = |name: &str| -> u64 {
            row_counts.iter().filter_map(|row_counts| row_counts.get(name)).sum()
        };
        let keys = KEYS as u64;
        let sums = [sum("inserted"), sum("skipped"), sum("duplicate")];
        assert_eq!(sums, [keys, keys, keys / 5], "round {round}: {row_counts:?}");
        let found = bench.session.rows("SELECT count(*), count(DISTINCT id) FROM t");
        let all = Some(KEYS.to_string());
        assert_eq!(found, [[all.clone(), all]], "round {round}");
        assert_eq!(bench.count("t WHERE v NOT IN ('one', 'two')"), 0);
    }
}
