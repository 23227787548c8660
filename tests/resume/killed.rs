//! The program is killed at random moments, and again while it resumes, with other options each time, for
//! several kinds of trees and rows.

use crate::harness::{
    Bench, Chance, Clean, MONTHS, Ordeal, Server, Twins, hashed, inputs, kill, on_each_server,
    plain,
};

on_each_server!([
    leaves_on_two_levels,
    many_leaves_with_few_rows,
    one_leaf_with_a_key_to_sort_by,
    keys_that_the_server_evaluates,
    rows_that_are_spelled_oddly,
    rows_that_are_all_left_to_the_server,
    leaves_that_are_exchanged,
]);

const ROWS: usize = 60_000;

const KILLS: usize = 8;

/// Runs the ordeal. Returns the number of loads that were killed in the middle.
fn check(twins: Twins, fixed: &[&str]) -> usize {
    let url = twins.bench.url.clone();
    let mut ordeal = Ordeal::new(Clean::from_twins(twins, ROWS), Chance::new(), &url, fixed);
    ordeal.endure(KILLS, kill).resumed
}

/// Checks that some loads without exchange are killed in the middle.
fn is_killed(server: Server, ddl: &str, files: &[String], fixed: &[&str]) {
    let resumed = || check(Twins::new(Bench::new(server), ddl, files), fixed);
    assert!((0..3).any(|_| resumed() > 0), "no load was killed in the middle");
}

fn leaves_on_two_levels(server: Server) {
    is_killed(server, MONTHS, &inputs(ROWS, 3, plain), &[]);
}

fn many_leaves_with_few_rows(server: Server) {
    is_killed(server, &hashed("id", 500), &inputs(ROWS, 2, plain), &[]);
}

fn one_leaf_with_a_key_to_sort_by(server: Server) {
    let ddl = "CREATE TABLE t (id int NOT NULL, day date, v text)";
    let unique = |number| format!("{},2024-01-01,{}", number * 7919 % 1_000_003, "y".repeat(90));
    is_killed(server, &format!("{ddl}; CREATE INDEX ON t (id)"), &inputs(ROWS, 1, unique), &[]);
}

fn keys_that_the_server_evaluates(server: Server) {
    is_killed(server, &hashed("(id # 0)", 12), &inputs(ROWS, 2, plain), &[]);
}

fn rows_that_are_spelled_oddly(server: Server) {
    // The server is asked about some rows, some are sent as text, and some are both.
    let odd = |number: usize| match number % 7 {
        3 => {
            plain(number).replacen("2024-", "", 1).replacen(',', ",2024/", 1).replacen('-', "/", 1)
        }
        5 => format!(" {}", plain(number).replacen(",2024-01-", ",January 2024 ", 1)),
        _ => plain(number),
    };
    is_killed(server, MONTHS, &inputs(ROWS, 2, odd), &[]);
}

fn rows_that_are_all_left_to_the_server(server: Server) {
    is_killed(server, MONTHS, &inputs(ROWS, 2, plain), &["--no-native"]);
}

fn leaves_that_are_exchanged(server: Server) {
    let twins = Twins::new(Bench::new(server), MONTHS, &inputs(ROWS, 2, plain));
    // All leaves appear at once.
    assert_eq!(check(twins, &["--exchange"]), 0);
}
