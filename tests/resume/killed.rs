//! The program is killed at any moment, and again while it resumes, with other options each time.

use std::hash::{BuildHasher, RandomState};
use std::thread;
use std::time::{Duration, Instant};

use super::{MONTHS, Twins, hashed, inputs, plain};
use crate::failures::{Bench, Running};
use crate::server::Server;

const ROWS: usize = 60_000;

fn random(below: usize) -> usize {
    RandomState::new().hash_one(0) as usize % below
}

fn kill(load: &mut Running) {
    load.child.kill().unwrap();
    load.child.wait().unwrap();
}

fn options(fixed: &[&str]) -> Vec<String> {
    let mut options: Vec<String> = fixed.iter().map(|option| (*option).to_owned()).collect();
    options.extend(["-j".to_owned(), (1 + random(4)).to_string(), "--memory".to_owned()]);
    options.push(["1MiB", "1MiB", "2MiB", "64MiB"][random(4)].to_owned());
    options.extend((random(3) == 0).then(|| "--wire=text".to_owned()));
    options.extend((random(3) == 0).then(|| "--few-rows=1000".to_owned()));
    options
}

/// Kills `rounds` loads at random moments, and resumes them until they come to their end. How many were
/// killed in the middle.
fn check(twins: &Twins, rounds: usize, fixed: &[&str]) -> usize {
    let began = Instant::now();
    let rows = twins.load("whole", fixed).summary()["rows_loaded"].as_u64();
    twins.are_equal();
    let whole = began.elapsed().max(Duration::from_millis(100));
    let mut resumed = 0;
    for round in 0..rounds {
        twins.bench.session.run("TRUNCATE t");
        let id = format!("round {round}");
        for _ in 0..1 + random(3) {
            let mut load = twins.start(&id, &options(fixed));
            thread::sleep(whole.mul_f64(random(1000) as f64 / 1000.0));
            kill(&mut load);
        }
        let options = options(fixed);
        let summary = twins.load(&id, &options).summary();
        twins.are_equal();
        let already = summary["rows_already_loaded"].as_u64();
        resumed += usize::from(already > Some(0) && already < rows);
        let again = twins.load(&id, &options).summary();
        assert_eq!(again["rows_already_loaded"].as_u64(), rows, "{again}");
    }
    resumed
}

fn on_each(ddl: &str, files: &[String], fixed: &[&str]) {
    let on = |server| check(&Twins::new(Bench::new(server), ddl, files), 5, fixed);
    let resumed = [Server::PG15, Server::PG18].map(on);
    assert_ne!(resumed, [0, 0], "no load was killed in the middle");
}

#[test]
fn leaves_on_two_levels() {
    on_each(MONTHS, &inputs(ROWS, 3, plain), &[]);
}

#[test]
fn many_leaves_with_few_rows() {
    on_each(&hashed("id", 500), &inputs(ROWS, 2, plain), &[]);
}

#[test]
fn one_leaf_with_a_key_to_sort_by() {
    let ddl = "CREATE TABLE t (id int NOT NULL, day date, v text)";
    let unique = |number| format!("{},2024-01-01,{}", number * 7919 % 1_000_003, "y".repeat(90));
    on_each(&format!("{ddl}; CREATE INDEX ON t (id)"), &inputs(ROWS, 1, unique), &[]);
}

#[test]
fn keys_that_the_server_evaluates() {
    on_each(&hashed("(id # 0)", 12), &inputs(ROWS, 2, plain), &[]);
}

#[test]
fn rows_that_are_spelled_oddly() {
    // Some must be asked about, some are sent as text, and some are both.
    let odd = |number: usize| match number % 7 {
        3 => {
            plain(number).replacen("2024-", "", 1).replacen(',', ",2024/", 1).replacen('-', "/", 1)
        }
        5 => format!(" {}", plain(number).replacen(",2024-01-", ",January 2024 ", 1)),
        _ => plain(number),
    };
    on_each(MONTHS, &inputs(ROWS, 2, odd), &[]);
}

#[test]
fn rows_that_are_all_left_to_the_server() {
    on_each(MONTHS, &inputs(ROWS, 2, plain), &["--no-native"]);
}

#[test]
fn leaves_that_are_exchanged() {
    for server in [Server::PG15, Server::PG18] {
        let twins = Twins::new(Bench::new(server), MONTHS, &inputs(ROWS, 2, plain));
        // All of its leaves come at once.
        assert_eq!(check(&twins, 5, &["--exchange"]), 0);
    }
}
