//! A COMMIT without an answer, of a transaction that rejected some rows: whether the COMMIT arrived or not,
//! each row is in the table or in the file when the load has finished.

use super::dirt::{Dirt, REJECTING};
use crate::harness::{
    Bench, Chance, Mode, Proxy, Server, Subject, on_each_server, size, wait_within,
};

on_each_server!([commits_that_nobody_answers,]);

/// Messages of a connection that rejects rows.
const SALVAGE: [&str; 2] = ["SAVEPOINT pgsluice", "COMMIT\0"];

fn commits_that_nobody_answers(server: Server) {
    let dirt = Dirt::new(Bench::new(server), size().rows_with_dirt, &mut Chance::new());
    let proxy = Proxy::before(&dirt.twins.bench.url);
    let mut number = 0;
    for arrives in [false, true] {
        for end in [Mode::Cut, Mode::Full] {
            for waits in [false, true] {
                number += 1;
                check_one(&dirt, &proxy, number, arrives, end, waits);
            }
        }
    }
    eprintln!("{number} COMMITs of rejected rows that nobody answered: table and files are exact.");
}

fn check_one(dirt: &Dirt, proxy: &Proxy, number: usize, arrives: bool, end: Mode, waits: bool) {
    let bench = &dirt.twins.bench;
    dirt.begin_anew();
    let id = format!("{number}: arrives {arrives}, {end:?}, waits {waits}");
    let options = [&REJECTING[..], &["--jobs=1", "--memory=1MiB", "--few-rows=0"]].concat();
    let silence = if arrives { Mode::Deafen } else { Mode::Swallow };
    // One of the first and one of the later payloads.
    proxy.set_on(&SALVAGE.repeat(1 + number % 3), silence);
    let more = if waits { &["--wait=10min"][..] } else { &[] };
    let load = dirt.twins.start_into(proxy.url(), &id, &[&options, more].concat());
    wait_within(size().patience, "the COMMIT", || proxy.mode() == silence);
    if arrives {
        let open = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                    AND application_name = 'pgsluice' AND state <> 'idle'";
        wait_within(size().patience, "its end", || bench.value(open) == "0");
    }
    proxy.set(end);
    if waits {
        proxy.set(Mode::Pass);
    }
    let mut ended = load.ended_within(size().patience);
    proxy.set(Mode::Pass);
    if !waits {
        ended.fails(1, &["error: "]);
        ended = dirt.twins.start(&id, &options).ended_within(size().patience);
    }
    dirt.check(&ended);
}
