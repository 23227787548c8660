//! A table to move, and its description from the catalogue.

use std::process::Stdio;

use crate::harness::{Bench, Ended, Running, Server, program};

/// Moves a table by months of `placed`.
pub(super) const MONTHS: [&str; 4] = ["--by", "RANGE (placed)", "--step=month", "--offline"];

/// A table `events` with a key and an index.
const EVENTS: &str = "
CREATE TABLE events (id bigint NOT NULL, placed date NOT NULL, v text, PRIMARY KEY (id, placed));
CREATE INDEX events_v ON events (v)";

/// Returns the number of random cases and their seed, which the environment may change.
pub(super) fn cases(usual: usize, server: Server) -> (usize, u64) {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let cases = number("PROPTEST_CASES").map_or(usual, |cases| cases as usize);
    (cases, number("PGSLUICE_SEED").unwrap_or(u64::from(server.major())))
}

/// A database with the table.
pub(super) struct Case {
    pub(super) bench: Bench,
}

impl Case {
    /// Opens a database without tables.
    pub(super) fn new(server: Server) -> Self {
        let bench = Bench::new(server);
        bench.session.run("SET client_min_messages = warning");
        Self { bench }
    }

    /// Opens a database with the table `events`, which has `count` rows from January to March.
    pub(super) fn with_events(server: Server, count: usize) -> Self {
        let case = Self::new(server);
        case.bench.session.run(&format!(
            "{EVENTS};
             INSERT INTO events SELECT i, date '2026-01-10' + i % 70, md5(i::text)
             FROM generate_series(1, {count}) AS i;
             CREATE TABLE before AS SELECT * FROM events"
        ));
        case
    }

    /// Runs `pgsluice partition` with these arguments.
    pub(super) fn run(&self, arguments: &[&str]) -> Ended {
        self.start(arguments, &[]).ended()
    }

    /// Moves a table, which must work.
    #[track_caller]
    pub(super) fn moves(&self, table: &str, arguments: &[&str]) -> serde_json::Value {
        let ended = self.run(&[&[table, "--json", "-q"], arguments].concat());
        assert!(ended.status.success(), "{ended:?}");
        assert_eq!(self.moves_left(), 0, "{ended:?}");
        serde_json::from_str(&ended.stdout).unwrap()
    }

    /// Starts `pgsluice partition`.
    pub(super) fn start(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Running {
        self.start_on(&self.bench.url, arguments, environment)
    }

    pub(super) fn start_on(
        &self,
        url: &str,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Running {
        let mut process = program();
        process.arg("partition").args(arguments).args(["-d", url]);
        process.envs(environment.iter().copied()).stdin(Stdio::null());
        Running::start(process.current_dir(self.bench.folder.path()))
    }

    /// Returns the number of moves in the ledger.
    pub(super) fn moves_left(&self) -> u64 {
        match self.bench.value("SELECT to_regclass('pgsluice.move') IS NOT NULL").as_str() {
            "t" => self.bench.count("pgsluice.move"),
            _ => 0,
        }
    }

    /// Checks that `events` is a partitioned table with the rows of `before`.
    #[track_caller]
    pub(super) fn is_moved(&self, what: &str) {
        assert_eq!(self.kind("events"), "p", "{what}");
        self.same_rows("before", "events", what);
    }

    /// Checks that `events` is the plain table that it was, and that nothing is left beside it.
    #[track_caller]
    pub(super) fn is_untouched(&self, what: &str) {
        assert_eq!(self.kind("events"), "r", "{what}");
        self.same_rows("before", "events", what);
        let tables = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace
                      AND relkind IN ('r', 'p') AND relname ~ '^events_'";
        assert_eq!(self.bench.value(tables), "0", "{what}");
        assert_eq!(self.moves_left(), 0, "{what}");
    }

    /// Checks that no part of a log is left.
    #[track_caller]
    pub(super) fn nothing_beside(&self, what: &str) {
        let left = "SELECT count(*) FROM (SELECT relname FROM pg_class WHERE relname ~ '_log(_seq|_void|_second)?$'
                                          AND relnamespace = 'public'::regnamespace
                    UNION ALL SELECT proname FROM pg_proc WHERE proname ~ '_log(_truncate)?$' AND pronamespace = 'public'::regnamespace
                    UNION ALL SELECT tgname FROM pg_trigger WHERE tgname ~ '^pgsluice_') AS l";
        assert_eq!(self.bench.value(left), "0", "{what}");
    }

    /// Returns the kind of a table in pg_class.
    pub(super) fn kind(&self, table: &str) -> String {
        self.bench.value(&format!("SELECT relkind FROM pg_class WHERE oid = '{table}'::regclass"))
    }

    /// Checks that two tables have the same rows.
    #[track_caller]
    pub(super) fn same_rows(&self, one: &str, other: &str, what: &str) {
        // Some types have no equality.
        let text = |table: &str| format!("SELECT \"a row\"::text FROM {table} AS \"a row\"");
        let [one, other] = [one, other].map(text);
        let differ = format!(
            "SELECT count(*) FROM (({one} EXCEPT ALL {other}) UNION ALL ({other} EXCEPT ALL {one})) AS d"
        );
        assert_eq!(self.bench.value(&differ), "0", "{what}");
    }

    /// Describes table `events` and everything that belongs to it.
    pub(super) fn describe(&self) -> Vec<Vec<Option<String>>> {
        self.bench.session.rows(DESCRIPTION)
    }
}

/// The query that describes a table with the system's views and functions.
const DESCRIPTION: &str = "
SELECT 'column', a.attname, format_type(atttypid, atttypmod),
       concat_ws(' ', attnotnull, attidentity, attgenerated, attstorage, attcollation::regcollation, attoptions,
                 pg_get_expr(adbin, adrelid), col_description(a.attrelid, attnum))
FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = 'events'::regclass AND attnum > 0 AND NOT attisdropped
UNION ALL
SELECT 'privilege', grantee, privilege_type, is_grantable FROM information_schema.table_privileges
WHERE table_name = 'events'
UNION ALL
SELECT 'column privilege', grantee, column_name, privilege_type || is_grantable
FROM information_schema.column_privileges WHERE table_name = 'events'
UNION ALL
SELECT 'index', indexname, replace(indexdef, ' ON ONLY ', ' ON '),
       obj_description(format('%I.%I', schemaname, indexname)::regclass)
FROM pg_indexes WHERE tablename = 'events'
UNION ALL
SELECT 'constraint', conname, pg_get_constraintdef(oid), obj_description(oid, 'pg_constraint')
FROM pg_constraint WHERE conrelid = 'events'::regclass AND contype <> 't' AND conparentid = 0
UNION ALL
SELECT 'trigger', tgname, pg_get_triggerdef(oid), tgenabled::text
FROM pg_trigger WHERE tgrelid = 'events'::regclass AND NOT tgisinternal
UNION ALL
SELECT 'policy', policyname, concat(permissive, roles, cmd), concat(qual, ' ', with_check)
FROM pg_policies WHERE tablename = 'events'
UNION ALL
SELECT 'statistics', stxname, pg_get_statisticsobjdef(oid), stxowner::regrole::text
FROM pg_statistic_ext WHERE stxrelid = 'events'::regclass
UNION ALL
SELECT 'view', viewname, definition, NULL FROM pg_views WHERE schemaname = 'public'
UNION ALL
SELECT 'sequence', s.relname, d.deptype::text, pg_get_serial_sequence('events', a.attname)
FROM pg_depend d JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
WHERE d.refobjid = 'events'::regclass
UNION ALL
SELECT 'table', relowner::regrole::text, concat(relrowsecurity, relforcerowsecurity, relreplident),
       obj_description(oid, 'pg_class')
FROM pg_class WHERE oid = 'events'::regclass
ORDER BY 1, 2, 3, 4";
