//! Unusual but valid inputs: long rows, little memory, many leaves, many connections.

use crate::harness::{Bench, Server, on_each_server, rows};

on_each_server!([
    little_memory_many_leaves,
    rows_longer_than_the_memory,
    a_field_of_fifty_megabytes,
    sums_hold_when_a_trigger_drops_rows,
    more_connections_than_work,
]);

fn little_memory_many_leaves(server: Server) {
    let bench = Bench::new(server);
    bench.session.run("CREATE TABLE t (id int, v text) PARTITION BY HASH (id)");
    for leaf in 0..500 {
        bench.session.run(&format!(
            "CREATE TABLE t{leaf} PARTITION OF t FOR VALUES WITH (MODULUS 500, REMAINDER {leaf})"
        ));
    }
    let input: String = (0..20_000).map(|row| format!("{row},{}\n", "x".repeat(200))).collect();
    bench.file("rows.csv", input);
    let options = ["-t", "t", "-j", "3", "--memory", "1MiB", "--json", "-q"];
    let summary = bench.load(["rows.csv"].into_iter().chain(options)).summary();
    assert_eq!((&summary["rows_loaded"], &summary["leaves"]), (&20_000.into(), &500.into()));
    assert_eq!(bench.count("t"), 20_000);
}

fn rows_longer_than_the_memory(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    let long = "y".repeat(3 << 20);
    bench.file("rows.csv", format!("1,{long}\n2,\"{long}\"\n3,z\n4,{long}\n"));
    let options = ["-t", "t", "-j", "2", "--memory", "1MiB", "--json", "-q"];
    let ended = bench.load(["rows.csv"].into_iter().chain(options));
    assert_eq!(ended.summary()["rows_loaded"], 4);
    assert_eq!(bench.value("SELECT sum(length(v)) FROM t"), (9 * (1 << 20) + 1).to_string());
}

fn a_field_of_fifty_megabytes(server: Server) {
    let bench = Bench::with_table(server);
    let mut input = b"1,\"".to_vec();
    input.resize(50 << 20, b'z');
    input.extend(b"\"\n2,b\n");
    bench.file("rows.csv", input);
    let ended = bench.load(["rows.csv", "-t", "t", "--json", "-q"]);
    assert_eq!(ended.summary()["rows_loaded"], 2);
    assert_eq!(bench.value("SELECT max(length(v)) FROM t"), ((50 << 20) - 3).to_string());
}

fn sums_hold_when_a_trigger_drops_rows(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    bench.session.run(
        "CREATE FUNCTION odd() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN IF NEW.id % 2 = 0 THEN RETURN NULL; END IF; RETURN NEW; END';
         CREATE TRIGGER odd BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION odd()",
    );
    bench.file("rows.csv", rows(1000, 10));
    let summary = bench.load(["rows.csv", "-t", "t", "--json", "-q"]).summary();
    assert_eq!((&summary["rows_read"], &summary["rows_dropped"]), (&1000.into(), &500.into()));
    assert_eq!(bench.count("t"), 500);
}

fn more_connections_than_work(server: Server) {
    let bench = Bench::with_table(server);
    bench.file("rows.csv", "1,a\n");
    let summary = bench.load(["rows.csv", "-t", "t", "-j", "40", "--json", "-q"]).summary();
    assert_eq!(summary["rows_loaded"], 1);
}
