//! Loads that fail after they may have created partitions: the partitions that are left, and the ones that
//! are reported.

use std::process::Stdio;

use super::Case;
use crate::harness::{Hold, Running, Server, on_each_server, program};

on_each_server!([
    a_load_that_would_fail_at_once_makes_none,
    a_load_that_fails_later_drops_the_empty_ones,
    partitions_of_others_are_left,
    partitions_far_from_all_others_are_named,
]);

/// A table by months.
const PLAIN: &str = "
CREATE TABLE t (day date, id int NOT NULL, v text CHECK (v <> 'bad')) PARTITION BY RANGE (day);
CREATE TABLE t_2024_01 PARTITION OF t FOR VALUES FROM ('2024-01-01') TO ('2024-02-01')";

fn a_load_that_would_fail_at_once_makes_none(server: Server) {
    let lists = "CREATE TABLE t (land text NOT NULL, id int) PARTITION BY LIST (land);
                 CREATE TABLE land_de PARTITION OF t FOR VALUES IN ('DE')";
    for (tree, rows, message) in [
        (PLAIN, "2024-02-01,1,x\n2024-03-01,x,y\n", "invalid input syntax for type integer: \"x\""),
        (PLAIN, "2024-02-01,1,x\n2024-02-02,,y\n", "null value in column \"id\""),
        (PLAIN, "2024-02-01,1,x\n2024-02-02,2\n", "missing data for column \"v\""),
        (PLAIN, "2024-02-01,1,x\n2024-02-30,2,y\n", "date/time field value out of range"),
        (lists, "FR,1\n,2\n", "cannot create partitions of public.t: its key column is NOT NULL"),
    ] {
        let case = Case::new(server, tree, rows);
        let before = case.tree();
        let load = case.load(&[]);
        assert_eq!(load.status, Some(1), "{}", load.stderr);
        assert!(load.stderr.contains(message), "{message}: {}", load.stderr);
        assert_eq!(case.tree(), before, "{rows}");
    }
    // A trigger may replace NULL.
    let case = Case::new(server, PLAIN, "2024-02-01,,x\n");
    case.session.run(
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.id = 7; RETURN NEW; END';
         CREATE TRIGGER f BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()",
    );
    assert_eq!(case.made(&[]).len(), 1);
}

/// Returns rows of February and March, followed by one that is refused.
fn rows_until_one_is_bad() -> String {
    let row = |id: usize| format!("2024-0{}-15,{id},{}\n", 2 + id % 2, "x".repeat(40));
    (0..12_000).map(row).chain(["2024-05-01,1,bad\n".to_owned()]).collect()
}

fn a_load_that_fails_later_drops_the_empty_ones(server: Server) {
    let case = Case::new(server, PLAIN, &rows_until_one_is_bad());
    let before = case.tree();
    let load = case.load(&[]);
    assert_eq!(load.status, Some(1), "{}", load.stderr);
    let message = "DETAIL:  The load created these partitions, and dropped them again because they \
                were empty: public.t_2024_02, public.t_2024_03, public.t_2024_05.";
    assert!(load.stderr.contains(message), "{}", load.stderr);
    assert_eq!(case.tree(), before);
    // Partitions with rows stay.
    let load = case.load(&["--memory=1MiB", "-j1", "--few-rows=0", "--load-id=l"]);
    assert_eq!(load.status, Some(1), "{}", load.stderr);
    let kept = case.tree();
    assert!(kept.len() > 1 && !kept.iter().any(|table| table.starts_with("t_2024_05")), "{kept:?}");
    // The next run continues from there.
    case.session.run("ALTER TABLE t DROP CONSTRAINT t_v_check");
    let load = case.load(&["--memory=1MiB", "--load-id=l"]);
    assert_eq!(load.status, Some(0), "{}", load.stderr);
    assert_eq!(case.session.rows("SELECT count(*) FROM t")[0][0].as_deref(), Some("12001"));
}

/// During the load, another session alters one of the new partitions, and inserts a row into another.
fn partitions_of_others_are_left(server: Server) {
    let case = Case::new(server, PLAIN, &rows_until_one_is_bad());
    let folder = case.file.parent().unwrap();
    let hold = Hold::at("load::begun", folder.join("held"));
    let mut load = program();
    load.args(["load", case.file.to_str().unwrap(), "-t", "t", "-d", case.scratch.url()]);
    load.args(["-q", "--create-partitions"]).envs(hold.environment());
    let load = Running::start(load.stdin(Stdio::null()));
    hold.wait();
    case.session.run("ALTER TABLE t_2024_02 SET (fillfactor = 50)");
    case.session.run("INSERT INTO t VALUES ('2024-03-01', 1, 'mine')");
    hold.let_go();
    let ended = load.ended();
    ended.fails(
        1,
        &[
            "dropped them again because they were empty: public.t_2024_05.",
            "could not drop them again: public.t_2024_02 (it was altered since).",
            "To drop them, if they are empty and not needed: DROP TABLE public.t_2024_02;",
        ],
    );
    let tables: Vec<String> =
        case.tree().iter().map(|table| table.split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(tables, ["t_2024_01", "t_2024_02", "t_2024_03"]);
    // The hint works.
    case.session.run("DROP TABLE public.t_2024_02;");
}

fn partitions_far_from_all_others_are_named(server: Server) {
    let far = "warning: new partitions are far from the existing ones: ";
    for (tree, rows, message) in [
        (PLAIN, "2024-04-01,1,x\n2024-02-01,1,x\n", ""),
        (PLAIN, "2024-11-02,1,x\n2024-02-01,1,x\n", "public.t_2024_11 (10 steps); "),
        (
            PLAIN,
            "2023-01-01,1,x\n2206-01-01,1,x\n",
            "public.t_2023_01 (12 steps), public.t_2206_01 (",
        ),
        (
            "CREATE TABLE t (n int) PARTITION BY RANGE (n);
             CREATE TABLE t_0 PARTITION OF t FOR VALUES FROM (0) TO (10)",
            "35\n70\n",
            "public.t_70 (7 steps); ",
        ),
        ("CREATE TABLE t (n int) PARTITION BY LIST (n)", "35\n70\n", ""),
    ] {
        let case = Case::new(server, tree, rows);
        let load = case.load(&[]);
        assert_eq!(load.status, Some(0), "{}", load.stderr);
        assert_eq!(load.stderr.contains(far), !message.is_empty(), "{rows}: {}", load.stderr);
        assert!(load.stderr.contains(message), "{rows}: {}", load.stderr);
    }
}
