//! The program is killed at any moment, and again while it resumes, with other options each time: by
//! trees and rows of several kinds.

use crate::harness::{
    Bench, Chance, Clean, MONTHS, Ordeal, Server, Twins, hashed, inputs, kill, plain,
};

const ROWS: usize = 60_000;

const KILLS: usize = 8;

/// How many loads were killed in the middle.
fn check(twins: Twins, fixed: &[&str]) -> usize {
    let url = twins.bench.url.clone();
    let mut ordeal = Ordeal::new(Clean::of(twins, ROWS), Chance::new(), &url, fixed);
    ordeal.endure(KILLS, kill).resumed
}

fn on_each(ddl: &str, files: &[String], fixed: &[&str]) {
    let on = |server| check(Twins::new(Bench::new(server), ddl, files), fixed);
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
        assert_eq!(check(twins, &["--exchange"]), 0);
    }
}
