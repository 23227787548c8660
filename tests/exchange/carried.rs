//! Properties of a leaf that another table keeps when it takes the leaf's place.

use super::Case;
use crate::harness::on_each_server;

on_each_server!(with super::Case::new, [indexes, constraints, not_null_of_both, options, privileges, default_privileges, another_owner, comments, triggers, statistics, replica_identity, temporal_keys,]);

const TABLE: &str = "
CREATE TABLE t (k int NOT NULL, a int, b text, r int4range) PARTITION BY LIST (k);
CREATE TABLE t_1 PARTITION OF t FOR VALUES IN (1);
CREATE TABLE t_2 PARTITION OF t FOR VALUES IN (2);";

const ROWS: &str = "1,1,x,\"[1,2)\"\n1,2,y,\"[2,3)\"\n2,1,x,\"[1,2)\"\n";

/// Exchanges both leaves of a table that is changed by `special`.
#[track_caller]
fn carries(case: &Case, special: &str) {
    case.run(TABLE);
    case.run(special);
    assert_eq!(case.same_as_copy(ROWS, &[]), 2);
}

fn indexes(case: &Case) {
    let distinct = if case.server.major() >= 15 { "NULLS NOT DISTINCT" } else { "" };
    case.run("CREATE FUNCTION twice(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 2 * $1'");
    carries(
        case,
        &format!(
            "CREATE UNIQUE INDEX own ON t_1 (k, a) INCLUDE (b) {distinct} WITH (fillfactor = 55) WHERE a < 99;
             CREATE INDEX \"Named\" ON t USING hash (b);
             CREATE INDEX ON t (twice(a) DESC NULLS LAST, b COLLATE \"C\" text_pattern_ops);
             CREATE INDEX ON t USING gist (r);
             CREATE INDEX ON t USING brin (a) WITH (pages_per_range = 7);
             CREATE INDEX kept ON ONLY t (a);
             CREATE INDEX attached ON t_1 (a);
             CREATE INDEX attached_2 ON t_2 (a);
             ALTER INDEX kept ATTACH PARTITION attached; ALTER INDEX kept ATTACH PARTITION attached_2;
             CREATE INDEX twice_2 ON t_2 ((a + 1), k);
             ALTER INDEX twice_2 ALTER 1 SET STATISTICS 33;
             ALTER TABLE t_2 CLUSTER ON twice_2"
        ),
    );
    let count = "SELECT count(*) FROM pg_index WHERE indrelid = 't_1'::regclass";
    assert_eq!(case.value(count), "6");
}

fn constraints(case: &Case) {
    case.run("CREATE TABLE other (id int PRIMARY KEY, two int UNIQUE); INSERT INTO other VALUES (1, 1), (2, 2)");
    carries(
        case,
        "ALTER TABLE t ADD CONSTRAINT pk PRIMARY KEY (k, a),
             ADD CONSTRAINT late UNIQUE (k, b) DEFERRABLE INITIALLY DEFERRED,
             ADD CONSTRAINT positive CHECK (a > 0),
             ADD CONSTRAINT two FOREIGN KEY (a) REFERENCES other ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;
         ALTER TABLE t_1 ADD CONSTRAINT only_here CHECK (b <> 'z') NO INHERIT,
             ADD CONSTRAINT old CHECK (b <> 'zz') NOT VALID,
             ADD CONSTRAINT apart EXCLUDE USING gist (r WITH &&) DEFERRABLE,
             ADD CONSTRAINT own_key FOREIGN KEY (a) REFERENCES other (two) MATCH FULL,
             ADD CONSTRAINT unchecked FOREIGN KEY (k) REFERENCES other NOT VALID,
             ADD UNIQUE (a, b) INCLUDE (k) WITH (fillfactor = 66),
             ALTER b SET NOT NULL;
         ALTER TABLE t_1 VALIDATE CONSTRAINT old",
    );
    let refused = case.bench.session.try_run("INSERT INTO t VALUES (1, 3, 'x', '[1,2)')");
    assert!(refused.is_err(), "constraints are in force");
}

fn not_null_of_both(case: &Case) {
    carries(case, "DROP TABLE t_1; CREATE TABLE t_1 PARTITION OF t (k NOT NULL) FOR VALUES IN (1)");
}

fn options(case: &Case) {
    let compressed = case.server.major() >= 14;
    case.run("SET allow_in_place_tablespaces = on");
    let name = format!("space_{}", case.value("SELECT current_database()"));
    case.run(&format!("CREATE TABLESPACE {name} LOCATION ''"));
    carries(
        case,
        &format!(
            "CREATE INDEX ON t (a) TABLESPACE {name};
             DROP TABLE t_1;
             CREATE UNLOGGED TABLE t_1 PARTITION OF t FOR VALUES IN (1) TABLESPACE {name};
             ALTER TABLE t_2 SET (fillfactor = 77, autovacuum_enabled = off, toast.autovacuum_enabled = off);
             ALTER TABLE t_2 ALTER b SET STORAGE external, ALTER b SET STATISTICS 55,
                 ALTER a SET (n_distinct = -0.5), ALTER b SET DEFAULT 'it''s'{};
             ALTER TABLE t_2 ADD PRIMARY KEY (a) USING INDEX TABLESPACE {name}",
            if compressed { ", ALTER b SET COMPRESSION pglz" } else { "" }
        ),
    );
    case.run("DROP TABLE t");
    case.run(&format!("DROP TABLESPACE {name}"));
}

fn privileges(case: &Case) {
    let role = roles(case);
    carries(
        case,
        &format!(
            "GRANT SELECT ON t TO {role}_a; GRANT INSERT, SELECT ON t_1 TO {role}_a WITH GRANT OPTION;
             GRANT SELECT ON t_1 TO PUBLIC; GRANT UPDATE (a, b), SELECT (a) ON t_1 TO {role}_b;
             REVOKE DELETE, TRUNCATE ON t_2 FROM CURRENT_USER"
        ),
    );
    case.run(&format!("DROP OWNED BY {role}_a, {role}_b; DROP ROLE {role}_a, {role}_b"));
}

fn default_privileges(case: &Case) {
    let role = roles(case);
    carries(
        case,
        &format!(
            "ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO {role}_a, PUBLIC;
             GRANT SELECT ON t_2 TO {role}_b"
        ),
    );
    case.run(&format!("DROP OWNED BY {role}_a, {role}_b; DROP ROLE {role}_a, {role}_b"));
}

fn another_owner(case: &Case) {
    let role = roles(case);
    case.run(&format!("GRANT CREATE ON SCHEMA public TO {role}_a, {role}_b"));
    carries(
        case,
        &format!(
            "ALTER TABLE t_1 OWNER TO {role}_a; ALTER TABLE t_2 OWNER TO {role}_b;
             GRANT SELECT ON t_1 TO {role}_b; CREATE INDEX ON t (a)"
        ),
    );
    case.run(&format!("DROP OWNED BY {role}_a, {role}_b; DROP ROLE {role}_a, {role}_b"));
}

/// Creates two roles. Returns their common prefix.
pub(super) fn roles(case: &Case) -> String {
    let role = format!("role_{}", case.value("SELECT current_database()"));
    case.run(&format!("CREATE ROLE {role}_a; CREATE ROLE {role}_b"));
    role
}

fn comments(case: &Case) {
    carries(
        case,
        "ALTER TABLE t ADD CONSTRAINT pk PRIMARY KEY (k, a), ADD CONSTRAINT positive CHECK (a > 0);
         CREATE INDEX i ON t_1 (b); CREATE STATISTICS s ON a, b FROM t_1;
         COMMENT ON TABLE t_1 IS 'a leaf'; COMMENT ON COLUMN t_1.b IS 'a column';
         COMMENT ON CONSTRAINT positive ON t_1 IS 'a check'; COMMENT ON CONSTRAINT t_1_pkey ON t_1 IS 'a key';
         COMMENT ON INDEX i IS 'an index'; COMMENT ON INDEX t_1_pkey IS 'of the key';
         COMMENT ON STATISTICS s IS E'statistics \\\\ it''s'",
    );
}

fn triggers(case: &Case) {
    case.run("CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END'");
    carries(
        case,
        "CREATE TRIGGER all_leaves AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f('x');
         CREATE TRIGGER one BEFORE UPDATE OF a ON t_1 FOR EACH ROW WHEN (new.a > 1) EXECUTE FUNCTION f();
         CREATE CONSTRAINT TRIGGER late AFTER DELETE ON t_1 DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION f();
         CREATE TRIGGER old AFTER UPDATE ON t_2 REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION f();
         CREATE TRIGGER idle BEFORE INSERT ON t_1 FOR EACH ROW EXECUTE FUNCTION f();
         ALTER TABLE t_1 DISABLE TRIGGER idle, ENABLE ALWAYS TRIGGER one;
         ALTER TABLE t_2 ENABLE REPLICA TRIGGER all_leaves;
         COMMENT ON TRIGGER one ON t_1 IS 'one'",
    );
}

fn statistics(case: &Case) {
    carries(
        case,
        "CREATE SCHEMA elsewhere; CREATE STATISTICS elsewhere.\"S\" (ndistinct, mcv) ON a, b FROM t_1;
         CREATE STATISTICS plain ON k, a, b FROM t_2; ALTER STATISTICS plain SET STATISTICS 44",
    );
}

fn replica_identity(case: &Case) {
    carries(
        case,
        "CREATE UNIQUE INDEX u ON t_1 (k); ALTER TABLE t_1 REPLICA IDENTITY USING INDEX u;
         DROP INDEX u; CREATE UNIQUE INDEX u ON t_1 (k, a);
         ALTER TABLE t_1 ALTER a SET NOT NULL; ALTER TABLE t_1 REPLICA IDENTITY USING INDEX u;
         ALTER TABLE t_2 REPLICA IDENTITY FULL",
    );
}

fn temporal_keys(case: &Case) {
    if case.server.lacks(18, "WITHOUT OVERLAPS") {
        return;
    }
    case.run("CREATE EXTENSION btree_gist");
    carries(
        case,
        "ALTER TABLE t ADD CONSTRAINT pk PRIMARY KEY (k, a, r WITHOUT OVERLAPS);
         ALTER TABLE t_1 ADD CONSTRAINT loose CHECK (a > 0) NOT ENFORCED",
    );
}
