//! Sources that cannot be read, and contradictory arguments: no row is loaded, and the error gives the reason.

use super::case::{Case, TREE};
use crate::harness::{Address, Bench, Role, Server, free_port, on_each_server, with_database};

on_each_server!([
    hidden_rows,
    missing_privileges,
    relations_that_are_not_there,
    servers_that_cannot_be_reached,
    arguments_that_exclude_each_other,
]);

/// Loads `old` from a URL that differs from the target's, and checks the error.
#[track_caller]
fn fails_from(case: &Case, url: &str, status: i32, parts: &[&str]) {
    let ended = case.load("public.old", &["--from", url]);
    ended.fails(status, parts);
    assert_eq!(case.bench.count("t"), 0, "{ended:?}");
    let password = Address::from_url(&case.bench.url).password;
    for password in [&*password, "secret"].into_iter().filter(|password| !password.is_empty()) {
        let words = ended.stderr.split(|c: char| !c.is_alphanumeric());
        assert!(words.clone().all(|word| word != password), "a password is printed: {ended:?}");
    }
}

fn make(server: Server) -> Case {
    let case = Case::here(server);
    case.make(TREE);
    case.make_old(1000);
    case
}

fn hidden_rows(server: Server) {
    let case = make(server);
    let role = Role::new(&case.bench);
    case.bench.session.run(&format!(
        "GRANT SELECT ON old TO {role}; ALTER TABLE old ENABLE ROW LEVEL SECURITY;
         CREATE POLICY visible ON old FOR SELECT TO {role} USING (id < 500)",
        role = role.name
    ));
    fails_from(&case, &role.url, 1, &["row-level security", "(SQLSTATE 42501)"]);
    // A role that sees all rows may read the table.
    case.copy("old", "id, day, v");
    case.load("old", &[]).summary();
    case.agree("all rows");
}

fn missing_privileges(server: Server) {
    let case = make(server);
    let role = Role::new(&case.bench);
    fails_from(&case, &role.url, 1, &["permission denied", "(SQLSTATE 42501)"]);
    case.bench.session.run(&format!("GRANT SELECT ON old TO {}", role.name));
    case.copy("old", "id, day, v");
    case.load("old", &["--from", &role.url]).summary();
    case.agree("a role that may only read");
}

fn relations_that_are_not_there(server: Server) {
    let case = make(server);
    case.bench.session.run("CREATE SEQUENCE numbers; CREATE INDEX of_old ON old (id)");
    for (relation, part) in [
        ("public.nope", "(SQLSTATE 42P01)"),
        ("nowhere.old", "nowhere"),
        ("public.numbers", "numbers"),
        ("public.of_old", "of_old"),
        ("public.old; DROP TABLE public.old", "error: "),
        ("a.b.c.d", "error: "),
    ] {
        let ended = case.load(relation, &[]);
        assert!(matches!(ended.status.code(), Some(1 | 2)), "{relation}: {ended:?}");
        ended.fails(ended.status.code().unwrap_or(1), &[part]);
        assert_eq!((case.bench.count("t"), case.bench.count("old")), (0, 910), "{relation}");
    }
}

fn servers_that_cannot_be_reached(server: Server) {
    let case = make(server);
    let url = case.bench.url.clone();
    let closed = format!("postgresql://u:secret@127.0.0.1:{}/d", free_port());
    fails_from(&case, &closed, 1, &["Connection refused"]);
    fails_from(&case, &with_database(&url, "nowhere"), 1, &["(SQLSTATE 3D000)"]);
    fails_from(&case, "port=what", 2, &["port"]);
    fails_from(&case, "postgresql://u@127.0.0.1:1:2/d", 2, &["error: "]);
    // A database without the table.
    let other = Bench::new(server);
    fails_from(&case, &other.url, 1, &["old", "(SQLSTATE 42P01)"]);
}

fn arguments_that_exclude_each_other(server: Server) {
    let case = make(server);
    case.bench.file("rows.csv", "1,2024-01-01,x\n");
    case.load("old", &["rows.csv"]).fails(2, &["table"]);
    for option in [
        "--format=csv",
        "--header",
        "--delimiter=;",
        "--null=x",
        "--quote='",
        "--escape='",
        "--encoding=latin1",
        "--columns=id",
        "--force-null=v",
        "--force-not-null=v",
        "--default=x",
        "--round",
        "--once",
    ] {
        let name = option.split('=').next().unwrap_or(option);
        for command in ["load", "plan", "verify"] {
            if (command, name) == ("load", "--once") || name != "--once" {
                case.run(command, "old", &[option]).fails(2, &[name]);
            }
        }
    }
    let load = |options: &[&str]| case.bench.load([&["-t", "t"], options].concat());
    load(&["rows.csv", "--where=true"]).fails(2, &["--from-table"]);
    load(&["rows.csv", "--from", &case.bench.url]).fails(2, &["--from-table"]);
    load(&["--where=true"]).fails(2, &["error: "]);
    load(&[]).fails(2, &["error: "]);
    assert_eq!(case.bench.count("t"), 0);
}
