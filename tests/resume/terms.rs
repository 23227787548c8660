//! Every option of `load`, taken from the program's own list. An option that decides how rows are read,
//! routed or changed can be neither added nor removed when a load is resumed. All others can.

use std::collections::BTreeSet;
use std::process::Stdio;

use crate::harness::{Bench, Ended, Running, Server, on_each_server, program};

on_each_server!([options_that_decide_are_terms, options_that_are_harmless_may_change,]);

/// The role of an option in a load.
enum Part {
    /// The option is a term. Both runs get the first options, and one of them gets the second.
    Term(Content, &'static [&'static str], &'static str),
    /// The option may change. Both runs get the first options, and one of them gets the second.
    Free(&'static [&'static str], &'static [&'static str]),
    /// The option names the load, its input or its server, so it cannot be a term. The text is the reason.
    Apart(&'static str),
}

use Part::{Apart, Free, Term};

/// The rows of an input. Both runs must be able to read them.
#[derive(Clone, Copy)]
enum Content {
    Ids,
    Rows,
    Named,
}

use Content::{Ids, Named, Rows};

const ONLY_IDS: &[&str] = &["--columns=id"];
const UPDATE: &[&str] = &["--on-conflict=update"];

/// Each option of `load` by its long name.
const OPTIONS: [(&str, Part); 69] = [
    ("files", Apart("inputs have fingerprints")),
    ("from-table", Apart("the blocks of its rows have hashes")),
    ("from", Apart("it says where the rows are read")),
    ("where", Apart("it is a term of loads from a table only: relation::resumed")),
    ("table", Apart("a load into another table is refused")),
    ("format", Term(Ids, ONLY_IDS, "--format=text")),
    ("header", Term(Ids, ONLY_IDS, "--header")),
    ("header", Term(Ids, &["--columns=id", "--header"], "--header=2")),
    ("header", Term(Named, &["--header"], "--header=map")),
    ("map", Term(Named, &["--header=map"], "--map=v=v")),
    ("ignore-extra", Term(Named, &["--header=map"], "--ignore-extra")),
    ("encoding", Term(Ids, ONLY_IDS, "--encoding=latin1")),
    ("delimiter", Term(Ids, ONLY_IDS, "--delimiter=;")),
    ("null", Term(Ids, ONLY_IDS, "--null=NIL")),
    ("default", Term(Ids, ONLY_IDS, "--default=fresh")),
    ("quote", Term(Ids, ONLY_IDS, "--quote='")),
    ("escape", Term(Ids, ONLY_IDS, "--escape=\\")),
    ("force-null", Term(Rows, &["--null=NIL"], "--force-null=v")),
    ("force-not-null", Term(Rows, &["--null=NIL"], "--force-not-null=*")),
    ("columns", Term(Rows, &[], "--columns=v,id")),
    ("round", Term(Rows, &[], "--round")),
    ("on-conflict", Term(Rows, &[], "--on-conflict=update")),
    ("on-conflict", Term(Rows, &[], "--on-conflict=skip")),
    ("on-conflict", Term(Rows, &[], "--on-conflict=delete")),
    ("key", Term(Rows, UPDATE, "--key=id")),
    ("update", Term(Rows, UPDATE, "--update=v")),
    ("no-insert", Term(Rows, UPDATE, "--no-insert")),
    ("newer", Term(Rows, UPDATE, "--newer=id")),
    ("delete-when", Term(Rows, UPDATE, "--delete-when=v")),
    ("duplicates", Term(Rows, UPDATE, "--duplicates=first")),
    ("no-native", Term(Rows, &[], "--no-native")),
    ("create-partitions", Free(&[], &["--create-partitions"])),
    ("step", Free(&["--create-partitions"], &["--step=1000"])),
    ("max-new-partitions", Free(&["--create-partitions"], &["--max-new-partitions=5"])),
    ("atomic", Apart("a load with rows in the table cannot be all or nothing any more")),
    ("exchange", Free(&[], &["--exchange"])),
    ("exchange", Term(Rows, &[], "--exchange=replace")),
    ("swap-patience", Free(&["--exchange"], &["--swap-patience=5"])),
    ("reject-file", Free(&[], &["--reject-file=bad", "--max-rejects=9"])),
    ("reject-table", Free(&[], &["--reject-table=bad", "--max-rejects=9"])),
    ("max-rejects", Free(&[], &["--reject-file=bad", "--max-rejects=9"])),
    ("lock-timeout", Free(&[], &["--lock-timeout=60s"])),
    ("max-lag", Free(&[], &["--max-lag=100GB"])),
    ("load-id", Apart("it names the load")),
    (
        "participant",
        Apart("a load with rows in the table cannot be shared any more: shares::refused"),
    ),
    ("participants", Apart("it is a term of shares only: shares::finished")),
    ("once", Free(&[], &["--once"])),
    ("end-other", Free(&[], &["--end-other"])),
    ("ledger", Apart("it says where the load is known")),
    ("no-ledger", Apart("there is nothing to resume")),
    ("jobs", Free(&[], &["--jobs=3"])),
    ("memory", Free(&[], &["--memory=64MiB"])),
    ("few-rows", Free(&[], &["--few-rows=0"])),
    ("wire", Free(&[], &["--wire=text"])),
    ("sink", Apart("a load that stores nothing is not in the ledger")),
    ("threads", Free(&[], &["--threads=1"])),
    ("no-self-test", Free(&[], &["--no-self-test"])),
    ("json", Free(&[], &["--json"])),
    ("quiet", Free(&[], &["--quiet"])),
    ("metrics", Free(&[], &["--metrics=load.prom"])),
    ("log", Free(&[], &["--log=load.log"])),
    ("log-format", Free(&["--log=load.log"], &["--log-format=json"])),
    ("dbname", Apart("it says which server")),
    ("host", Apart("it says which server")),
    ("port", Apart("it says which server")),
    ("username", Apart("it says who connects")),
    ("password", Apart("it says how to log in")),
    ("no-password", Free(&[], &["--no-password"])),
    ("wait", Free(&[], &["--wait=1s"])),
];

const ROWS: u64 = 12_000;

#[test]
fn each_option_is_a_term_or_harmless() {
    let mut command = pgsluice_cli::command();
    command.build();
    let load = command.find_subcommand("load").expect("load");
    let taken = load.get_arguments().map(|it| it.get_long().unwrap_or(it.get_id().as_str()));
    let taken: BTreeSet<&str> = taken.filter(|name| *name != "help").collect();
    let listed: BTreeSet<&str> = OPTIONS.iter().map(|(name, _)| *name).collect();
    assert_eq!(taken, listed);
    for (name, part) in OPTIONS {
        let option = match part {
            Term(_, _, option) => option,
            Free(_, options) => options[0],
            // Each has its reason.
            Apart(why) if !why.is_empty() => continue,
            Apart(_) => panic!("{name} is apart without a reason"),
        };
        let is_other = name == "max-rejects";
        assert!(is_other || option.starts_with(&format!("--{name}")), "{name}: {option}");
    }
}

fn bench(server: Server) -> Bench {
    let bench = Bench::new(server);
    bench.session.run(
        "CREATE TABLE t (id int PRIMARY KEY, v text COLLATE \"C\") PARTITION BY RANGE (id);
             CREATE TABLE bad (\"row\" text)",
    );
    for leaf in 0..4 {
        let (from, to) = (leaf * 4000, (leaf + 1) * 4000);
        bench.session.run(&format!(
            "CREATE TABLE t_{leaf} PARTITION OF t FOR VALUES FROM ({from}) TO ({to})"
        ));
    }
    let rows = |row: &dyn Fn(u64) -> String| (0..ROWS).map(row).collect::<String>();
    bench.file("ids.csv", rows(&|id| format!("{id}\n")));
    let both = rows(&|id| format!("{id},{:0>200}\n", (id + 1) % ROWS));
    bench.file("named.csv", format!("id,v\n{both}"));
    bench.file("rows.csv", both);
    bench
}

fn file(content: Content) -> &'static str {
    match content {
        Ids => "ids.csv",
        Rows => "rows.csv",
        Named => "named.csv",
    }
}

/// Runs the load `id`.
fn load(bench: &Bench, (id, file): (&str, &str), options: &[&[&str]], dies: bool) -> Ended {
    let mut command = program();
    command.args(["load", "-d", &bench.url, file, "-t", "t", "--load-id", id, "--memory=1MiB"]);
    command.args(options.concat()).current_dir(bench.folder.path());
    if dies {
        command.env("PGSLUICE_FAILPOINT", "payload::committed");
    }
    Running::start(command.stdin(Stdio::null())).ended()
}

fn options_that_decide_are_terms(server: Server) {
    let bench = bench(server);
    let with_default = "--default";
    for (number, (name, part)) in OPTIONS.iter().enumerate() {
        let Term(content, both, option) = part else { continue };
        if option.starts_with(with_default) && server.lacks(16, with_default) {
            continue;
        }
        for (turn, [begun, resumed]) in
            [[&[][..], &[*option]], [&[*option], &[][..]]].into_iter().enumerate()
        {
            bench.session.run("TRUNCATE t");
            let id = &format!("{number} {turn}");
            let of = (id.as_str(), file(*content));
            let first = load(&bench, of, &[both, begun], true);
            let known = bench.count(&format!("pgsluice.load WHERE id = '{id}'"));
            assert_eq!(known, 1, "{name}: {first:?}");
            let before = bench.count("t");
            let refused = load(&bench, of, &[both, resumed], false);
            let message = ["error: this load was begun ", ", and is resumed ", "(SQLSTATE 55000)"];
            refused.fails(1, &message).fails(1, &["HINT:  ", "pgsluice ledger forget"]);
            assert_eq!(bench.count("t"), before, "{name}");
        }
    }
}

fn options_that_are_harmless_may_change(server: Server) {
    let bench = bench(server);
    let mut halves = 0;
    for (number, (name, part)) in OPTIONS.iter().enumerate() {
        let Free(both, options) = part else { continue };
        for (turn, [begun, resumed]) in
            [[&[][..], *options], [*options, &[][..]]].into_iter().enumerate()
        {
            bench.session.run("TRUNCATE t");
            let id = format!("{number} {turn}");
            load(&bench, (&id, "rows.csv"), &[both, begun], true);
            let before = bench.count("t");
            halves += usize::from(0 < before && before < ROWS);
            bench.wait_for_sessions();
            let ended = load(&bench, (&id, "rows.csv"), &[both, resumed], false);
            assert_eq!(ended.status.code(), Some(0), "{name}: {ended:?}");
            let right = bench.count("t WHERE v::int = (id + 1) % 12000");
            assert_eq!((bench.count("t"), right), (ROWS, ROWS), "{name}");
            for left in ["bad", "bad.log"] {
                let _ = std::fs::remove_file(bench.path(left));
            }
        }
    }
    assert!(halves > 10, "only {halves} loads were killed in the middle");
}
