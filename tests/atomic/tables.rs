//! Tables of various kinds that a load fills in one transaction.

use super::{ROWS, Whole, rows};
use crate::harness::{Server, on_each_server};

on_each_server!([
    one_connection_whatever_is_asked_for,
    keys_of_the_table_itself,
    foreign_tables,
    users_who_may_only_insert,
    a_trigger_that_notifies,
    a_trigger_that_writes_to_one_row,
    a_small_load_is_one_transaction,
]);

fn one_connection_whatever_is_asked_for(server: Server) {
    let whole = Whole::new(server);
    for more in [&[][..], &["--no-ledger"], &["--on-conflict=skip", "--key=id"]] {
        if more.len() == 2 {
            whole.bench.session.run("TRUNCATE t; ALTER TABLE t ADD PRIMARY KEY (id)");
        }
        let summary = whole.load(&[&["--atomic", "-j4"], more].concat(), &[]).summary();
        assert_eq!((&summary["jobs"], &summary["rows_loaded"]), (&1.into(), &ROWS.into()));
        assert_eq!(summary["fallbacks"], serde_json::json!([]), "{summary}");
        whole.is_whole();
        whole.bench.session.run("TRUNCATE t");
    }
}

fn keys_of_the_table_itself(server: Server) {
    let whole = Whole::new(server);
    whole.bench.session.run(
        "ALTER TABLE t ADD PRIMARY KEY (id); ALTER TABLE t ADD next int;
         ALTER TABLE t ADD CONSTRAINT following FOREIGN KEY (next) REFERENCES t
             DEFERRABLE INITIALLY DEFERRED",
    );
    // Each row refers to a later one, and the last rows refer to the first ones.
    let row = |id: usize| format!("{id},x,{}\n", (id + ROWS / 2) % ROWS);
    whole.bench.file("rows.csv", (0..ROWS).map(row).collect::<String>());
    whole.load(&["--atomic", "-j4"], &[]).summary();
    assert_eq!(whole.bench.count("t"), ROWS as u64);
}

fn foreign_tables(server: Server) {
    let whole = Whole::new(server);
    whole.bench.session.run(
        "CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w;
         ALTER TABLE t_2 DETACH PARTITION t_2_b; DROP TABLE t_2_b;
         CREATE TABLE t_2_b PARTITION OF t_2 FOR VALUES FROM (9000) TO (99999);
         CREATE FOREIGN TABLE t_2_c PARTITION OF t_2 FOR VALUES FROM (99999) TO (MAXVALUE) SERVER s",
    );
    whole.load(&["--atomic", "-j4"], &[]).summary();
    let leaves = ["t_0", "t_1", "t_2_a", "t_2_b"];
    assert_eq!(leaves.map(|leaf| whole.bench.count(leaf)).iter().sum::<u64>(), ROWS as u64);
}

fn users_who_may_only_insert(server: Server) {
    let whole = Whole::new(server);
    let role = format!("inserter_{}", std::process::id());
    let grant = format!(
        "CREATE ROLE {role} LOGIN PASSWORD 'x'; GRANT INSERT, SELECT ON t, t_0, t_1, t_2, t_2_a, t_2_b TO {role}"
    );
    whole.bench.session.run(&grant);
    let at = whole.bench.url.find("//").unwrap() + 2;
    let host = whole.bench.url[at..].split_once('@').unwrap().1;
    let url = format!("postgresql://{role}:x@{host}");
    let load = ["rows.csv", "-t", "t", "--json", "-q", "--atomic", "-j4"];
    whole.bench.load_into(&url, load).summary();
    whole.is_whole();
    whole.bench.session.run(&format!("DROP OWNED BY {role} CASCADE; DROP ROLE {role}"));
}

fn a_trigger_that_notifies(server: Server) {
    let whole = Whole::new(server);
    whole.bench.session.run(
        "CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN PERFORM pg_notify(''t'', ''x''); RETURN NULL; END';
         CREATE TRIGGER tell AFTER INSERT ON t FOR EACH ROW
             WHEN (new.id = 7) EXECUTE FUNCTION tell()",
    );
    whole.load(&["--atomic", "-j4"], &[]).summary();
    whole.is_whole();
}

fn a_trigger_that_writes_to_one_row(server: Server) {
    let whole = Whole::new(server);
    whole.bench.session.run(
        "CREATE TABLE n (n bigint); INSERT INTO n VALUES (0);
         CREATE FUNCTION count_row() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN UPDATE n SET n = n + 1; RETURN NULL; END';
         CREATE TRIGGER count_row AFTER INSERT ON t FOR EACH ROW
             WHEN (new.id % 100 = 0) EXECUTE FUNCTION count_row()",
    );
    whole.load(&["--atomic", "-j4"], &[]).summary();
    whole.is_whole();
    assert_eq!(whole.bench.value("SELECT n FROM n"), (ROWS / 100).to_string());
}

fn a_small_load_is_one_transaction(server: Server) {
    let whole = Whole::new(server);
    whole.bench.session.run("ALTER TABLE t ADD CHECK (v <> 'bad')");
    whole.bench.file("rows.csv", rows(100) + "100,bad\n");
    whole.load(&["--atomic", "-j4"], &[]).fails(1, &["No row of this load is in the table"]);
    whole.is_empty();
    whole.bench.file("rows.csv", rows(100));
    whole.load(&["--atomic", "-j4"], &[]).summary();
    assert_eq!(whole.bench.count("t"), 100);
}
