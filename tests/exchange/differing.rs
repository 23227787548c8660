//! Differences between a new table and its leaf: each of them is noticed.

use std::collections::BTreeSet;

use super::Case;
use crate::harness::on_each_server;

#[path = "../../crates/pgsluice/src/exchange/sql/harmless.rs"]
mod harmless;

on_each_server!(with super::Case::new, [constraints_that_are_not_valid, every_column_of_the_catalogue, event_triggers_that_change_new_tables, leaves_that_get_obstacles_meanwhile, estimates,]);

/// Columns of the catalogue that are compared, over all versions. A column that is missing here is compared
/// too, but it has not been checked whether it can be equal: add it here or to the harmless ones.
const COMPARED: &[(&str, &str)] = &[
    (
        "pg_class",
        "relnamespace reloftype relowner relam reltablespace relisshared relpersistence relkind relchecks
         relrowsecurity relforcerowsecurity relispopulated relreplident relispartition relrewrite
         reloptions",
    ),
    (
        "pg_attribute",
        "attname atttypid attlen atttypmod attbyval attalign attstorage attcompression attnotnull
         atthasdef attidentity attgenerated attisdropped attislocal attinhcount attcollation attoptions
         attfdwoptions",
    ),
    ("pg_attrdef", ""),
    (
        "pg_index",
        "indnatts indnkeyatts indisunique indnullsnotdistinct indisprimary indisexclusion indimmediate
         indisclustered indisvalid indisready indislive indisreplident indcollation indclass indoption",
    ),
    (
        "pg_constraint",
        "conname connamespace contype condeferrable condeferred conenforced convalidated contypid
         confrelid confupdtype confdeltype confmatchtype conislocal coninhcount conperiod confkey
         conpfeqop conppeqop conffeqop conexclop",
    ),
    (
        "pg_trigger",
        "tgname tgfoid tgtype tgenabled tgisinternal tgconstrrelid tgdeferrable tginitdeferred tgnargs
         tgargs tgoldtable tgnewtable",
    ),
    ("pg_statistic_ext", "stxname stxnamespace stxowner stxstattarget stxkind"),
];

/// Catalogues in which no exchanged leaf has a row.
const REFUSED: &[(&str, &str)] = &[
    ("pg_rewrite", "oid rulename ev_class ev_type ev_enabled is_instead ev_qual ev_action"),
    ("pg_policy", "oid polname polrelid polcmd polpermissive polroles polqual polwithcheck"),
];

fn every_column_of_the_catalogue(case: &Case) {
    let words = |(table, columns): &(&'static str, &'static str)| {
        columns.split_whitespace().map(|column| (*table, column)).collect::<Vec<_>>()
    };
    let mut known: BTreeSet<_> = COMPARED.iter().chain(REFUSED).flat_map(words).collect();
    for (table, columns) in harmless::HARMLESS {
        for (column, why) in *columns {
            assert!(known.insert((table, column)), "{table}.{column} is compared and harmless");
            assert!(!why.is_empty());
        }
    }
    let tables: BTreeSet<&str> = known.iter().map(|(table, _)| *table).collect();
    for table in tables {
        let columns = format!(
            "SELECT attname FROM pg_attribute
             WHERE attrelid = 'pg_catalog.{table}'::regclass AND attnum > 0 AND NOT attisdropped"
        );
        for row in case.bench.session.rows(&columns) {
            let column = row[0].as_deref().unwrap();
            assert!(
                known.contains(&(table, column)),
                "{table}.{column} is neither known as compared nor listed as harmless"
            );
        }
    }
}

const TABLE: &str = "
CREATE TABLE t (k int NOT NULL, a int, v text) PARTITION BY LIST (k);
CREATE TABLE t_1 PARTITION OF t FOR VALUES IN (1);
CREATE TABLE t_2 PARTITION OF t FOR VALUES IN (2);";

/// Changes that an event trigger makes to each new table `%1$s`, and the load's message.
const CHANGES: &[(&str, &[&str])] = &[
    ("ALTER TABLE %1$s ENABLE ROW LEVEL SECURITY", &["t_1: it has row security"]),
    ("ALTER TABLE %1$s FORCE ROW LEVEL SECURITY", &["t_1: it has row security"]),
    ("CREATE POLICY nobody ON %1$s USING (false)", &["t_1: it has the policy nobody"]),
    ("CREATE RULE no AS ON DELETE TO %1$s DO INSTEAD NOTHING", &["t_1: it has the rule no"]),
    (
        "CREATE TRIGGER g AFTER UPDATE ON %1$s FOR EACH ROW EXECUTE FUNCTION public.nothing()",
        &["t_1: its trigger g", "CREATE TRIGGER g"],
    ),
    (
        "CREATE TRIGGER g AFTER INSERT ON %1$s FOR EACH ROW EXECUTE FUNCTION public.nothing()",
        &["t_1: its row-level trigger g would not fire"],
    ),
    ("ALTER TABLE %1$s ALTER v SET DEFAULT ''x''", &["t_1: its column v", "default"]),
    ("ALTER TABLE %1$s ALTER v SET STORAGE external", &["t_1: its column v", "attstorage"]),
    ("ALTER TABLE %1$s ALTER v SET STATISTICS 7", &["t_1: its column v", "statistics 7"]),
    ("ALTER TABLE %1$s ALTER a SET (n_distinct = 5)", &["t_1: its column a", "n_distinct=5"]),
    ("ALTER TABLE %1$s ALTER a SET NOT NULL", &["t_1: its column a", "attnotnull"]),
    ("ALTER TABLE %1$s SET (fillfactor = 50)", &["t_1: its table t_1", "fillfactor=50"]),
    (
        "ALTER TABLE %1$s SET (toast.autovacuum_enabled = off)",
        &["t_1: its table t_1", "toast {autovacuum"],
    ),
    ("ALTER TABLE %1$s REPLICA IDENTITY FULL", &["t_1: its", "relreplident"]),
    ("GRANT SELECT ON %1$s TO ROLE_a", &["t_1: its privileges", "ROLE_a"]),
    ("GRANT SELECT (a) ON %1$s TO PUBLIC", &["t_1: its privileges a", "PUBLIC"]),
    ("ALTER TABLE %1$s ADD CONSTRAINT small CHECK (a < 1000)", &["t_1: its constraint small"]),
    ("CREATE INDEX extra ON %1$s (a)", &["t_1: its index extra"]),
    ("CREATE STATISTICS public.s ON a, v FROM %1$s", &["t_1: its statistics public.s"]),
    ("COMMENT ON COLUMN %1$s.a IS ''new''", &["t_1: its comment a"]),
    ("CREATE SEQUENCE public.q OWNED BY %1$s.a", &["t_1: sequence public.q depends on it"]),
    ("ALTER PUBLICATION p ADD TABLE %1$s", &["publication p depends on it"]),
    ("ALTER TABLE %1$s SET UNLOGGED", &["t_1: its table t_1", "relpersistence"]),
];

/// A new table that has more than its leaf is not swapped in.
fn event_triggers_that_change_new_tables(case: &Case) {
    let role = super::carried::roles(case);
    for (change, named) in CHANGES {
        let change = change.replace("ROLE", &role);
        case.run(TABLE);
        case.run("INSERT INTO t SELECT 2, i FROM generate_series(1, 2000) i; GRANT SELECT ON t, t_2 TO PUBLIC");
        case.run("CREATE PUBLICATION p");
        case.run(
            "CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END'",
        );
        case.run(&format!(
            "CREATE FUNCTION change() RETURNS event_trigger LANGUAGE plpgsql AS $$
             DECLARE new record;
             BEGIN
                 FOR new IN SELECT object_identity AS name FROM pg_event_trigger_ddl_commands()
                            WHERE object_type = 'table' AND object_identity LIKE '%pgsluice_new%' LOOP
                     EXECUTE format('{change}', new.name);
                 END LOOP;
             END $$;
             CREATE EVENT TRIGGER change ON ddl_command_end WHEN TAG IN ('CREATE TABLE')
                 EXECUTE FUNCTION change()"
        ));
        let dump = case.dump();
        let refused = case.load("1,1,x\n", &[]);
        let named: Vec<String> = named.iter().map(|word| word.replace("ROLE", &role)).collect();
        let named: Vec<&str> = named.iter().map(String::as_str).collect();
        refused.fails_empty(&[&["cannot exchange"], &named[..], &["HINT"]].concat());
        super::same(&case.dump(), &dump);
        case.nothing_is_left();
        case.run(&format!("SET ROLE {role}_b"));
        assert_eq!(
            case.value("SELECT count(*) || ' ' || count(*) FILTER (WHERE k = 2) FROM t"),
            "2000 2000"
        );
        case.run(
            "RESET ROLE; DROP EVENT TRIGGER change; DROP FUNCTION change; DROP TABLE t; DROP PUBLICATION p;
             DROP FUNCTION nothing",
        );
    }
    case.run(&format!("DROP OWNED BY {role}_a, {role}_b; DROP ROLE {role}_a, {role}_b"));
}

/// Something that would be lost with a leaf and was added after the load had begun is found under the lock.
fn leaves_that_get_obstacles_meanwhile(case: &Case) {
    case.run(TABLE);
    case.run(
        "CREATE FUNCTION meanwhile() RETURNS event_trigger LANGUAGE plpgsql AS $$
         BEGIN
             IF (SELECT object_identity LIKE '%pgsluice_new%' FROM pg_event_trigger_ddl_commands() LIMIT 1) THEN
                 CREATE POLICY few ON public.t_1 USING (a = 1);
             END IF;
         END $$;
         CREATE EVENT TRIGGER meanwhile ON ddl_command_end WHEN TAG IN ('CREATE TABLE')
             EXECUTE FUNCTION meanwhile()",
    );
    let refused = case.load("1,1,x\n", &[]);
    refused.fails_empty(&[
        "table public.t_1 was altered during the load",
        "Now it has the policy few.",
    ]);
    case.nothing_is_left();
    assert_eq!(case.value("SELECT count(*) FROM pg_policy"), "1");
}

/// Constraints that were never checked are not marked as valid, both the leaf's own and those of its parent.
fn constraints_that_are_not_valid(case: &Case) {
    case.run(TABLE);
    case.run(
        "ALTER TABLE t ADD CONSTRAINT parents CHECK (a > 0) NOT VALID;
         ALTER TABLE t_1 ADD CONSTRAINT own CHECK (upper(v) <> 'Z') NO INHERIT NOT VALID;
         COMMENT ON CONSTRAINT own ON t_1 IS 'later'",
    );
    if case.server.major() >= 18 {
        case.run(
            "ALTER TABLE t ADD CONSTRAINT there NOT NULL a NOT VALID;
             ALTER TABLE t_2 ADD CONSTRAINT here NOT NULL v NOT VALID",
        );
    }
    let valid = "SELECT conrelid::regclass::text, conname, convalidated FROM pg_constraint
                 WHERE NOT convalidated ORDER BY 1, 2";
    let before = case.bench.session.rows(valid);
    assert_eq!(case.same_as_copy("1,1,x\n2,2,y\n", &[]), 2);
    assert_eq!(case.bench.session.rows(valid), before);
    assert!(before.len() >= 4);
    case.run("TRUNCATE t");
    let dump = case.dump();
    case.load("1,1,z\n", &[]).fails_empty(&["violates check constraint \"own\""]);
    case.is_untouched(&dump);
}

/// The planner has the size and the statistics of a new leaf before any query reads it.
fn estimates(case: &Case) {
    case.run(TABLE);
    case.run("CREATE INDEX ON t (a); ALTER TABLE t_1 SET (autovacuum_enabled = off)");
    let rows: String = (1..=1000).map(|row| format!("1,{row},x\n")).collect();
    assert_eq!(case.load(&rows, &[]).summary()["exchanged"], 1);
    assert_eq!(case.value("SELECT reltuples FROM pg_class WHERE relname = 't_1'"), "1000");
    let known = "SELECT string_agg(attname || n_distinct, ' ' ORDER BY attname) FROM pg_stats
                 WHERE tablename = 't_1'";
    assert_eq!(case.value(known), "a-1 k1 v1");
}
