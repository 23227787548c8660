//! Loads that are marked as finished once their shares are committed.

use std::process::Stdio;

use serde_json::{Value, json};

use super::{PARTS, ROWS, Shared};
use crate::harness::{Running, Server, on_each_server, program};

on_each_server!([
    all_shares_are_in,
    a_load_that_lacks_shares,
    the_number_that_the_load_began_with,
    a_finished_load_takes_no_other_share,
    a_finished_load_is_loaded_again,
    a_stream_is_a_share,
    few_rows_are_a_share,
    a_server_that_crashed,
]);

fn all_shares_are_in(server: Server) {
    let shared = Shared::new(server);
    let mut hash = 0_u64;
    for part in 0..PARTS {
        let summary = shared.load(part, &[]).summary();
        assert_eq!(summary["rows_loaded"], ROWS);
        let share = &summary["share"];
        assert_eq!(
            (&share["participant"], &share["load_finished"]),
            (&json!(part.to_string()), &json!(false))
        );
        hash = hash
            .wrapping_add(u64::from_str_radix(share["rows_hash"].as_str().unwrap(), 16).unwrap());
    }
    let listed: Value = serde_json::from_str(&shared.ledger(&["list"]).stdout).unwrap();
    let rows = (PARTS * ROWS) as u64;
    let [load] = &listed.as_array().unwrap()[..] else { panic!("{listed}") };
    assert_eq!((&load["participants"], &load["rows"]), (&json!(PARTS), &json!(rows)));
    assert_eq!(load["state"], "unfinished");
    shared.finish(&["--participants=4", &format!("--rows-hash={:x}", hash ^ 1)]).fails(
        1,
        &["error: load shared has other rows in the table than these", "The hash of its rows is"],
    );
    let hash = format!("{hash:016x}");
    let finish = || shared.finish(&["--participants=4", "--rows-hash", &hash]).stdout;
    let finished: Value = serde_json::from_str(&finish()).unwrap();
    let expected = |already: bool| {
        json!({
            "load_id": "shared", "participants": PARTS, "rows_read": rows, "rows_hash": hash,
            "counts": {"inserted": rows, "updated": 0, "deleted": 0, "unchanged": 0, "not_newer": 0,
                "not_found": 0, "duplicate": 0, "skipped": 0, "dropped": 0, "rejected": 0},
            "already_finished": already,
        })
    };
    assert_eq!(finished, expected(false));
    assert_eq!(shared.recorded(), " finished");
    assert_eq!(serde_json::from_str::<Value>(&finish()).unwrap(), expected(true));
    let shown: Value = serde_json::from_str(&shared.ledger(&["show", "shared"]).stdout).unwrap();
    assert_eq!((&shown["participants"], &shown["rows"]), (&json!(PARTS), &json!(rows)));
    assert_eq!(shown["sources"], json!(["4 participants"]));
    shared.has(PARTS);
    for table in ["receipt", "tree", "witness", "block", "reject"] {
        assert_eq!(shared.bench.count(&format!("pgsluice.{table}")), 0, "{table}");
    }
}

fn a_load_that_lacks_shares(server: Server) {
    let shared = Shared::new(server);
    shared.finish(&[]).fails(1, &["error: load shared is not in the ledger"]);
    shared.load(0, &[]).summary();
    shared.load(2, &[]).summary();
    shared.finish(&["--participants=4"]).fails(
        1,
        &[
            "error: load shared has 2 participants in the table, not 4",
            "Missing: 1, 3.",
            "--participant",
        ],
    );
    shared.finish(&["--participants=1"]).fails(
        1,
        &["error: load shared has 2 participants in the table, not 1", "divided among more"],
    );
    assert_eq!(shared.recorded(), " running, 0 finished, 2 finished");
    shared.load(1, &[]).summary();
    shared.load(3, &[]).summary();
    assert_eq!(shared.finish(&["--participants=4"]).status.code(), Some(0));
    shared.has(PARTS);
}

/// The number of participants is a term of the load, so a share of another division is refused before any row
/// is sent.
fn the_number_that_the_load_began_with(server: Server) {
    let shared = Shared::new(server);
    shared.load(0, &["--participants=2"]).summary();
    shared.load(1, &["--participants=3"]).fails(
        1,
        &["error: this load was begun with --participants \"2\", and is resumed with --participants \"3\""],
    );
    shared.finish(&[]).fails(1, &["has 1 participant in the table, not 2", "Missing: 1."]);
    shared.load(1, &["--participants=2"]).summary();
    assert_eq!(shared.finish(&[]).status.code(), Some(0));
    shared.has(2);
}

fn a_finished_load_takes_no_other_share(server: Server) {
    let shared = Shared::new(server);
    shared.load(0, &[]).summary();
    assert_eq!(shared.finish(&[]).status.code(), Some(0));
    shared.load(1, &[]).fails(
        1,
        &[
            "error: load shared is finished, and does not have participant 1",
            "None of these rows was stored.",
            "HINT:  Divide the rows as they were divided before.",
        ],
    );
    shared.has(1);
}

/// A finished job that runs again stores nothing, and its hash shows whether the rows are the same.
fn a_finished_load_is_loaded_again(server: Server) {
    let shared = Shared::new(server);
    let first = shared.load(0, &[]).summary();
    assert_eq!(shared.finish(&[]).status.code(), Some(0));
    let again = shared.load(0, &[]);
    assert_eq!(again.status.code(), Some(0), "{again:?}");
    let again: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!((&again["already_finished"], &again["rows_loaded"]), (&json!(true), &json!(0)));
    assert_eq!(again["rows_read"], ROWS);
    assert_eq!(again["share"]["rows_hash"], first["share"]["rows_hash"]);
    assert_eq!(again["share"]["load_finished"], true);
    shared.bench.file("0.csv", super::rows(1));
    let other: Value = serde_json::from_str(&shared.load(0, &[]).stdout).unwrap();
    assert_ne!(other["share"]["rows_hash"], first["share"]["rows_hash"]);
    shared.has(1);
}

/// A stream is copied to a file, so that it can be compared.
fn a_stream_is_a_share(server: Server) {
    let shared = Shared::new(server);
    let load = |rows: &str| {
        let mut load = program();
        load.args([
            "load",
            "-",
            "--format=csv",
            "-t",
            "t",
            "-d",
            &shared.bench.url,
            "-q",
            "--json",
        ]);
        load.args(["--load-id=shared", "--participant=a b"]);
        let mut load = Running::start(load.stdin(Stdio::piped()));
        load.feed(rows.as_bytes());
        load.child.stdin = None;
        load.ended()
    };
    let first = load(&super::rows(0)).summary();
    assert_eq!(first["rows_loaded"], ROWS);
    assert_eq!(load(&super::rows(0)).summary()["rows_already_loaded"], ROWS);
    load(&super::rows(1)).fails(
        1,
        &["error: participant a b of load shared is in the table, with other rows than these"],
    );
    shared.has(1);
}

/// Inputs so small that a normal load would leave them to the server at once.
fn few_rows_are_a_share(server: Server) {
    let shared = Shared::new(server);
    for part in 0..2 {
        shared.bench.file(&format!("{part}.csv"), format!("{part},few\n"));
        let share = shared.load(part, &[]).summary();
        assert_eq!(share["share"]["participant"], part.to_string());
        assert_eq!(shared.load(part, &[]).summary()["rows_already_loaded"], 1);
    }
    assert_eq!(shared.recorded(), " running, 0 finished, 1 finished");
    assert_eq!(shared.finish(&["--participants=2"]).status.code(), Some(0));
    assert_eq!(shared.bench.count("t"), 2);
}

/// A partition that the server has emptied invalidates the load.
fn a_server_that_crashed(server: Server) {
    let shared = Shared::new(server);
    shared.bench.session.run("ALTER TABLE t_0 SET UNLOGGED");
    shared.load(0, &[]).summary();
    // The server does this when it restarts.
    shared.bench.session.run("TRUNCATE t_0, pgsluice.witness");
    let refusal =
        ["error: a partition is unlogged, and the server has crashed since this load began"];
    shared.load(1, &[]).fails(1, &refusal);
    shared.finish(&[]).fails(1, &refusal);
}
