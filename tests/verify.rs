//! `pgsluice verify`: equal after a load, and the leaf of each row that is missing, changed, foreign or
//! misplaced. The test makes each difference manually, without the loader.

use std::path::PathBuf;

use serde::Deserialize;
use tempfile::TempDir;

use crate::harness::{Outcome, Scratch, Server, Session, on_each_server, run};

on_each_server!([
    equal_after_a_load,
    finds_a_misplaced_row,
    finds_each_difference,
    leaf_not_readable,
    names_the_row_that_is_refused,
    plain_table,
    refuses_what_it_cannot_see,
    subset,
]);

const TREE: &str = "
CREATE TABLE t (day date, id int, name text, note text GENERATED ALWAYS AS (name || '!') STORED)
    PARTITION BY RANGE (day);
CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM ('2024-01-01') TO ('2024-02-01')
    PARTITION BY HASH (id);
CREATE TABLE t_1_0 PARTITION OF t_1 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE t_1_1 PARTITION OF t_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE t_2 PARTITION OF t FOR VALUES FROM ('2024-02-01') TO ('2024-03-01');
CREATE TABLE t_d PARTITION OF t DEFAULT";

/// Rows in spellings that the server reads but does not write; one row is there twice.
const ROWS: &str = "day,id,name\n2024-01-01,1,x\n20240131,2,y\n2024-02-01, 3,\n\
                    \"February 2, 2024\",4,\"\"\n2024-02-02,5,twice\n2024-02-02,5,twice\n,6,\n";

struct Case {
    scratch: Scratch,
    session: Session,
    file: PathBuf,
    _folder: TempDir,
}

#[derive(Deserialize)]
struct Audit {
    equal: bool,
    rows_input: u64,
    rows_table: u64,
    missing_unlocated: u64,
    leaves: Vec<Leaf>,
}

#[derive(Deserialize)]
struct Leaf {
    leaf: String,
    rows: u64,
    surplus: u64,
    missing: u64,
    misplaced: u64,
}

impl Case {
    /// Opens a database with a table that was loaded.
    fn new(server: Server) -> Self {
        let scratch = server.scratch();
        let session = scratch.session();
        session.run(TREE);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rows.csv");
        std::fs::write(&file, ROWS).unwrap();
        let case = Self { scratch, session, file, _folder: folder };
        let load = case.run("load", &["-q"]);
        assert_eq!(load.status, Some(0), "{}", load.stderr);
        case
    }

    fn run(&self, command: &str, more: &[&str]) -> Outcome {
        let file = self.file.to_str().unwrap();
        let arguments = [command, file, "--header", "-t", "t", "-d", self.scratch.url()];
        run(&[&arguments[..], more].concat(), None)
    }

    /// Returns the result, and the leaves that differ: surplus, missing, misplaced.
    fn audit(&self, more: &[&str]) -> (Audit, Vec<(String, [u64; 3])>) {
        let outcome = self.run("verify", &[&["--json"], more].concat());
        let audit: Audit = serde_json::from_str(&outcome.stdout)
            .unwrap_or_else(|error| panic!("{error}\n{}", outcome.stderr));
        assert_eq!(outcome.status, Some(if audit.equal { 0 } else { 1 }), "{}", outcome.stderr);
        let differing = audit.leaves.iter().filter_map(|leaf| {
            let numbers = [leaf.surplus, leaf.missing, leaf.misplaced];
            (numbers != [0; 3]).then(|| (leaf.leaf.clone(), numbers))
        });
        let differing = differing.collect();
        (audit, differing)
    }
}

fn equal_after_a_load(server: Server) {
    let case = Case::new(server);
    let (audit, differing) = case.audit(&[]);
    assert!(audit.equal && differing.is_empty());
    assert_eq!((audit.rows_input, audit.rows_table), (7, 7));
    let rows = |name: &str| {
        let leaves = audit.leaves.iter().filter(|leaf| leaf.leaf.starts_with(name));
        leaves.map(|leaf| leaf.rows).sum::<u64>()
    };
    assert_eq!(["public.t_1_", "public.t_2", "public.t_d"].map(rows), [2, 4, 1]);
    let text = case.run("verify", &[]);
    assert!(text.stdout.ends_with("equal: the table holds exactly these rows, each in its leaf\n"));
    assert_eq!(text.status, Some(0));
    // Nothing is left in the database.
    let left = "SELECT count(*) FROM pg_class WHERE relname LIKE 'pgsluice%'";
    assert_eq!(case.session.rows(left)[0][0].as_deref(), Some("0"));
}

fn different(server: Server, change: &str, expected: &[(&str, [u64; 3])]) {
    let case = Case::new(server);
    case.session.run(change);
    let (audit, differing) = case.audit(&[]);
    assert!(!audit.equal);
    assert_eq!(audit.missing_unlocated, 0);
    let expected: Vec<_> = expected.iter().map(|(leaf, n)| ((*leaf).to_owned(), *n)).collect();
    assert_eq!(differing, expected, "{change}");
}

fn finds_each_difference(server: Server) {
    different(server, "DELETE FROM t WHERE name = 'twice'", &[("public.t_2", [0, 2, 0])]);
    different(
        server,
        "DELETE FROM t WHERE ctid = (SELECT max(ctid) FROM t_2 WHERE name = 'twice')
             AND tableoid = 't_2'::regclass",
        &[("public.t_2", [0, 1, 0])],
    );
    different(server, "UPDATE t SET name = NULL WHERE id = 4", &[("public.t_2", [1, 1, 0])]);
    different(server, "INSERT INTO t VALUES ('2024-02-01', 3)", &[("public.t_2", [1, 0, 0])]);
    different(
        server,
        "TRUNCATE t_d; INSERT INTO t_d VALUES (NULL, 7)",
        &[("public.t_d", [1, 1, 0])],
    );
}

/// ATTACH accepts a row in the wrong leaf, because it trusts a false constraint.
fn finds_a_misplaced_row(server: Server) {
    different(
        server,
        "DELETE FROM t WHERE id = 1;
         ALTER TABLE t DETACH PARTITION t_2;
         INSERT INTO t_2 (day, id, name) VALUES ('2024-01-01', 1, 'x');
         ALTER TABLE t_2 ADD CONSTRAINT lie CHECK
             (day IS NOT NULL AND day >= '2024-02-01' AND day < '2024-03-01') NOT VALID;
         UPDATE pg_constraint SET convalidated = true WHERE conname = 'lie';
         ALTER TABLE t_2 SET (fillfactor = 90);
         ALTER TABLE t ATTACH PARTITION t_2 FOR VALUES FROM ('2024-02-01') TO ('2024-03-01')",
        &[("public.t_2", [0, 0, 1])],
    );
}

/// A leaf with a policy or without a privilege is read through the root, and reported as not checked against
/// its bounds.
fn leaf_not_readable(server: Server) {
    let case = Case::new(server);
    let role = format!("sluice_auditor_{}", server.major());
    case.session.run(&format!("DROP ROLE IF EXISTS {role}; CREATE ROLE {role}"));
    case.session.run(&format!("GRANT SELECT, INSERT ON t, t_2 TO {role}"));
    case.session.run("ALTER TABLE t_2 ENABLE ROW LEVEL SECURITY");
    case.scratch.set("role", &role);
    let outcome = case.run("verify", &[]);
    case.session.run("DELETE FROM t WHERE id = 4");
    let (audit, differing) = case.audit(&[]);
    case.session.run(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(outcome.stdout.ends_with("equal: the table holds exactly these rows\n"));
    assert!(outcome.stdout.contains("not checked against their bounds: 3 leaves"));
    assert!(!audit.equal);
    assert_eq!(differing, [("public.t_2".to_owned(), [0, 1, 0])]);
}

/// The rows of an inheritance child do not belong to the load.
fn plain_table(server: Server) {
    let case = Case::new(server);
    case.session.run(
        "DROP TABLE t; CREATE TABLE t (day date, id float8, name text);
         CREATE TABLE other () INHERITS (t); INSERT INTO other VALUES (NULL, 1, 'other')",
    );
    assert_eq!(case.run("load", &["-q"]).status, Some(0));
    assert!(case.audit(&[]).0.equal);
    case.session.run("UPDATE t SET id = 3.0000000000000004 WHERE id = 3");
    assert_eq!(case.audit(&[]).1, [("public.t".to_owned(), [1, 1, 0])]);
}

fn subset(server: Server) {
    let case = Case::new(server);
    case.session.run("INSERT INTO t VALUES ('2024-02-09', 9, 'before')");
    assert!(!case.audit(&[]).0.equal);
    assert!(case.audit(&["--subset"]).0.equal);
    case.session.run("DELETE FROM t WHERE id = 1");
    let (audit, differing) = case.audit(&["--subset"]);
    let missing: u64 = differing.iter().map(|(_, numbers)| numbers[1]).sum();
    assert!(!audit.equal);
    assert_eq!((differing.len(), missing), (1, 1));
    let text = case.run("verify", &["--subset"]);
    assert!(text.stderr.contains("public.t does not contain all rows of the input"));
}

fn names_the_row_that_is_refused(server: Server) {
    let case = Case::new(server);
    let bad = case.file.with_file_name("more.csv");
    let text = "day,id,name\n2024-01-05,8,\"two\nlines\"\n2024-01-06,nine,x\n";
    std::fs::write(&bad, text).unwrap();
    let outcome = case.run("verify", &[bad.to_str().unwrap()]);
    assert_eq!(outcome.status, Some(1));
    let place = format!("{}:4: column id: invalid input syntax for type integer", bad.display());
    assert!(outcome.stderr.contains(&place), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("The row begins at byte 37."), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("HINT:  To leave out rows that a load"), "{}", outcome.stderr);
}

fn refuses_what_it_cannot_see(server: Server) {
    let case = Case::new(server);
    case.session
        .run("ALTER TABLE t ENABLE ROW LEVEL SECURITY; ALTER TABLE t FORCE ROW LEVEL SECURITY");
    case.session.run("DROP ROLE IF EXISTS sluice_reader; CREATE ROLE sluice_reader");
    case.session.run("GRANT SELECT ON t TO sluice_reader");
    case.scratch.set("role", "sluice_reader");
    let outcome = case.run("verify", &[]);
    case.session.run("DROP OWNED BY sluice_reader; DROP ROLE sluice_reader");
    assert_eq!(outcome.status, Some(1));
    assert!(outcome.stderr.contains("row-level security policy"), "{}", outcome.stderr);
}
