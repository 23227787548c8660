//! Objects that any role can hold: advisory locks whose numbers are public, prepared transactions, and tables
//! with names like pgsluice's. Messages name them, and they are not touched.

use pgsluice::core::hash::bytes_extended;

use super::ledger;
use crate::harness::{Bench, Role, Server, WAITS, on_each_server, rows, wait_until};

fn bench(server: Server) -> Bench {
    let bench = Bench::with_table(server);
    bench.file("rows.csv", rows(3000, 20));
    bench
}

/// Returns the locks of the load `l`: the one that serializes its attempts, and the one that it holds while it runs.
fn locks() -> [i64; 2] {
    let lock = |seed: &[u8; 8]| bytes_extended(b"l", u64::from_be_bytes(*seed)).cast_signed();
    [lock(b"pgsluice"), lock(b"sluicing")]
}

on_each_server!(with super::bench, [
    locks_are_named,
    a_lock_in_the_middle_is_named,
    prepared_transactions_are_left_alone,
    tables_are_left_alone,
    exchanges_name_who_is_in_the_way,
]);

const ADVISORY: &str = "
SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
WHERE locktype = 'advisory' AND datname = current_database()";

fn waits(bench: &Bench, locktype: &str) -> bool {
    bench.count(&format!("{WAITS} AND locktype = '{locktype}'")) > 0
}

const LOAD: [&str; 7] = ["rows.csv", "-t", "t", "--load-id", "l", "-j", "2"];

fn locks_are_named(bench: &Bench) {
    let role = Role::new(bench);
    for lock in locks() {
        for how in ["pg_advisory_lock", "pg_advisory_lock_shared"] {
            let session = role.session();
            let pid = session.rows(&format!("SELECT pg_backend_pid() FROM {how}({lock})"));
            let pid = pid[0][0].clone().unwrap();
            let shared = how.ends_with("shared");
            let refused = bench.load(LOAD);
            // A shared holder of the lock of a running load does not disturb it.
            if shared && lock == locks()[1] {
                assert_eq!(refused.status.code(), Some(0), "{refused:?}");
                assert!(!ledger(&bench.url, &["list"]).stdout.contains("running"));
                assert_eq!(ledger(&bench.url, &["forget", "l"]).status.code(), Some(1));
            } else {
                let message = format!(
                    "role \"{}\" holds the advisory lock of load l (process {pid}) (SQLSTATE 55006)",
                    role.name
                );
                let end = format!("SELECT pg_terminate_backend({pid});");
                refused.fails(1, &[&message, "may not write to the ledger", &end]);
            }
            drop(session);
            wait_until("the end of a session", || bench.value(ADVISORY) == "0");
        }
    }
    bench.session.run("TRUNCATE t");
    assert_eq!(ledger(&bench.url, &["forget", "l"]).status.code(), Some(0));
    assert_eq!(bench.load(LOAD).status.code(), Some(0));
    assert_eq!(bench.count("t"), 3000);
}

fn a_lock_in_the_middle_is_named(bench: &Bench) {
    let role = Role::new(bench);
    bench.session.run("BEGIN; LOCK TABLE t3 IN SHARE MODE");
    let load = bench.start(LOAD.iter().chain(&["--few-rows=0"]), std::process::Stdio::null());
    wait_until("a wait for a lock", || waits(bench, "relation"));
    // A transaction of the load takes its lock after it has locked its tables.
    let session = role.session();
    session.run(&format!("SELECT pg_advisory_lock({})", locks()[0]));
    bench.session.run("COMMIT");
    let message = format!("role \"{}\" holds the advisory lock of load l (process ", role.name);
    load.ended().fails(1, &[&message, "SELECT pg_terminate_backend("]);
    drop(session);
    wait_until("the end of a session", || bench.value(ADVISORY) == "0");
    assert_eq!(bench.load(LOAD).status.code(), Some(0));
    assert_eq!(bench.count("t"), 3000);
}

fn prepared_transactions_are_left_alone(bench: &Bench) {
    let role = Role::new(bench);
    bench.session.run(&format!("CREATE TABLE u (id int); GRANT ALL ON u TO {}", role.name));
    let lock = locks()[0];
    let database = bench.value("SELECT oid FROM pg_database WHERE datname = current_database()");
    let name = format!("pgsluice {database} {:016x} 1 1 l", lock.cast_unsigned());
    role.session().run(&format!("BEGIN; INSERT INTO u VALUES (1); PREPARE TRANSACTION '{name}'"));
    // It holds no lock of the load.
    assert_eq!(bench.load(LOAD).status.code(), Some(0));
    assert_eq!(ledger(&bench.url, &["forget", "l"]).status.code(), Some(0));
    let prepared = "SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()";
    assert_eq!((bench.value(prepared), bench.count("u")), ("1".to_owned(), 0));
    role.session().run(&format!("ROLLBACK PREPARED '{name}'"));
    // This prepared transaction holds one.
    role.session().run(&format!(
        "BEGIN; INSERT INTO u VALUES (1); SELECT pg_advisory_xact_lock_shared({lock}); \
         PREPARE TRANSACTION '{name}'"
    ));
    bench.session.run("TRUNCATE t");
    let message = format!(
        "role \"{}\" holds the advisory lock of load l (prepared transaction '{name}')",
        role.name
    );
    bench.load(LOAD).fails(1, &[&message, &format!("ROLLBACK PREPARED '{name}';")]);
    assert_eq!((bench.value(prepared), bench.count("u")), ("1".to_owned(), 0));
    role.session().run(&format!("ROLLBACK PREPARED '{name}'"));
    assert_eq!(bench.load(LOAD).status.code(), Some(0));
    assert_eq!(bench.count("t"), 3000);
}

/// A table that looks like a leftover of an exchange but belongs to another role is left alone.
fn tables_are_left_alone(bench: &Bench) {
    let role = Role::new(bench);
    bench.session.run(&format!("GRANT CREATE ON SCHEMA public TO {}", role.name));
    let oids = bench.session.rows("SELECT 't3'::regclass::oid, 't'::regclass::oid");
    let [leaf, root] = [0, 1].map(|at| oids[0][at].clone().unwrap());
    let name = format!("pgsluice_new_{leaf}_abc");
    let mark = format!(
        "pgsluice exchange: to take the place of leaf {leaf} of table {root}. If no load is running, \
         the next load --exchange drops it."
    );
    role.session()
        .run(&format!("CREATE TABLE {name} (id int); COMMENT ON TABLE {name} IS '{mark}'"));
    let loaded = bench.load(LOAD.iter().chain(&["--exchange"]));
    assert_eq!(loaded.status.code(), Some(0), "{loaded:?}");
    ledger(&bench.url, &["forget", "--all"]);
    assert_eq!(bench.count(&name), 0);
    // A table of this role is not.
    bench.session.run(&format!("ALTER TABLE {name} OWNER TO CURRENT_USER"));
    ledger(&bench.url, &["forget", "--all"]);
    assert_eq!(bench.value(&format!("SELECT to_regclass('{name}') IS NULL")), "t");
}

fn exchanges_name_who_is_in_the_way(bench: &Bench) {
    let role = Role::new(bench);
    let root = bench.value("SELECT 't'::regclass::oid::int");
    let session = role.session();
    let key = i32::from_be_bytes(*b"pgsl");
    let pid =
        session.rows(&format!("SELECT pg_backend_pid() FROM pg_advisory_lock({key}, {root})"));
    let pid = pid[0][0].clone().unwrap();
    let refused = bench.load(LOAD.iter().chain(&["--exchange"]));
    let message = format!("role \"{}\" (process {pid}) holds", role.name);
    refused.fails(1, &["another load is exchanging partitions of public.t", &message]);
    drop(session);
}
