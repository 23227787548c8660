//! Loads that one connection must make, and say so.

use super::{ROWS, TABLE, Whole, rows};
use crate::harness::{Bench, Place, Server, Session, on_each_server, program};

on_each_server!([
    more_connections_than_slots,
    no_ledger,
    keys_of_the_table_itself,
    foreign_tables,
    users_without_privileges,
    a_trigger_that_notifies,
    a_handful_is_one_transaction,
    a_server_without_prepared_transactions,
]);

/// A load says why.
#[track_caller]
fn says(whole: &Whole, options: &[&str], why: &str) {
    let summary = whole.load(&[&["--atomic"], options].concat(), &[]).summary();
    let fallback = serde_json::json!({"what": "one connection", "why": why, "rows": ROWS});
    assert!(summary["fallbacks"].as_array().unwrap().contains(&fallback), "{summary}");
    assert_eq!(summary["jobs"], 1, "{summary}");
}

/// So does a plan.
#[track_caller]
fn plan_says(whole: &Whole, why: &str) {
    let mut plan = program();
    plan.args(["plan", "rows.csv", "-t", "t", "-d", &whole.bench.url, "--atomic", "-j4"]);
    let plan = plan.current_dir(whole.bench.folder.path()).output().unwrap();
    let plan = String::from_utf8(plan.stdout).unwrap();
    assert!(plan.contains("\natomic   one transaction\n"), "{plan}");
    assert!(plan.contains(&format!("\nfallback one connection: {why}\n")), "{plan}");
}

fn more_connections_than_slots(server: Server) {
    let whole = Whole::new(server);
    let slots = whole.bench.value("SHOW max_prepared_transactions");
    let summary = whole.load(&["--atomic", "-j100"], &[]).summary();
    let why = summary["fallbacks"][0]["why"].as_str().unwrap();
    assert!(why.starts_with(&format!("max_prepared_transactions is {slots}, but only ")), "{why}");
    assert_eq!(summary["jobs"], 1);
    whole.is_whole();
}

fn no_ledger(server: Server) {
    let whole = Whole::new(server);
    let why = "several transactions need a ledger, and none is kept";
    says(&whole, &["-j4", "--no-ledger"], why);
    whole.is_whole();
}

fn keys_of_the_table_itself(server: Server) {
    let whole = Whole::new(server);
    whole.bench.session.run(
        "ALTER TABLE t ADD PRIMARY KEY (id); ALTER TABLE t ADD next int;
         ALTER TABLE t ADD CONSTRAINT following FOREIGN KEY (next) REFERENCES t
             DEFERRABLE INITIALLY DEFERRED",
    );
    // Each row refers to one that comes later, the last ones to the first.
    let row = |id: usize| format!("{id},x,{}\n", (id + ROWS / 2) % ROWS);
    whole.bench.file("rows.csv", (0..ROWS).map(row).collect::<String>());
    let why = "foreign key following refers to the table itself";
    plan_says(&whole, why);
    says(&whole, &["-j4"], why);
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
    let why = "table t_2_c is a foreign table";
    plan_says(&whole, why);
    says(&whole, &["-j4"], why);
    let leaves = ["t_0", "t_1", "t_2_a", "t_2_b"];
    assert_eq!(leaves.map(|leaf| whole.bench.count(leaf)).iter().sum::<u64>(), ROWS as u64);
}

/// A user who may only insert cannot hold off readers.
fn users_without_privileges(server: Server) {
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
    let summary = whole.bench.load_into(&url, load).summary();
    let why = "this user may not lock the table against readers";
    assert_eq!(summary["fallbacks"][0]["why"], why, "{summary}");
    whole.is_whole();
    whole.bench.session.run(&format!("DROP OWNED BY {role} CASCADE; DROP ROLE {role}"));
}

/// What a trigger has done keeps a transaction from being prepared; one connection commits it.
fn a_trigger_that_notifies(server: Server) {
    let whole = Whole::new(server);
    whole.bench.session.run(
        "CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN PERFORM pg_notify(''t'', ''x''); RETURN NULL; END';
         CREATE TRIGGER tell AFTER INSERT ON t FOR EACH ROW
             WHEN (new.id = 7) EXECUTE FUNCTION tell()",
    );
    says(&whole, &["-j4"], "a transaction could not be prepared");
    whole.is_whole();
}

fn a_handful_is_one_transaction(server: Server) {
    let whole = Whole::new(server);
    whole.bench.session.run("ALTER TABLE t ADD CHECK (v <> 'bad')");
    whole.bench.file("rows.csv", rows(100) + "100,bad\n");
    whole.load(&["--atomic", "-j4"], &[]).fails(1, &["No row of this load is in the table"]);
    whole.is_empty();
    whole.bench.file("rows.csv", rows(100));
    whole.load(&["--atomic", "-j4"], &[]).summary();
    assert_eq!(whole.bench.count("t"), 100);
}

fn a_server_without_prepared_transactions(server: Server) {
    let place = Place::of(server);
    let url = place.start_with("max_prepared_transactions=0");
    let session = Session::open(&url);
    session.run(TABLE);
    let bench = Bench::new(server);
    bench.file("rows.csv", rows(ROWS));
    let load = ["rows.csv", "-t", "t", "--json", "-q", "--atomic", "-j4"];
    let summary = bench.load_into(&url, load).summary();
    assert_eq!(summary["fallbacks"][0]["why"], "max_prepared_transactions is 0", "{summary}");
    assert_eq!(session.rows("SELECT count(*) FROM t")[0][0], Some(ROWS.to_string()));
}
