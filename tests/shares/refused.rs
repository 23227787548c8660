//! Shares that are refused: the table has none of their rows, and the message has a next step.

use super::{PARTS, ROWS, Shared};
use crate::harness::{Server, on_each_server};

on_each_server!([
    options_that_do_not_go_together,
    other_rows_under_the_same_name,
    other_terms,
    a_load_of_another_kind,
    tables_that_need_one_statement,
    a_mistake_costs_nothing,
    rows_that_are_rejected,
    rows_that_are_there,
    the_load_is_forgotten_only_as_a_whole,
]);

fn options_that_do_not_go_together(server: Server) {
    let shared = Shared::new(server);
    let usage = |options: &[&str], message: &str| {
        shared.load(0, options).fails(2, &[message]);
    };
    usage(&["--once"], "error: the argument '--participant' cannot be used with '--once'");
    usage(&["--exchange"], "error: --participant and --exchange cannot be used together");
    usage(
        &["--create-partitions"],
        "error: --participant and --create-partitions cannot be used together",
    );
    usage(&["--no-ledger"], "cannot be used with");
    shared.load(0, &["--participant=", "--participants=1"]).fails(2, &["participant"]);
    assert_eq!(shared.bench.count("t"), 0);
}

/// A job that is divided differently has other rows in its partitions.
fn other_rows_under_the_same_name(server: Server) {
    let shared = Shared::new(server);
    shared.load(0, &[]).summary();
    let reversed: String = super::rows(0).lines().rev().map(|row| format!("{row}\n")).collect();
    shared.bench.file("0.csv", reversed);
    assert_eq!(shared.load(0, &[]).summary()["rows_already_loaded"], ROWS, "another order");
    let refused = "error: participant 0 of load shared is in the table, with other rows than these";
    shared.bench.file("0.csv", super::rows(0) + "999999,more\n");
    shared.load(0, &[]).fails(
        1,
        &[
            refused,
            "It has 10000 rows, and this attempt has 10001.",
            "pgsluice ledger forget",
            "shared",
        ],
    );
    shared.bench.file("0.csv", super::rows(0).replace("0,value of 0\n", "0,value of nothing\n"));
    shared.load(0, &[]).fails(1, &[refused, "Both have 10000 rows."]);
    shared.has(1);
}

fn other_terms(server: Server) {
    let shared = Shared::new(server);
    shared.load(0, &[]).summary();
    let refuse = |options: &[&str], message: &str| {
        shared.load(1, options).fails(1, &["error: this load was begun ", message]);
    };
    refuse(&["--on-conflict=skip"], "without --on-conflict");
    refuse(&["--wire=text"], "without --wire, and is resumed with --wire \"text\"");
    refuse(&["--participants=4"], "without --participants");
    shared.has(1);
}

/// A load is shared from its beginning to its end, or not at all.
fn a_load_of_another_kind(server: Server) {
    let shared = Shared::new(server);
    let whole = ["0.csv", "-t", "t", "-q", "--json", "--load-id=shared"];
    shared.load(1, &[]).summary();
    shared.bench.load(whole).fails(1, &["begun with --participant, and is resumed without it"]);
    let other = ["0.csv", "-t", "t", "-q", "--json", "--load-id=whole"];
    shared.bench.load(other).summary();
    let more = [&other[..], &["--participant=2"]].concat();
    shared
        .bench
        .load(more)
        .fails(1, &["begun without --participant, and is resumed with --participant"]);
    shared
        .ledger(&["finish", "whole"])
        .fails(1, &["error: load whole was begun without participants"]);
    shared.has(2);
}

fn tables_that_need_one_statement(server: Server) {
    let shared = Shared::new(server);
    shared.bench.session.run(
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
         CREATE TRIGGER f AFTER INSERT ON t FOR EACH STATEMENT EXECUTE FUNCTION f()",
    );
    shared.load(0, &[]).fails(2, &["error: --participant is not possible for this table: "]);
    assert_eq!(shared.bench.count("t"), 0);
}

/// A share that fails leaves nothing in the ledger that would prevent its load from starting with other options.
fn a_mistake_costs_nothing(server: Server) {
    let shared = Shared::new(server);
    shared.bench.file("0.csv", super::rows(0) + "x,y\n");
    let failed = shared.load(0, &["--on-conflict=skip"]);
    failed.fails(1, &["error: ", "22P02", "No row of this participant is in the table."]);
    assert!(!failed.stderr.contains("--reject-file"), "{failed:?}");
    assert_eq!(shared.bench.count("pgsluice.load"), 0);
    shared.bench.file("0.csv", super::rows(0));
    shared.load(0, &[]).summary();
    // But a share that is committed keeps its load.
    shared.bench.file("1.csv", super::rows(1) + "x,y\n");
    let message = ["error: ", "22P02", "No row of this participant is in the table."];
    shared.load(1, &[]).fails(1, &message);
    assert_eq!(shared.recorded(), " running, 0 finished");
    shared.has(1);
}

fn rows_that_are_rejected(server: Server) {
    let shared = Shared::new(server);
    shared.bench.file("0.csv", super::rows(0) + "x,y\n");
    let options = ["--reject-file=bad", "--max-rejects=5"];
    let summary = shared.load(0, &options).summary_of(3);
    assert_eq!((&summary["rows_loaded"], &summary["rows_rejected"]), (&ROWS.into(), &1.into()));
    let finished = shared.finish(&[]);
    assert!(finished.stdout.contains("\"rejected\":1"), "{finished:?}");
    shared.has(1);
}

/// The ledger counts rows that conflict with existing ones.
fn rows_that_are_there(server: Server) {
    let shared = Shared::new(server);
    shared.bench.session.copy_in("COPY t FROM STDIN (FORMAT csv)", super::rows(0).into()).unwrap();
    for part in 0..PARTS {
        shared.load(part, &["--on-conflict=skip"]).summary();
    }
    let again = shared.load(0, &["--on-conflict=skip"]).summary();
    assert_eq!((&again["counts"]["skipped"], &again["rows_loaded"]), (&ROWS.into(), &0.into()));
    let finished = shared.finish(&["--participants=4"]);
    assert!(finished.stdout.contains("\"inserted\":30000"), "{finished:?}");
    assert!(finished.stdout.contains("\"skipped\":10000"), "{finished:?}");
    shared.has(PARTS);
}

fn the_load_is_forgotten_only_as_a_whole(server: Server) {
    let shared = Shared::new(server);
    let hold = shared.bench.hold("atomic::committing");
    let first = shared.start(0, &[], &hold.environment());
    hold.wait();
    shared.forget().fails(1, &["error: load shared is running"]);
    hold.let_go();
    first.ended().summary();
    assert_eq!(shared.forget().status.code(), Some(0));
    assert_eq!(shared.bench.count("pgsluice.load"), 0);
    shared.has(1);
}
