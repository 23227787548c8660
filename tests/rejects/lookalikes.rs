//! Rows whose text resembles the server's message about another row: only the rows that the server refuses
//! one by one are rejected.

use std::collections::BTreeSet;
use std::fs;

use crate::harness::{Bench, Server, on_each_server};

on_each_server!([
    only_rows_that_are_refused_alone_are_rejected,
    letters_that_mention_a_copy_are_good_rows,
    no_other_row_is_named,
]);

const ROWS: usize = 1200;

/// Parts of values; `#` is replaced by a number.
const FRAGMENTS: [&str; 12] = [
    "Dear all,\n",
    "\nCOPY of invoice #",
    "\nCOPY t, line #, column v: \"x",
    "\nCOPY t_0, line #: \"x",
    "\nCOPY t_1, line #, column line 7: \"",
    "\nCOPY t_0, line #",
    "\nt_1 복사, #번째 줄: \"",
    "\nKey (line 7)=(#) is not present in table \"t\".",
    "\nPL/pgSQL function f() line # at RAISE",
    "\"",
    "\r\n",
    ": x",
];

/// Tables that refuse each kind of row in a different way and at a different time.
const TABLES: &str = "
CREATE FUNCTION before() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF new.kind = 1 THEN RAISE '%', new.v; END IF;
    IF new.kind = 2 THEN EXECUTE format('SELECT %L, 1 / 0', new.v); END IF;
    RETURN new; END $$;
CREATE FUNCTION after() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF new.kind = 3 THEN EXECUTE format('SELECT %L, 1 / 0', new.v); END IF;
    IF new.kind = 4 THEN RAISE '%', new.v USING DETAIL = new.v; END IF;
    RETURN new; END $$;
CREATE TABLE ref (id int PRIMARY KEY);
INSERT INTO ref VALUES (0);";

fn make_tree(bench: &Bench, name: &str, leaf: &str) {
    bench.session.run(&format!(
        "CREATE TABLE {name} (id int, kind int CHECK (kind <> 5), v text, \"line 7\" int REFERENCES ref,
             j jsonb) PARTITION BY HASH (id);
         CREATE TABLE {leaf}_0 PARTITION OF {name} FOR VALUES WITH (MODULUS 2, REMAINDER 0);
         CREATE TABLE {leaf}_1 PARTITION OF {name} FOR VALUES WITH (MODULUS 2, REMAINDER 1);
         CREATE TRIGGER b BEFORE INSERT ON {name} FOR EACH ROW EXECUTE FUNCTION before();
         CREATE TRIGGER a AFTER INSERT ON {name} FOR EACH ROW EXECUTE FUNCTION after()"
    ));
}

/// Returns pseudo-random numbers.
fn number(seed: usize) -> usize {
    ((seed as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as usize
}

fn is_bad(id: usize) -> bool {
    number(id).is_multiple_of(20)
}

fn value(seed: usize) -> String {
    let fragment = |nth: usize| {
        let chance = number(seed * 8 + nth);
        FRAGMENTS[chance % FRAGMENTS.len()].replace('#', &(1 + chance / 32 % 40).to_string())
    };
    (0..number(seed * 8 + 7) % 6).map(fragment).collect()
}

/// Returns a row in CSV or in text.
fn row(id: usize, is_bad: bool, is_csv: bool) -> String {
    let kind = if is_bad { 1 + number(id) / 7 % 7 } else { 0 };
    let v = value(id);
    let r = if kind == 6 { number(id) % 9 + 1 } else { 0 };
    let j = if kind == 7 { format!("{{{v}") } else { "{\"a\":\n1}".to_owned() };
    match is_csv {
        true => {
            let quoted = |value: &str| format!("\"{}\"", value.replace('"', "\"\""));
            format!("{id},{kind},{},{r},{}\n", quoted(&v), quoted(&j))
        }
        false => {
            let escaped = |value: &str| value.replace('\n', "\\n").replace('\r', "\\r");
            format!("{id}\t{kind}\t{}\t{r}\t{}\n", escaped(&v), escaped(&j))
        }
    }
}

fn rows(is_csv: bool) -> Vec<String> {
    (0..ROWS).map(|id| row(id, is_bad(id), is_csv)).collect()
}

fn only_rows_that_are_refused_alone_are_rejected(server: Server) {
    let bench = &Bench::new(server);
    bench.session.run(TABLES);
    make_tree(bench, "t", "t");
    make_tree(bench, "one_by_one", "o");
    for (format, options) in [
        ("csv", &["--wire", "text", "-j1"][..]),
        ("text", &["--wire", "text"]),
        ("csv", &[]),
        ("csv", &["-j1", "--no-native"]),
    ] {
        let is_csv = format == "csv";
        bench.session.run("TRUNCATE t, one_by_one");
        let rows = rows(is_csv);
        let copy = format!("COPY one_by_one FROM STDIN (FORMAT {format})");
        let is_refused =
            |row: &&String| bench.session.copy_in(&copy, row.as_bytes().to_vec()).is_err();
        let refused: BTreeSet<&str> = rows.iter().filter(is_refused).map(String::as_str).collect();
        assert!(refused.len() > ROWS / 40, "{}", refused.len());
        bench.file("rows", rows.concat());
        for name in ["bad", "bad.log"] {
            let _ = fs::remove_file(bench.path(name));
        }
        let load = ["rows", "-t", "t", "--reject-file", "bad", "--max-rejects", "50%", "--json"];
        let load = [&load[..], &["--format", format], options].concat();
        let summary = bench.load(load).summary_of(3);
        let rejected = fs::read_to_string(bench.path("bad")).unwrap();
        let rejected: BTreeSet<&str> = whole_rows(&rejected, is_csv).collect();
        let wrongly: Vec<_> = rejected.difference(&refused).collect();
        assert!(wrongly.is_empty(), "{options:?}: {} good rows: {wrongly:?}", wrongly.len());
        assert_eq!(rejected, refused, "{options:?}");
        assert_eq!(summary["rows_rejected"], refused.len());
        for (one, other) in [("t", "one_by_one"), ("one_by_one", "t")] {
            let more = format!("(TABLE {one} EXCEPT ALL TABLE {other}) AS more");
            assert_eq!(bench.count(&more), 0, "{options:?}");
        }
    }
}

/// Returns the rows of a file. Each begins with an identifier.
fn whole_rows(text: &str, is_csv: bool) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut quotes = 0;
        let end = rest.bytes().position(|byte| {
            quotes += usize::from(is_csv && byte == b'"');
            byte == b'\n' && quotes % 2 == 0
        })?;
        let (row, after) = rest.split_at(end + 1);
        rest = after;
        Some(row)
    })
}

fn letters_that_mention_a_copy_are_good_rows(server: Server) {
    let bench = &Bench::new(server);
    bench
        .session
        .run("CREATE TABLE t (id int, v text CHECK (v NOT LIKE 'bad%')) PARTITION BY HASH (id)");
    bench.session.run("CREATE TABLE l PARTITION OF t FOR VALUES WITH (MODULUS 1, REMAINDER 0)");
    let mut rows: Vec<_> =
        (0..2000).map(|id| format!("{id},\"Dear all,\nCOPY of invoice 7\"\n")).collect();
    rows[1234] = "1234,\"bad,\nCOPY of invoice 7\"\n".to_owned();
    bench.file("rows.csv", rows.concat());
    let load = ["rows.csv", "-t", "t", "--reject-file", "bad", "--max-rejects", "50%"];
    let ended = bench.load(load.iter().chain(&["--wire", "text", "-j1"]));
    assert_eq!(ended.status.code(), Some(3), "{ended:?}");
    let rejected = fs::read_to_string(bench.path("bad")).unwrap();
    assert_eq!(rejected, rows[1234]);
    assert_eq!(bench.count("t"), 1999);
}

fn no_other_row_is_named(server: Server) {
    let bench = &Bench::new(server);
    bench.session.run(TABLES);
    make_tree(bench, "t", "t");
    let mut named = 0;
    for bad in (0..ROWS).filter(|id| is_bad(*id)).step_by(6) {
        let rows: Vec<_> =
            (0..ROWS / 2).map(|id| row(id + bad / 2, id + bad / 2 == bad, true)).collect();
        bench.file("rows.csv", rows.concat());
        for wire in ["text", "binary"] {
            bench.session.run("TRUNCATE t");
            let load = ["rows.csv", "-t", "t", "--wire", wire, "-j1", "--no-ledger"];
            let ended = bench.load(load);
            assert_eq!(ended.status.code(), Some(1), "{ended:?}");
            let line = 1 + rows[..bad - bad / 2].concat().matches('\n').count();
            let is_named = ended.stderr.contains(&format!("rows.csv:{line}:"));
            let is_range = ended.stderr.contains("The row is one of ");
            assert!(is_named || is_range, "line {line}: {}", ended.stderr);
            named += usize::from(is_named);
        }
    }
    assert!(named > 0);
}
