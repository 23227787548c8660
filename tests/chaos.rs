//! Loads that are killed or lose their connection at critical points: the table has whole payloads
//! afterwards, no row twice, and the messages are correct.

mod writers;

use std::ops::Range;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use pgsluice::testing::failpoint::NAMES;

use crate::harness::{Bench, Cell, Ended, Mode, Proxy, Running, Server, on_each_server, program};

on_each_server!([
    a_load_that_is_killed_leaves_whole_payloads,
    a_load_that_is_killed_while_it_rejects_leaves_whole_payloads,
    a_load_that_is_held_up_loses_nothing,
    a_load_that_is_killed_is_resumed,
    an_exchange_that_is_killed_is_resumed,
    a_load_whose_connection_is_cut_leaves_the_reported_rows_and_is_resumed,
]);

const ROWS: usize = 40_000;

const TABLE: &str = "
CREATE TABLE t (id int, v text CHECK (v <> 'bad')) PARTITION BY HASH (id);
CREATE TABLE t_0 PARTITION OF t FOR VALUES WITH (MODULUS 4, REMAINDER 0);
CREATE TABLE t_1 PARTITION OF t FOR VALUES WITH (MODULUS 4, REMAINDER 1);
CREATE TABLE t_2 PARTITION OF t FOR VALUES WITH (MODULUS 4, REMAINDER 2) PARTITION BY RANGE (id);
CREATE TABLE t_2_a PARTITION OF t_2 FOR VALUES FROM (0) TO (5000);
CREATE TABLE t_2_b PARTITION OF t_2 DEFAULT;
CREATE TABLE t_3 PARTITION OF t FOR VALUES WITH (MODULUS 4, REMAINDER 3)";

/// A limit that is small enough for many payloads.
const MEMORY: &str = "--memory=1MiB";

/// SIGKILL.
const KILLED: Option<i32> = Some(9);

/// A table, an input of distinct rows, and the leaf to which COPY routes each row.
struct Chaos {
    bench: Bench,
    wanted: Vec<Vec<Cell>>,
}

impl Chaos {
    fn new(server: Server) -> Self {
        let bench = Bench::new(server);
        bench.session.run(TABLE);
        let text = "x".repeat(100);
        let rows: String = (0..ROWS).map(|id| format!("{id},{text}\n")).collect();
        bench.session.copy_in("COPY t FROM STDIN (FORMAT csv)", rows.clone().into()).unwrap();
        bench.file("rows.csv", rows);
        let mut chaos = Self { bench, wanted: Vec::new() };
        chaos.wanted = chaos.placed();
        chaos.empty();
        chaos
    }

    fn empty(&self) {
        self.bench.session.run("TRUNCATE t");
    }

    fn placed(&self) -> Vec<Vec<Cell>> {
        self.bench.session.rows("SELECT tableoid::regclass, id, v FROM t ORDER BY id, 1")
    }

    /// Resumes the load `id`, and compares the table with COPY of the input.
    #[track_caller]
    fn resume(&self, id: &str, options: &[&str]) {
        let ended = self.load(&self.bench.url, &[&["--load-id", id], options].concat(), &[]);
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        assert!(
            self.placed() == self.wanted,
            "{id}: the rows of COPY, each once, in the same leaves"
        );
    }

    fn load(&self, url: &str, options: &[&str], environment: &[(&str, &str)]) -> Ended {
        let mut load = program();
        load.args(["load", "rows.csv", "-t", "t", "-d", url, "-q"]).args(options);
        load.envs(environment.iter().copied()).current_dir(self.bench.folder.path());
        Running::start(load.stdin(Stdio::null())).ended()
    }

    /// Returns the number of transactions whose rows are in the table. No row may be there twice, and each
    /// must be in the leaf to which COPY routes it.
    #[track_caller]
    fn transactions(&self) -> u64 {
        let placed = self.placed();
        let mut wanted = self.wanted.iter();
        for row in &placed {
            assert!(wanted.any(|wanted| wanted == row), "{row:?} is there twice, or elsewhere");
        }
        self.bench.value("SELECT count(DISTINCT xmin::text) FROM t").parse().unwrap()
    }
}

/// Returns the failpoints that every load reaches, without those of particular options.
fn plain() -> impl Iterator<Item = &'static str> {
    let others =
        ["share::", "split::", "rejects::", "exchange::", "atomic::", "stage::", "moving::"];
    NAMES.into_iter().filter(move |name| others.iter().all(|other| !name.starts_with(other)))
}

fn a_load_that_is_killed_leaves_whole_payloads(server: Server) {
    let chaos = Chaos::new(server);
    for name in plain() {
        for count in 1..=3 {
            let point = format!("{name}:{count}");
            let environment = [("PGSLUICE_FAILPOINT", &*point)];
            let ended = chaos.load(&chaos.bench.url, &["-j1", MEMORY], &environment);
            let found = chaos.transactions();
            let (comes, expected) = match name {
                "load::begun" => (count == 1, 0..1),
                "payload::closed" | "payload::begun" | "payload::sent" => (true, count - 1..count),
                "payload::committed" => (true, count..count + 1),
                // The server may have received the messages that follow the end of COPY.
                "payload::committing" | "payload::copied" | "receipts::written" => {
                    (true, count - 1..count + 1)
                }
                // The points at the end of a load.
                _ => (count == 1, ALL),
            };
            let is_killed = ended.status.signal() == KILLED;
            assert_eq!((is_killed, ended.status.success()), (comes, !comes), "{point}: {ended:?}");
            let expected = if comes { expected } else { ALL };
            assert!(expected.contains(&found), "{point}: {found}");
            chaos.empty();
        }
    }
}

/// More payloads than any of these tests has.
const ALL: Range<u64> = 5..u64::MAX;

/// The bad rows of a payload are written to the file before the good ones are committed.
fn a_load_that_is_killed_while_it_rejects_leaves_whole_payloads(server: Server) {
    let chaos = Chaos::new(server);
    let row = |id: usize| format!("{id},{}\n", if id % 10 == 7 { "bad" } else { "x" });
    chaos.bench.file("rows.csv", (0..ROWS).map(row).collect::<String>());
    for (name, is_in) in [("rejects::written", false), ("rejects::committed", true)] {
        let rejects = format!("--reject-file={name}.csv");
        let environment = [("PGSLUICE_FAILPOINT", name)];
        let ended = chaos.load(
            &chaos.bench.url,
            &["-j1", MEMORY, &rejects, "--max-rejects=50%"],
            &environment,
        );
        assert_eq!(ended.status.signal(), KILLED, "{ended:?}");
        assert_eq!(chaos.bench.count("t") > 0, is_in, "{name}");
        let file = std::fs::read_to_string(chaos.bench.path(&format!("{name}.csv"))).unwrap();
        assert!(file.lines().all(|line| line.ends_with(",bad")) && file.len() > 100, "{file}");
        chaos.empty();
    }
}

fn a_load_that_is_held_up_loses_nothing(server: Server) {
    let chaos = Chaos::new(server);
    for name in plain() {
        let environment = [("PGSLUICE_FAILPOINT", name), ("PGSLUICE_FAILPOINT_SLEEP", "300")];
        let ended = chaos.load(&chaos.bench.url, &["-j2", MEMORY], &environment);
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        chaos.transactions();
        assert_eq!(chaos.placed().len(), ROWS, "{name}");
        chaos.empty();
    }
}

/// Options with which a load may be resumed.
const OTHER_OPTIONS: [&[&str]; 4] = [
    &["-j4"],
    &["-j1", "--wire=text"],
    &["-j3", MEMORY, "--few-rows=50"],
    &["-j2", "--few-rows=0"],
];

fn a_load_that_is_killed_is_resumed(server: Server) {
    let chaos = Chaos::new(server);
    let points = plain().flat_map(|name| [1, 3].map(|count| format!("{name}:{count}")));
    for (number, point) in points.enumerate() {
        let id = format!("killed-{number}");
        let environment = [("PGSLUICE_FAILPOINT", &*point)];
        chaos.load(&chaos.bench.url, &["-j2", MEMORY, "--load-id", &id], &environment);
        chaos.resume(&id, OTHER_OPTIONS[number % OTHER_OPTIONS.len()]);
        chaos.empty();
    }
}

fn an_exchange_that_is_killed_is_resumed(server: Server) {
    let chaos = Chaos::new(server);
    for point in ["payload::committed:3", "exchange::committing", "exchange::committed"] {
        let options = ["--exchange", MEMORY, "--load-id", point];
        let ended = chaos.load(&chaos.bench.url, &options, &[("PGSLUICE_FAILPOINT", point)]);
        assert_eq!(ended.status.signal(), KILLED, "{point}: {ended:?}");
        chaos.resume(point, &["--exchange"]);
        chaos.empty();
    }
}

fn a_load_whose_connection_is_cut_leaves_the_reported_rows_and_is_resumed(server: Server) {
    let chaos = Chaos::new(server);
    let proxy = Proxy::before(&chaos.bench.url);
    chaos.load(proxy.url(), &["-j2", MEMORY], &[]);
    let all = proxy.sent();
    chaos.empty();
    for cut in 0..20 {
        let id = format!("cut-{cut}");
        proxy.set(Mode::Pass);
        // At various positions, from the first message to the last.
        proxy.set_after(1 + all * cut / 20 + 997 * cut, Mode::Cut);
        let ended = chaos.load(proxy.url(), &["-j2", MEMORY, "--load-id", &id], &[]);
        let transactions = chaos.transactions();
        let found = chaos.bench.count("t");
        if ended.stderr.contains(" of this load ") {
            let message = ended.committed();
            let possible = message..=message + ended.in_doubt();
            assert!(possible.contains(&found), "{found} rows, {transactions} payloads\n{ended:?}");
            ended.fails(1, &["\nDETAIL:  "]);
        } else {
            assert_eq!((proxy.mode(), found), (Mode::Cut, 0), "{ended:?}");
            ended.fails(1, &["error: "]);
        }
        chaos.resume(&id, OTHER_OPTIONS[cut as usize % OTHER_OPTIONS.len()]);
        chaos.empty();
    }
}
