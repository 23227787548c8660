//! Plans: they change nothing, and list the requirements of the move.

use super::case::Case;
use crate::harness::{Address, Bench, Place, Server, on_each_server};

on_each_server!([a_plan_changes_nothing, free_disk_is_known_by_a_socket,]);

const ARGUMENTS: [&str; 5] = ["events", "--by=RANGE (placed)", "--step=month", "--plan", "--json"];

fn a_plan_changes_nothing(server: Server) {
    let case = Case::with_events(server, 5000);
    case.bench.session.run("ANALYZE events");
    let ended = case.run(&ARGUMENTS);
    let plan: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&plan["rows_estimated"], &plan["leaves"]), (&5000.into(), &6.into()), "{plan}");
    assert_eq!(plan["free_bytes"], serde_json::Value::Null, "{plan}");
    assert_eq!(plan["seconds_estimated"], 1.0, "{plan}");
    let text = case.run(&ARGUMENTS[..4]).stdout;
    assert!(text.contains("\ntime     about 1 s on 2 cores"), "{text}");
    assert!(text.contains("until public.events_old is dropped\n"), "{text}");
    case.is_untouched("a plan");
}

fn free_disk_is_known_by_a_socket(server: Server) {
    let place = Place::new(server);
    let url = place.start();
    let case = Case { bench: Bench::from_url(&url) };
    case.bench.session.run("CREATE TABLE events AS SELECT 1 AS id, date '2026-01-01' AS placed");
    let folder = case.bench.value("SHOW unix_socket_directories");
    let Address { port, password, .. } = Address::from_url(&url);
    let socket = format!(
        "host='{}' port={port} user=postgres password={password} dbname=postgres",
        folder.replace('"', "")
    );
    let plan = case.start_on(&socket, &[&ARGUMENTS[..], &["--offline"]].concat(), &[]).ended();
    let plan: serde_json::Value = serde_json::from_str(&plan.stdout).unwrap();
    assert!(plan["free_bytes"].as_u64().is_some_and(|free| free > 0), "{plan}");
}
