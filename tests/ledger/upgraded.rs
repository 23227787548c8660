//! A ledger of format 1: what was begun in it is finished, and what was finished stays so.

use std::process::Stdio;

use pgsluice::core::hash::bytes_extended;

use super::ledger;
use crate::harness::{
    Bench, MONTHS, Role, Running, Server, Twins, inputs, on_each_server, plain, rows,
};

/// Makes of the ledger what pgsluice 0.1.0 would have made, but for what is gone of finished loads.
const FORMAT_1: &str = "
DELETE FROM pgsluice.load WHERE participant <> '';
ALTER TABLE pgsluice.load DROP CONSTRAINT load_pkey, DROP participant, DROP run, DROP position,
    DROP rows_updated, DROP rows_deleted, DROP rows_unchanged, DROP rows_stale, DROP rows_absent,
    DROP rows_duplicate, DROP rows_skipped, ADD PRIMARY KEY (id), ALTER begun SET DEFAULT pg_catalog.now(),
    ADD CHECK (state IN ('running', 'finished'));
ALTER TABLE pgsluice.load RENAME rows_inserted TO rows_loaded;
ALTER TABLE pgsluice.load RENAME rows_dropped TO rows_skipped;
ALTER TABLE pgsluice.receipt DROP CONSTRAINT receipt_pkey, DROP participant, DROP fate,
    ADD PRIMARY KEY (load, number);
DROP INDEX pgsluice.block_load_participant_idx;
ALTER TABLE pgsluice.block DROP participant;
CREATE INDEX ON pgsluice.block (load);
ALTER TABLE pgsluice.reject DROP CONSTRAINT reject_pkey, DROP participant, ADD PRIMARY KEY (load, source, start);
UPDATE pgsluice.load SET
    terms = (SELECT jsonb_object_agg(key, value) FROM jsonb_each(terms || '{\"pgsluice\": \"0.1.0\"}')
             WHERE key NOT IN ('rules', 'extra_float_digits', 'bytea_output', 'xmlbinary',
                               'transform_null_equals', 'lc_time', 'lc_numeric')),
    sources = (SELECT jsonb_agg(e - 'path' - 'stream') FROM jsonb_array_elements(sources) AS e);
COMMENT ON TABLE pgsluice.load IS 'pgsluice ledger, format 1'";

on_each_server!([
    a_load_that_was_killed_is_finished,
    a_finished_one_stays_finished,
    several_at_once_upgrade_it_once,
    only_its_owner_upgrades_it,
]);

fn format(bench: &Bench) -> String {
    let comment = bench.value("SELECT obj_description('pgsluice.load'::regclass, 'pg_class')");
    comment.split('.').next().unwrap().to_owned()
}

fn a_load_that_was_killed_is_finished(server: Server) {
    let twins = Twins::new(Bench::new(server), MONTHS, &inputs(40_000, 2, plain));
    let bench = &twins.bench;
    let load = twins.start("l", &["--memory=1MiB", "-j2", "--few-rows=0"]);
    crate::harness::wait_until("a commit", || bench.count("t") > 0);
    load.kill();
    bench.wait_for_sessions();
    bench.session.run(FORMAT_1);
    let before = bench.count("t");
    let listed = ledger(&bench.url, &["list"]).stdout;
    assert!(listed.contains("\nl     public.t  unfinished  "), "{listed}");
    assert_eq!(format(bench), "pgsluice ledger, format 2");
    let summary = twins.load("l", &["-j3"]).summary();
    assert_eq!(summary["rows_already_loaded"], before);
    twins.are_equal();
}

fn a_finished_one_stays_finished(server: Server) {
    let bench = Bench::with_table(server);
    let content = rows(2000, 10);
    bench.file("rows.csv", &content);
    let load = |source: &str, id: &str, content: &[u8]| {
        let options = [source, "-t", "t", "--format=csv", "--json", "--load-id", id];
        let mut load: Running = bench.start(options, Stdio::piped());
        if source == "-" {
            load.feed(content);
        }
        drop(load.child.stdin.take());
        load.ended()
    };
    load("rows.csv", "file", &[]).summary();
    load("-", "stream", &content).summary();
    bench.session.run(FORMAT_1);
    let hash = bytes_extended(&content, 0).cast_signed();
    bench.session.run(&format!(
        "INSERT INTO pgsluice.block VALUES ('stream', 0, 0, {length}, {hash}), ('stream', 0, 0, {length}, {hash});
         INSERT INTO pgsluice.receipt VALUES ('file', 0, 0, 1, 0, 9, '{{}}', '{{}}', '{{}}', 2000)",
        length = content.len()
    ));
    for (source, id) in [("rows.csv", "file"), ("-", "stream")] {
        let again = load(source, id, &content).summary();
        assert_eq!(
            (&again["rows_loaded"], &again["rows_already_loaded"]),
            (&0.into(), &2000.into())
        );
    }
    let other = [&content[..content.len() - 2], b"y\n"].concat();
    load("-", "stream", &other).fails(1, &["the input is not the one", "<stdin> is another."]);
    let longer = [&content[..], b"1,x\n"].concat();
    load("-", "stream", &longer).fails(1, &["the input is not the one", "<stdin> had "]);
    let left = ["tree", "receipt", "block", "reject", "witness"]
        .map(|table| bench.count(&format!("pgsluice.{table}")));
    assert_eq!((bench.count("t"), left), (4000, [0; 5]));
}

fn several_at_once_upgrade_it_once(server: Server) {
    let bench = Bench::with_table(server);
    bench.file("rows.csv", rows(1000, 10));
    bench.load(["rows.csv", "-t", "t"]);
    bench.session.run(FORMAT_1);
    let loads: Vec<Running> =
        (0..6).map(|_| bench.start(["rows.csv", "-t", "t"], Stdio::null())).collect();
    for load in loads {
        let ended = load.ended();
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    }
    assert_eq!((bench.count("t"), bench.count("pgsluice.load")), (7000, 7));
}

fn only_its_owner_upgrades_it(server: Server) {
    let bench = Bench::with_table(server);
    bench.file("rows.csv", rows(1000, 10));
    bench.load(["rows.csv", "-t", "t"]);
    let role = Role::new(&bench);
    let name = &role.name;
    bench.session.run(&format!(
        "GRANT INSERT, SELECT ON ALL TABLES IN SCHEMA public TO {name}; GRANT USAGE ON SCHEMA pgsluice TO {name};
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA pgsluice TO {name}"
    ));
    bench.session.run(FORMAT_1);
    let refused = bench.load_into(&role.url, ["rows.csv", "-t", "t"]);
    refused.fails(
        1,
        &["is of an older format", "Whoever owns its tables upgrades it by: pgsluice ledger list"],
    );
    assert_eq!(ledger(&bench.url, &["list"]).status.code(), Some(0));
    // What was granted stays so.
    assert_eq!(bench.load_into(&role.url, ["rows.csv", "-t", "t"]).status.code(), Some(0));
    // With a trigger on it, it is not.
    bench.session.run(FORMAT_1);
    bench.session.run(
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
         CREATE TRIGGER t BEFORE UPDATE ON pgsluice.load EXECUTE FUNCTION f()",
    );
    bench
        .load(["rows.csv", "-t", "t"])
        .fails(1, &["table pgsluice.load has the trigger t", "DROP TRIGGER t ON"]);
    assert_eq!(format(&bench), "pgsluice ledger, format 1");
}
