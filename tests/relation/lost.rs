//! Source sessions that are lost during a load: the load fails with an error, or reads again. A load that succeeds has
//! exactly the rows of the source.

use super::case::{Case, TREE};
use crate::harness::{Ended, Mode, Proxy, Running, Server, on_each_server, program, wait_until};

on_each_server!([
    readers_that_are_terminated,
    readers_that_are_cancelled,
    a_connection_that_is_cut,
    an_interrupt,
]);

const MEMORY: &str = "--memory=1MiB";

/// The sessions of loads in the source's database.
const READERS: &str = "pg_stat_activity WHERE datname = current_database()
                       AND application_name = 'pgsluice' AND pid <> pg_backend_pid()";

/// Creates the tables, and a source larger than the socket buffers.
fn make(server: Server) -> Case {
    let case = Case::elsewhere(server);
    case.make(TREE);
    case.make_old(120_000);
    case.copy("old", "id, day, v");
    case
}

/// Runs `blow` on the source's sessions after some rows were read, and returns how the load ended.
fn struck(case: &Case, blow: &str, id: &str, options: &[&str]) -> Ended {
    case.bench.session.run("TRUNCATE public.t");
    let hold = case.bench.hold("payload::sent:3");
    let options = [&["-j1", MEMORY, "--load-id", id], options].concat();
    let load = case.start_with("old", &options, &hold.environment());
    hold.wait();
    let struck = case.source().value(&format!("SELECT count({blow}(pid)) FROM {READERS}"));
    assert_ne!(struck, "0", "no session reads the source");
    hold.let_go();
    load.ended()
}

/// Checks how the load ended, and that another run completes the table.
#[track_caller]
fn check(case: &Case, ended: &Ended, id: &str) {
    if ended.status.success() {
        case.agree("a load that says it is done");
    } else {
        ended.fails(1, &["error: "]);
        assert_eq!(ended.committed(), case.bench.count("t"), "{ended:?}");
    }
    case.load("old", &["--load-id", id]).summary();
    case.agree("a load that is resumed");
}

fn readers_that_are_terminated(server: Server) {
    let case = make(server);
    for (id, options) in [("a", &[][..]), ("b", &["--wait=1min"])] {
        let ended = struck(&case, "pg_terminate_backend", id, options);
        check(&case, &ended, id);
    }
    // All or nothing.
    let ended = struck(&case, "pg_terminate_backend", "c", &["--atomic"]);
    if !ended.status.success() {
        assert_eq!(case.bench.count("t"), 0, "{ended:?}");
    }
    case.load("old", &["--load-id=c", "--atomic"]).summary();
    case.agree("an atomic load");
}

fn readers_that_are_cancelled(server: Server) {
    let case = make(server);
    let ended = struck(&case, "pg_cancel_backend", "a", &[]);
    check(&case, &ended, "a");
}

fn a_connection_that_is_cut(server: Server) {
    let case = make(server);
    let proxy = Proxy::before(&case.source().url);
    for (id, options) in [("a", &[][..]), ("b", &["--wait=1min"])] {
        case.bench.session.run("TRUNCATE public.t");
        proxy.set(Mode::Pass);
        let hold = case.bench.hold("payload::sent:3");
        let own = ["-j1", MEMORY, "--load-id", id, "--from-table=old", "--from", proxy.url()];
        let mut load = program();
        load.args(["load", "-d", &case.bench.url, "-t", "public.t", "--json", "-q"]);
        load.args(own).args(options).envs(hold.environment());
        let load = Running::start(load.current_dir(case.bench.folder.path()));
        hold.wait();
        proxy.set(Mode::Cut);
        wait_until("the end of the readers", || case.source().count(READERS) == 0);
        if !options.is_empty() {
            // The server is back before the load's patience ends.
            proxy.set(Mode::Pass);
        }
        hold.let_go();
        let ended = load.ended();
        check(&case, &ended, id);
    }
}

/// An interrupted load ends its readers.
fn an_interrupt(server: Server) {
    let case = make(server);
    let hold = case.bench.hold("payload::sent:3");
    let load = case.start_with("old", &["-j1", MEMORY, "--load-id=l"], &hold.environment());
    hold.wait();
    load.signal("-INT");
    hold.let_go();
    let ended = load.ended();
    ended.fails(130, &["interrupted"]);
    wait_until("the end of the readers", || case.source().count(READERS) == 0);
    case.load("old", &["--load-id=l"]).summary();
    case.agree("a load that was interrupted");
}
