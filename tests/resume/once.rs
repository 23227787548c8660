//! `--once`: if several loads have the same input, one of them loads it, whenever they start and however they end.

use std::process::Stdio;

use crate::harness::{Bench, Ended, Running, Server, on_each_server, program, rows};

on_each_server!([
    only_one_of_two_simultaneous_loads_runs,
    an_input_that_is_being_loaded_is_refused,
    an_input_of_a_load_that_was_killed_is_refused,
]);

fn bench(server: Server) -> Bench {
    let bench = Bench::with_table(server);
    bench.file("few.csv", rows(20, 10));
    bench.file("few too.csv", rows(20, 10));
    bench.file("rows.csv", rows(3000, 10));
    bench.file("rows too.csv", rows(3000, 10));
    bench
}

fn once(bench: &Bench, files: &[&str]) -> Running {
    bench.start([files, &["-t", "t", "--once"]].concat(), Stdio::null())
}

fn only_one_of_two_simultaneous_loads_runs(server: Server) {
    let bench = bench(server);
    let inputs: [(&[&str], &[&str], u64); 3] = [
        (&["few.csv"], &["few too.csv"], 20),
        (&["rows.csv"], &["rows too.csv"], 3000),
        (&["rows.csv", "few.csv"], &["few too.csv", "rows too.csv"], 3020),
    ];
    for (one, other, count) in inputs {
        bench.session.run("TRUNCATE t");
        let loads: Vec<Running> =
            [one, other, one, other, one].map(|files| once(&bench, files)).into();
        let ended: Vec<Ended> = loads.into_iter().map(Running::ended).collect();
        let done = ended.iter().filter(|ended| ended.status.code() == Some(0)).count();
        assert_eq!((done, bench.count("t")), (1, count), "{ended:?}");
        for refused in ended.iter().filter(|ended| ended.status.code() != Some(0)) {
            refused.fails(1, &["error: this input ", " loaded into public.t ", "(SQLSTATE 5500"]);
        }
        once(&bench, one).ended().fails(1, &["this input was loaded into public.t before"]);
        assert_eq!(bench.count("t"), count);
    }
}

/// Starts a load that dies or pauses when the ledger has it.
fn begun(bench: &Bench, environment: &[(&str, &str)]) -> Running {
    let mut command = program();
    command.args(["load", "-d", &bench.url, "rows.csv", "-t", "t", "--once", "--load-id=first"]);
    command.envs(environment.iter().copied()).current_dir(bench.folder.path());
    Running::start(command.stdin(Stdio::null()))
}

fn an_input_that_is_being_loaded_is_refused(server: Server) {
    let bench = bench(server);
    let hold = bench.hold("load::begun");
    let first = begun(&bench, &hold.environment());
    hold.wait();
    let message = ["this input is being loaded into public.t by load first (SQLSTATE 55006)"];
    once(&bench, &["rows too.csv"]).ended().fails(1, &message);
    hold.let_go();
    assert_eq!(first.ended().status.code(), Some(0));
    assert_eq!(bench.count("t"), 3000);
}

fn an_input_of_a_load_that_was_killed_is_refused(server: Server) {
    let bench = bench(server);
    begun(&bench, &[("PGSLUICE_FAILPOINT", "payload::committed")]).ended();
    bench.wait_for_sessions();
    let before = bench.count("t");
    assert!(before > 0);
    let refused = once(&bench, &["rows too.csv"]).ended();
    let message = ["load first started to load this input into public.t (SQLSTATE 55000)"];
    refused.fails(1, &message).fails(1, &["\nHINT:  To load the rest: ", "--load-id first"]);
    assert_eq!(bench.count("t"), before);
    let rest = bench.load(["rows.csv", "-t", "t", "--once", "--load-id", "first"]);
    assert_eq!((rest.status.code(), bench.count("t")), (Some(0), 3000));
}
