//! DDL during a load: a clear error or a correct result, and never a lost or duplicate row.
//!
//! The input comes in two pieces on standard input. When each leaf has committed rows of the first piece, the
//! tables are changed, and then the second piece follows. Some changes are committed only when the load
//! already waits for their locks.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use crate::harness::{CopyOptions, Load, Outcome, Scratch, Server, Session, WAITS, on_each_server};

on_each_server!(
    each crate::ddl::check,
    [
        leaf_detached,
        leaf_detached_concurrently,
        leaf_half_detached_concurrently,
        leaf_detached_while_the_load_waits,
        leaf_detached_and_another_table_in_its_place,
        leaf_detached_and_another_partition_in_its_place,
        level_above_the_leaf_detached,
        level_above_the_leaf_detached_while_the_load_waits,
        leaf_dropped,
        leaf_renamed,
        leaf_renamed_and_another_table_in_its_place,
        leaf_moved_to_another_schema,
        leaf_attached_that_takes_rows_of_the_default,
        leaf_attached_in_a_gap,
        schema_renamed,
        root_renamed,
        column_of_another_type,
        column_of_another_type_while_the_load_waits,
    ]
);

/// The events between the pieces, and the expected outcome.
struct Scene {
    /// Statements that run before the load begins.
    before: &'static str,
    /// Statements that run between the pieces, each in its own transaction.
    ddl: &'static [&'static str],
    /// Whether all of `ddl` is one transaction, which is committed when the load waits for it.
    waits: bool,
    /// Whether the DDL is abandoned half-way because another session is in its way.
    given_up: bool,
    /// The tables that may have rows of the load in the end.
    tables: &'static [&'static str],
    /// Parts of the error message. Empty if all rows must be loaded.
    error: &'static [&'static str],
}

const SCENE: Scene = Scene {
    before: "",
    ddl: &[],
    waits: false,
    given_up: false,
    tables: &["t"],
    error: &["s.t_1", "HINT"],
};

/// A partition cannot be detached concurrently if there is a default.
const NO_DEFAULT: &str = "DROP TABLE t_d; CREATE TABLE t_3 PARTITION OF t FOR VALUES IN (3, 4)";

/// In binary, the bytes of one type would be read as those of the other.
const RETYPED: Scene = Scene {
    ddl: &["ALTER TABLE t ALTER COLUMN note TYPE bytea USING note::bytea"],
    error: &["the columns of table s.t have changed", "HINT"],
    ..SCENE
};

fn scene(name: &str) -> Scene {
    let detached =
        Scene { ddl: &["ALTER TABLE t DETACH PARTITION t_1"], tables: &["t", "t_1"], ..SCENE };
    let above = Scene {
        ddl: &["ALTER TABLE t DETACH PARTITION t_2"],
        tables: &["t", "t_2"],
        error: &["s.t_2_a", "HINT"],
        ..SCENE
    };
    match name {
        "leaf_detached" => detached,
        "leaf_detached_concurrently" => Scene {
            before: NO_DEFAULT,
            ddl: &["ALTER TABLE t DETACH PARTITION t_1 CONCURRENTLY"],
            ..detached
        },
        "leaf_half_detached_concurrently" => {
            Scene { given_up: true, ..self::scene("leaf_detached_concurrently") }
        }
        "leaf_detached_while_the_load_waits" => Scene { waits: true, ..detached },
        "leaf_detached_and_another_table_in_its_place" => Scene {
            ddl: &[
                "ALTER TABLE t DETACH PARTITION t_1",
                "ALTER TABLE t_1 RENAME TO gone; CREATE TABLE t_1 (LIKE gone)",
            ],
            tables: &["t", "gone"],
            ..SCENE
        },
        "leaf_detached_and_another_partition_in_its_place" => Scene {
            ddl: &[
                "ALTER TABLE t DETACH PARTITION t_1",
                "ALTER TABLE t_1 RENAME TO gone; CREATE TABLE t_1 PARTITION OF t FOR VALUES IN (1)",
            ],
            tables: &["t", "gone"],
            ..SCENE
        },
        "level_above_the_leaf_detached" => above,
        "level_above_the_leaf_detached_while_the_load_waits" => Scene { waits: true, ..above },
        "leaf_dropped" => Scene {
            ddl: &["LOCK TABLE t_1; CREATE TABLE gone AS SELECT * FROM t_1; DROP TABLE t_1"],
            tables: &["t", "gone"],
            ..SCENE
        },
        "leaf_renamed" => Scene { ddl: &["ALTER TABLE t_1 RENAME TO other"], ..SCENE },
        "leaf_renamed_and_another_table_in_its_place" => Scene {
            ddl: &["ALTER TABLE t_1 RENAME TO other", "CREATE TABLE t_1 (LIKE other)"],
            waits: true,
            ..SCENE
        },
        "leaf_moved_to_another_schema" => {
            Scene { ddl: &["CREATE SCHEMA other; ALTER TABLE t_1 SET SCHEMA other"], ..SCENE }
        }
        "leaf_attached_that_takes_rows_of_the_default" => Scene {
            ddl: &["CREATE TABLE t_4 PARTITION OF t FOR VALUES IN (4)"],
            error: &["violates partition constraint", "t_d", "HINT:  If partitions were attached"],
            ..SCENE
        },
        "leaf_attached_in_a_gap" => Scene {
            before: "DROP TABLE t_d; CREATE TABLE t_3 PARTITION OF t FOR VALUES IN (3)",
            ddl: &["CREATE TABLE t_4 PARTITION OF t FOR VALUES IN (4)"],
            error: &[],
            ..SCENE
        },
        "schema_renamed" => Scene {
            ddl: &["ALTER SCHEMA s RENAME TO other; SET search_path = other"],
            error: &["table s.t_", "HINT"],
            ..SCENE
        },
        // Rows go to the leaves by the leaves' names, and the leaves still belong to the table.
        "root_renamed" => Scene {
            ddl: &["ALTER TABLE t RENAME TO other; CREATE TABLE t (LIKE other)"],
            tables: &["other"],
            error: &[],
            ..SCENE
        },
        "column_of_another_type" => RETYPED,
        "column_of_another_type_while_the_load_waits" => Scene { waits: true, ..RETYPED },
        _ => panic!("no scene has the name {name}"),
    }
}

const SCHEMA: &str = "
CREATE SCHEMA s; SET search_path = s;
CREATE TABLE t (id int, k int, note text) PARTITION BY LIST (k);
CREATE TABLE t_1 PARTITION OF t FOR VALUES IN (1);
CREATE TABLE t_2 PARTITION OF t FOR VALUES IN (2) PARTITION BY RANGE (id);
CREATE TABLE t_2_a PARTITION OF t_2 FOR VALUES FROM (MINVALUE) TO (MAXVALUE);
CREATE TABLE t_d PARTITION OF t DEFAULT;";

/// Rows of a piece: several splits, and payloads that are large enough for a separate COPY.
const ROWS: u32 = 12_000;

fn check(name: &str, server: Server) {
    if name.ends_with("concurrently") && server.lacks(14, "DETACH CONCURRENTLY") {
        return;
    }
    let scene = scene(name);
    let scratch = server.scratch();
    let session = scratch.session();
    session.run(SCHEMA);
    session.run(scene.before);
    let outcome = play(&scene, &scratch, &session);
    scene.judge(&session, &outcome);
}

/// Loads both pieces, and runs the DDL between them.
fn play(scene: &Scene, scratch: &Scratch, session: &Session) -> Outcome {
    let load = Load {
        url: scratch.url(),
        table: "s.t".into(),
        files: &[PathBuf::from("-")],
        stdin: true,
        copy: &CopyOptions::default(),
        jobs: 2,
        memory: None,
        by_leaf: true,
        as_text: false,
    };
    let mut running = load.start();
    // No row of the first piece has a key of the partition that the DDL will create.
    running.feed(&piece(0, 2));
    until(session, "SELECT count(DISTINCT tableoid) = 2 FROM t");
    if scene.waits {
        session.run("BEGIN");
    }
    if scene.given_up {
        let other = scratch.session();
        other.run("BEGIN; LOCK TABLE s.t IN ACCESS SHARE MODE");
        session.run("SET statement_timeout = '300ms'");
        session.try_run(scene.ddl[0]).expect_err("the DDL waits for the other session");
        session.run("RESET statement_timeout");
    } else {
        scene.ddl.iter().for_each(|ddl| session.run(ddl));
    }
    running.feed(&piece(ROWS, 4));
    if scene.waits {
        until(&scratch.session(), &format!("SELECT count(*) > 0 FROM {WAITS}"));
        session.run("COMMIT");
    }
    running.end()
}

impl Scene {
    fn judge(&self, session: &Session, outcome: &Outcome) {
        let tables = self.tables.iter().map(|table| format!("SELECT id FROM {table}"));
        let all = tables.collect::<Vec<_>>().join(" UNION ALL ");
        let counts = format!("SELECT count(*), count(DISTINCT id) FROM ({all}) AS loaded");
        let counts = session.rows(&counts).remove(0);
        let message = if self.error.is_empty() {
            outcome.summary().expect("all rows are loaded").rows_loaded
        } else {
            assert_eq!(outcome.status, Some(1), "{outcome:#?}");
            for part in self.error {
                assert!(outcome.stderr.contains(part), "lacks {part:?}: {}", outcome.stderr);
            }
            committed(&outcome.stderr)
        };
        assert!(message > 0, "the DDL came too early: {}", outcome.stderr);
        let message = Some(message.to_string());
        assert_eq!(counts, [message.clone(), message], "rows, different rows: {}", outcome.stderr);
        if self.error.is_empty() {
            assert_eq!(counts[0], Some((2 * ROWS).to_string()));
        }
    }
}

/// Returns the number of rows that are in the table according to the error.
fn committed(stderr: &str) -> u64 {
    let before = stderr.split(" rows of this load were committed").next().unwrap();
    let number = before.rsplit("DETAIL:  ").next().unwrap().replace(',', "");
    number.parse().unwrap_or(0)
}

/// Returns rows numbered from `first`, with keys from 1 to `keys`.
fn piece(first: u32, keys: u32) -> String {
    let note = "x".repeat(200);
    (first..first + ROWS).map(|id| format!("{id},{},{note}\n", id % keys + 1)).collect()
}

fn until(session: &Session, question: &str) {
    let began = Instant::now();
    while session.rows(question)[0][0].as_deref() != Some("t") {
        assert!(began.elapsed() < Duration::from_secs(60), "never true: {question}");
        thread::sleep(Duration::from_millis(20));
    }
}
