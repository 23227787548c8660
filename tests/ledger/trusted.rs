//! A ledger that others may have prepared: their code never runs with the rights of the user that loads or lists.

use super::ledger;
use crate::harness::{Bench, Role, Server, on_each_server, rows};

/// Functions that leave a trace, which a rollback does not remove.
const TRACE: &str = "
CREATE SEQUENCE public.traces;
CREATE FUNCTION public.trace() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    PERFORM nextval('public.traces');
    RETURN COALESCE(NEW, OLD);
END $$;
CREATE FUNCTION public.traced(value text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN
    PERFORM nextval('public.traces');
    RETURN value;
END $$;
GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO PUBLIC";

/// Returns the statement by which a role tampers with its own ledger, and the expected message.
fn fault(name: &str) -> (&'static str, &'static str) {
    match name {
        "triggers" => (
            "CREATE TRIGGER t BEFORE INSERT ON pgsluice.load EXECUTE FUNCTION trace()",
            "table pgsluice.load has the trigger t",
        ),
        "row_triggers_on_receipts" => (
            "CREATE TRIGGER t AFTER INSERT ON pgsluice.receipt FOR EACH ROW EXECUTE FUNCTION trace()",
            "table pgsluice.receipt has the trigger t",
        ),
        "rules" => (
            "CREATE RULE r AS ON INSERT TO pgsluice.receipt DO ALSO SELECT traced('x')",
            "table pgsluice.receipt has the rule r",
        ),
        "policies" => (
            "CREATE POLICY p ON pgsluice.load USING (traced(id) <> ''); \
             ALTER TABLE pgsluice.load ENABLE ROW LEVEL SECURITY",
            "table pgsluice.load has row security",
        ),
        "defaults" => (
            "ALTER TABLE pgsluice.load ALTER position SET DEFAULT traced('x')",
            "the columns of table pgsluice.load are not those of a ledger",
        ),
        "other_columns" => (
            "ALTER TABLE pgsluice.load ADD x text DEFAULT traced('x')",
            "the columns of table pgsluice.load are not those of a ledger",
        ),
        "other_types" => (
            "CREATE DOMAIN short AS text CHECK (traced(VALUE) <> ''); \
             ALTER TABLE pgsluice.load ALTER position TYPE short",
            "the columns of table pgsluice.load are not those of a ledger",
        ),
        "expression_indexes" => (
            "CREATE INDEX ON pgsluice.load (traced(id))",
            "the indexes of table pgsluice.load are not those of a ledger",
        ),
        "constraints" => (
            "ALTER TABLE pgsluice.load ADD CONSTRAINT c CHECK (traced(id) <> '')",
            "table pgsluice.load has the constraint c",
        ),
        "views" => (
            "ALTER TABLE pgsluice.load RENAME TO loads; \
             CREATE VIEW pgsluice.load AS SELECT *, traced(id) AS x FROM pgsluice.loads; \
             COMMENT ON VIEW pgsluice.load IS 'pgsluice ledger, format 5.'",
            "pgsluice.load is not a plain table",
        ),
        "views_that_look_like_tables" => (
            "ALTER TABLE pgsluice.load RENAME TO loads; \
             CREATE VIEW pgsluice.load AS \
                 SELECT traced(id) AS id, participant, state, terms, sources FROM pgsluice.loads; \
             COMMENT ON VIEW pgsluice.load IS 'pgsluice ledger, format 5.'",
            "pgsluice.load is not a plain table",
        ),
        "children" => {
            ("CREATE TABLE child () INHERITS (pgsluice.load)", "pgsluice.load is not a plain table")
        }
        "logged_witnesses" => {
            ("ALTER TABLE pgsluice.witness SET LOGGED", "pgsluice.witness is not a plain table")
        }
        other => panic!("{other}"),
    }
}

fn table(server: Server) -> Bench {
    let bench = Bench::with_table(server);
    bench.session.run(TRACE);
    bench.file("few.csv", rows(10, 10));
    bench.file("many.csv", rows(2000, 10));
    bench
}

#[track_caller]
fn nothing_ran(bench: &Bench) {
    assert_eq!(bench.value("SELECT is_called FROM traces"), "f");
}

/// Checks that every command that uses the ledger refuses it with `message`.
#[track_caller]
fn all_refuse(bench: &Bench, message: &str) {
    let message = [
        "the ledger in schema pgsluice cannot be trusted: ",
        message,
        "(SQLSTATE 42501)",
        "--ledger",
    ];
    // A small load uses only the table `load`, and so it checks no other table.
    let is_of_others = ["receipt", "tree", "witness"].iter().any(|name| message[1].contains(name));
    if is_of_others {
        assert_eq!(bench.load(["few.csv", "-t", "t"]).status.code(), Some(0));
        bench.session.run("TRUNCATE t");
    } else {
        bench.load(["few.csv", "-t", "t"]).fails(1, &message);
    }
    bench.load(["many.csv", "-t", "t", "-j", "2"]).fails(1, &message);
    for command in [&["list"][..], &["show", "l"], &["forget", "l"], &["forget", "--all"]] {
        ledger(&bench.url, command).fails(1, &message);
    }
    assert_eq!(bench.count("t"), 0);
    nothing_ran(bench);
}

fn additions_of_the_owner_are_refused(name: &str, server: Server) {
    let bench = table(server);
    // This role owns the tables now, but another role created them with the defect.
    bench.load(["many.csv", "-t", "t"]);
    bench.session.run("TRUNCATE t");
    let (change, message) = fault(name);
    bench.session.run(change);
    bench.session.run("ALTER SEQUENCE traces RESTART");
    all_refuse(&bench, message);
    // With another ledger, or without one, it loads.
    assert_eq!(bench.load(["many.csv", "-t", "t", "--ledger", "mine"]).status.code(), Some(0));
    assert_eq!(bench.load(["few.csv", "-t", "t", "--no-ledger"]).status.code(), Some(0));
    assert_eq!(bench.count("t"), 2010);
    nothing_ran(&bench);
}

on_each_server!(
    each super::additions_of_the_owner_are_refused,
    [
        triggers,
        row_triggers_on_receipts,
        rules,
        policies,
        defaults,
        other_columns,
        other_types,
        expression_indexes,
        constraints,
        views,
        views_that_look_like_tables,
        children,
        logged_witnesses,
    ]
);

mod owners {
    use super::*;

    fn check(name: &str, server: Server) {
        let bench = table(server);
        let other = Role::new(&bench);
        bench.load(["many.csv", "-t", "t"]);
        bench.session.run("TRUNCATE t");
        let role = &other.name;
        let (change, message) = match name {
            "of_the_schema" => (
                format!("ALTER SCHEMA pgsluice OWNER TO {role}"),
                format!("schema pgsluice belongs to role {role}"),
            ),
            "of_a_table" => (
                format!(
                    "GRANT ALL ON SCHEMA pgsluice TO {role}; ALTER TABLE pgsluice.tree OWNER TO {role}"
                ),
                format!("table pgsluice.tree belongs to role {role}"),
            ),
            "who_may_make_triggers" => (
                format!("GRANT ALL ON ALL TABLES IN SCHEMA pgsluice TO {role}"),
                format!("role {role} may create triggers on table pgsluice.block"),
            ),
            _ => (
                "GRANT TRIGGER ON pgsluice.load TO PUBLIC".to_owned(),
                "role PUBLIC may create triggers on table pgsluice.load".to_owned(),
            ),
        };
        bench.session.run(&change);
        all_refuse(&bench, &message);
        if name == "who_may_make_triggers" {
            let refused = bench.load(["many.csv", "-t", "t"]);
            let mend = format!("REVOKE TRIGGER ON ALL TABLES IN SCHEMA pgsluice FROM {role};");
            refused.fails(1, &[&mend]);
            bench.session.run(&mend);
            assert_eq!(bench.load(["many.csv", "-t", "t"]).status.code(), Some(0));
        }
    }

    on_each_server!(
        each super::check,
        [of_the_schema, of_a_table, who_may_make_triggers, everybody_may_make_triggers,]
    );
}

mod attacks {
    use super::*;

    /// A role that may create schemas prepares a ledger for other users.
    fn a_ledger_that_was_laid_out(server: Server) {
        let bench = table(server);
        let evil = Role::new(&bench);
        let session = evil.session();
        session.run("CREATE SCHEMA pgsluice");
        // The role creates the schema as pgsluice does. It needs no right on the table for that.
        session.run("CREATE SCHEMA own; CREATE TABLE own.t (id int, v text)");
        bench.file("one.csv", "1,a\n");
        assert_eq!(bench.load_into(&evil.url, ["one.csv", "-t", "own.t"]).status.code(), Some(0));
        session.run(
            "CREATE FUNCTION pgsluice.rise() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                 PERFORM nextval('public.traces');
                 RETURN NEW;
             END $$;
             CREATE TRIGGER rise BEFORE INSERT ON pgsluice.load FOR EACH ROW EXECUTE FUNCTION pgsluice.rise();
             GRANT ALL ON SCHEMA pgsluice TO PUBLIC; GRANT ALL ON ALL TABLES IN SCHEMA pgsluice TO PUBLIC",
        );
        all_refuse(&bench, &format!("schema pgsluice belongs to role {}", evil.name));
    }

    on_each_server!([a_ledger_that_was_laid_out,]);
}

mod shared {
    use super::*;

    /// A ledger of the database's owner serves all users that the owner admits. A user cannot list loads of
    /// tables that it may not read.
    fn a_team_shares_one(server: Server) {
        let bench = table(server);
        let role = Role::new(&bench);
        bench.load(["many.csv", "-t", "t"]);
        let Role { name, url, .. } = &role;
        bench
            .session
            .run(&format!("GRANT INSERT, SELECT ON ALL TABLES IN SCHEMA public TO {name}"));
        let refused = bench.load_into(url, ["many.csv", "-t", "t"]);
        let grant = format!(
            "GRANT USAGE ON SCHEMA pgsluice TO {name}; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL \
             TABLES IN SCHEMA pgsluice TO {name};"
        );
        refused.fails(1, &["permission denied for schema pgsluice", &grant]);
        ledger(url, &["list"]).fails(1, &["permission denied for schema pgsluice"]);
        bench.session.run(&grant);
        assert_eq!(bench.load_into(url, ["many.csv", "-t", "t"]).status.code(), Some(0));
        assert_eq!(ledger(url, &["list"]).stdout.lines().count(), 3);
        assert_eq!(ledger(&bench.url, &["list"]).stdout.lines().count(), 3);
        // SELECT is enough to list it.
        bench.session.run(&format!(
            "REVOKE INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA pgsluice FROM {name}"
        ));
        assert_eq!(ledger(url, &["list"]).stdout.lines().count(), 3);
        // A user's own ledger is private.
        let own = bench
            .load_into(url, ["many.csv", "-t", "t", "--ledger", "\"My own\"", "--load-id", "l"]);
        assert_eq!(own.status.code(), Some(0), "{own:?}");
        assert_eq!(bench.count("\"My own\".load"), 1);
        let refused = bench.load(["many.csv", "-t", "t", "--ledger", "\"My own\""]);
        refused.fails(1, &[&format!("schema \"My own\" belongs to role {name}")]);
        // The same id in this ledger is another load.
        let same = bench.load(["many.csv", "-t", "t", "--load-id", "l", "--json"]).summary();
        assert_eq!((&same["rows_loaded"], bench.count("t")), (&2000.into(), 8000));
        let shown = ledger(url, &["show", "l", "--ledger", "\"My own\""]);
        assert!(shown.stdout.contains(&format!(" as {name}, process ")), "{shown:?}");
    }

    /// Default privileges on new tables do not make a new ledger refused.
    fn default_privileges(server: Server) {
        let bench = table(server);
        let role = Role::new(&bench);
        bench
            .session
            .run(&format!("ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC, {}", role.name));
        for file in ["many.csv", "few.csv"] {
            assert_eq!(bench.load([file, "-t", "t"]).status.code(), Some(0));
        }
        let held = "SELECT count(*) FROM pg_class, aclexplode(relacl) AS a \
                    WHERE relnamespace = 'pgsluice'::regnamespace AND privilege_type = 'TRIGGER' \
                    AND grantee <> relowner";
        assert_eq!(bench.value(held), "0");
        bench.session.run(&format!(
            "ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM PUBLIC, {}",
            role.name
        ));
    }

    on_each_server!([a_team_shares_one, default_privileges,]);
}
