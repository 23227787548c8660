//! Loads that fail or are stopped: the table has none of their rows, and the message is correct.

use std::process::Stdio;
use std::thread;
use std::time::Duration;

use super::{MEMORY, ROWS, Whole, rows, sessions};
use crate::harness::{Server, on_each_server, wait_until};

on_each_server!([
    a_bad_row_keeps_all_out,
    a_constraint_that_is_looked_at_in_the_end_keeps_all_out,
    rejects_are_exact,
    a_key_that_is_there_twice_keeps_all_out,
    keys_that_are_there_twice_are_rejected,
    one_of_two_loads_of_the_same_keys_wins,
    an_interrupt_leaves_nothing,
    a_load_that_has_rows_in_is_not_made_whole,
    temporary_errors_are_tried_again,
    an_exchange_is_refused,
]);

fn a_bad_row_keeps_all_out(server: Server) {
    let whole = Whole::new(server);
    whole.bench.session.run("ALTER TABLE t ADD CHECK (v <> 'bad')");
    whole.bench.file("rows.csv", rows(ROWS) + "50000,bad\n");
    let ended = whole.load(&["--atomic", MEMORY], &[]);
    ended.fails(1, &["rows.csv:40001:", "check constraint", "No row of this load is in the table"]);
    whole.is_empty();
}

fn a_constraint_that_is_looked_at_in_the_end_keeps_all_out(server: Server) {
    let whole = Whole::new(server);
    whole.bench.session.run(
        "CREATE TABLE p (id int PRIMARY KEY); INSERT INTO p SELECT generate_series(0, 39998);
         ALTER TABLE t ADD FOREIGN KEY (id) REFERENCES p DEFERRABLE INITIALLY DEFERRED",
    );
    let ended = whole.load(&["--atomic", MEMORY], &[]);
    ended.fails(1, &["violates foreign key constraint", "No row of this load is in the table"]);
    whole.is_empty();
    whole.bench.session.run("INSERT INTO p VALUES (39999)");
    whole.load(&["--atomic", MEMORY], &[]).summary();
    whole.is_whole();
}

fn rejects_are_exact(server: Server) {
    let whole = Whole::new(server);
    whole.bench.session.run("ALTER TABLE t ADD CHECK (v <> 'bad')");
    let row = |id: usize| format!("{id},{}\n", if id % 100 == 7 { "bad" } else { "good" });
    whole.bench.file("rows.csv", (0..ROWS).map(row).collect::<String>());
    let file = whole.bench.path("bad.csv");
    let limited = |max: &str| {
        let max = format!("--max-rejects={max}");
        let options = ["--atomic", MEMORY, "--reject-file=bad.csv", &max];
        whole.load(&options, &[])
    };
    for few in ["399", "0.5%"] {
        limited(few).fails(1, &["No row of this load is in the table"]);
        whole.is_empty();
        assert!(!file.exists(), "{few}");
    }
    let ended = limited("400");
    assert_eq!(ended.status.code(), Some(3), "{ended:?}");
    assert_eq!(whole.bench.count("t"), (ROWS - ROWS / 100) as u64);
    assert_eq!(whole.bench.count("t WHERE id % 100 = 7"), 0);
    let bad = std::fs::read_to_string(&file).unwrap();
    let mut bad: Vec<&str> = bad.lines().collect();
    bad.sort_unstable_by_key(|row| row.split(',').next().unwrap().parse::<usize>().unwrap());
    let wanted: String = (7..ROWS).step_by(100).map(row).collect();
    assert_eq!(bad, wanted.lines().collect::<Vec<_>>());
    std::fs::remove_file(&file).unwrap();
    std::fs::remove_file(whole.bench.path("bad.csv.log")).unwrap();
    whole.bench.session.run("TRUNCATE t");
}

/// Returns rows, with every hundredth one repeated at the end.
fn doubled() -> String {
    let twice = (0..ROWS).step_by(100).map(|id| format!("{id},again\n"));
    rows(ROWS) + &twice.collect::<String>()
}

fn a_key_that_is_there_twice_keeps_all_out(server: Server) {
    let whole = Whole::new(server);
    whole.bench.session.run("ALTER TABLE t ADD PRIMARY KEY (id)");
    whole.bench.file("rows.csv", doubled());
    let ended = whole.load(&["--atomic", MEMORY], &[]);
    ended.fails(1, &["duplicate key value", "No row of this load is in the table"]);
    whole.is_empty();
}

fn keys_that_are_there_twice_are_rejected(server: Server) {
    let whole = Whole::new(server);
    whole.bench.session.run("ALTER TABLE t ADD PRIMARY KEY (id)");
    whole.bench.file("rows.csv", doubled());
    let ended =
        whole.load(&["--atomic", MEMORY, "--reject-file=bad.csv", "--max-rejects=50%"], &[]);
    assert_eq!(ended.status.code(), Some(3), "{ended:?}");
    let bad = std::fs::read_to_string(whole.bench.path("bad.csv")).unwrap();
    assert_eq!((whole.bench.count("t"), bad.lines().count()), (ROWS as u64, ROWS / 100));
    // The loaded and the rejected rows together are the input.
    let mut ids: Vec<usize> =
        bad.lines().map(|row| row.split(',').next().unwrap().parse().unwrap()).collect();
    ids.sort_unstable();
    assert!(ids.into_iter().eq((0..ROWS).step_by(100)));
}

fn one_of_two_loads_of_the_same_keys_wins(server: Server) {
    let whole = Whole::new(server);
    whole.bench.session.run("ALTER TABLE t ADD PRIMARY KEY (id)");
    let mut reversed: Vec<String> = rows(ROWS).lines().map(|row| format!("{row}\n")).collect();
    reversed.reverse();
    whole.bench.file("reversed.csv", reversed.concat());
    let one = whole.start(&["--atomic", MEMORY], &[]);
    let load = ["reversed.csv", "-t", "t", "-q", "--json", "--atomic", MEMORY];
    let other = whole.bench.start(load, Stdio::null());
    let ended = [one.ended(), other.ended()];
    let won = ended.iter().filter(|ended| ended.status.code() == Some(0)).count();
    let lost = ended.iter().filter(|ended| ended.stderr.contains("duplicate key")).count();
    assert_eq!((won, lost), (1, 1), "{ended:?}");
    whole.is_whole();
}

fn an_interrupt_leaves_nothing(server: Server) {
    let whole = Whole::new(server);
    let load = ["--atomic", MEMORY, "--load-id=stopped"];
    for point in ["payload::committed:2", "atomic::ready"] {
        let hold = whole.bench.hold(point);
        let running = whole.start(&load, &hold.environment());
        hold.wait();
        running.signal("-INT");
        // No other session can see when the load notices it.
        thread::sleep(Duration::from_secs(1));
        hold.let_go();
        running.ended().fails(130, &["interrupted", "No row of this load is in the table"]);
        wait_until("the server's giving up", || sessions(&whole.bench, "true") == 0);
        whole.is_empty();
    }
    whole.load(&load, &[]).summary();
    whole.is_whole();
}

fn a_load_that_has_rows_in_is_not_made_whole(server: Server) {
    let whole = Whole::new(server);
    let load = ["--load-id=parts", MEMORY, "-j1"];
    whole.load(&load, &[("PGSLUICE_FAILPOINT", "payload::committed:2")]);
    let ended = whole.load(&[&load[..], &["--atomic"]].concat(), &[]);
    ended.fails(2, &["load parts was begun without --atomic", "Resume it without --atomic"]);
    whole.load(&load, &[]).summary();
    whole.is_whole();
}

fn temporary_errors_are_tried_again(server: Server) {
    let whole = Whole::new(server);
    whole.bench.session.run(
        "CREATE SEQUENCE s;
         CREATE FUNCTION fail_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             IF nextval('s') = 30000 THEN
                 RAISE 'could not serialize access' USING ERRCODE = '40001';
             END IF;
             RETURN new;
         END $$;
         CREATE TRIGGER fail_once BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION fail_once()",
    );
    let summary = whole.load(&["--atomic", MEMORY], &[]).summary();
    assert_eq!(summary["rows_loaded"], ROWS, "from the start: {summary}");
    whole.is_whole();
}

fn an_exchange_is_refused(server: Server) {
    let whole = Whole::new(server);
    let ended = whole.load(&["--atomic", "--exchange"], &[]);
    assert_eq!(ended.status.code(), Some(2), "{ended:?}");
    assert!(ended.stderr.contains("cannot be used with"), "{ended:?}");
}
