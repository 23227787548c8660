//! `pg_ctl stop -m immediate` at random moments: the server loses what it had not written, and recovers from
//! its log. Confirmed commits may be lost, but not those of a load that reported its end.

use std::process::{Command, Stdio};
use std::thread;

use super::dirt::{Dirt, REJECTING};
use crate::harness::{
    Bench, Blow, Chance, Clean, Ordeal, Place, Running, Server, Subject, on_each_server, rows, size,
};

on_each_server!([stopped, stopped_while_it_rejects, stopped_when_all_is_sent,]);

// The server runs without fsync: data that a process has written survives the process, except for half-written pages.

fn stopped(server: Server) {
    let place = Place::new(server);
    let bench = Bench::from_url(&place.start());
    endure(&place, Clean::new(bench, size().rows), Chance::new(), &[]);
}

fn stopped_while_it_rejects(server: Server) {
    let (place, mut chance) = (Place::new(server), Chance::new());
    let bench = Bench::from_url(&place.start());
    let dirt = Dirt::new(bench, size().rows_with_dirt, &mut chance);
    endure(&place, dirt, chance, &REJECTING);
}

pub(super) fn endure<S: Subject>(place: &Place, mut subject: S, chance: Chance, options: &[&str]) {
    let url = subject.bench().url.clone();
    let mut ordeal = Ordeal::new(subject, chance, &url, options);
    let story = ordeal.endure(size().stops, |ordeal, id| stop(place, ordeal, id));
    story.tell("immediate stops of the server", ordeal.subject.rows());
}

/// Stops the server when it has confirmed every COMMIT and written none of them.
fn stopped_when_all_is_sent(server: Server) {
    let place = Place::new(server);
    let mut bench = Bench::from_url(&place.start());
    bench.session.run("ALTER SYSTEM SET wal_writer_delay = '10s'");
    bench.session.run("SELECT pg_reload_conf()");
    bench.make_table();
    bench.file("rows.csv", rows(1000, 10));
    for (options, status, found) in [(&["--wait=1min"][..], 0, "1000"), (&["--no-ledger"], 1, "")] {
        // Only this program has failpoints.
        let mut load = Command::new(env!("CARGO_BIN_EXE_pgsluice"));
        load.args(["load", "rows.csv", "-t", "t", "-d", &bench.url, "-q", "-j1"]).args(options);
        load.env("PGSLUICE_SMALL_ROWS", "299");
        let hold = bench.hold("load::flushing");
        load.envs(hold.environment());
        load.current_dir(bench.folder.path()).stdin(Stdio::null());
        let load = Running::start(&mut load);
        hold.wait();
        assert_eq!(bench.count("t"), 1000);
        place.stop_immediately();
        place.start();
        bench.come_back();
        hold.let_go();
        let ended = load.ended_within(size().patience);
        assert_eq!(ended.status.code(), Some(status), "{ended:?}");
        assert!(found.is_empty() || bench.value("SELECT count(*) FROM t") == found, "{ended:?}");
        bench.session.run("TRUNCATE t");
    }
}

/// Stops the server at a random moment of a load. Every other load waits for it.
fn stop<S: Subject>(place: &Place, ordeal: &mut Ordeal<S>, id: &str) -> Blow {
    let waits = ordeal.chance.is_one_in(2);
    let mut load = ordeal.start(id, if waits { &["--wait=10min"] } else { &[] });
    thread::sleep(ordeal.chance.moment(ordeal.whole));
    let is_over = load.child.try_wait().unwrap().is_some();
    place.stop_immediately();
    let come_back = |ordeal: &mut Ordeal<S>| {
        place.start();
        ordeal.subject.bench().come_back();
    };
    if waits && !is_over {
        come_back(ordeal);
        return Blow::Borne(load.ended_within(size().patience));
    }
    let ended = load.ended_within(size().patience);
    come_back(ordeal);
    match ended.status.code() {
        Some(1) => Blow::Hit,
        _ => Blow::Missed(ended),
    }
}
