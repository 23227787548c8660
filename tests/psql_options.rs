//! psql's options `-h`, `-p`, `-U`, `-W` and `-w` have the same meaning as in psql, and the program asks for
//! a password on a terminal.

use std::process::{Command, Stdio};

use crate::harness::{Address, Bench, Ended, Running, Server, on_each_server, program, run};

on_each_server!([
    host_port_and_user_are_psqls,
    a_password_is_asked_for_on_a_terminal,
    a_password_is_not_asked_for_elsewhere,
]);

/// Runs the program on a terminal, where `typed` is entered when it asks. Returns the terminal's output.
fn on_a_terminal(bench: &Bench, typed: &str, arguments: &[&str]) -> Ended {
    let script = "
import os, pty, sys
child, terminal = pty.fork()
if child == 0:
    os.execv(sys.argv[2], sys.argv[2:])
seen, typed = b'', False
while True:
    try:
        got = os.read(terminal, 4096)
    except OSError:
        break
    if not got:
        break
    seen += got
    if b'Password' in seen and not typed:
        typed = True
        os.write(terminal, sys.argv[1].encode() + b'\\n')
sys.stdout.buffer.write(seen)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
";
    let mut command = Command::new("python3");
    command.args(["-c", script, typed]).arg(program().get_program()).args(arguments);
    Running::start(command.current_dir(bench.folder.path()).stdin(Stdio::null())).ended()
}

fn host_port_and_user_are_psqls(server: Server) {
    let bench = Bench::with_table(server);
    bench.file("rows.csv", "1,a\n");
    let Address { host, port, database, user, password } = Address::from_url(&bench.url);
    let options = ["-h", &host, "-p", &port, "-U", &user, "-d", &database, "-t", "t"];
    let mut load = program();
    load.args(["load", "rows.csv"]).args(options).env("PGPASSWORD", &password);
    let ended = Running::start(load.current_dir(bench.folder.path())).ended();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert_eq!(bench.count("t"), 1);
    // As in psql, the connection string takes precedence.
    let mut load = program();
    load.args(["load", "rows.csv", "-h", "nowhere.invalid", "-p", "1", "-U", "nobody", "-t", "t"]);
    load.args(["-d", &bench.url]);
    let ended = Running::start(load.current_dir(bench.folder.path())).ended();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
}

fn a_password_is_asked_for_on_a_terminal(server: Server) {
    let bench = Bench::with_table(server);
    bench.file("rows.csv", "1,a\n");
    let Address { host, port, database, user, password } = Address::from_url(&bench.url);
    let place = ["-h", &host, "-p", &port, "-U", &user, "-d", &database, "-t", "t"];
    let load = [&["load", "rows.csv"], &place[..]].concat();
    let ended = on_a_terminal(&bench, &password, &load);
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert!(ended.stdout.contains(&format!("Password for user {user}: ")), "{ended:?}");
    assert!(!ended.stdout.contains(&password), "{ended:?}");
    assert_eq!(bench.count("t"), 1);

    let tree = [&["tree", "-W"], &place[..]].concat();
    let ended = on_a_terminal(&bench, "wrong", &tree);
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    assert!(ended.stdout.contains("password authentication failed"), "{ended:?}");
    assert_eq!(on_a_terminal(&bench, &password, &tree).status.code(), Some(0));

    let never = [&load[..], &["-w"]].concat();
    let ended = on_a_terminal(&bench, &password, &never);
    assert!(ended.stdout.contains("no password supplied"), "{ended:?}");
}

fn a_password_is_not_asked_for_elsewhere(server: Server) {
    let bench = Bench::with_table(server);
    bench.file("rows.csv", "1,a\n");
    let Address { host, port, database, user, .. } = Address::from_url(&bench.url);
    let mut load = program();
    load.args(["load", "rows.csv", "-h", &host, "-p", &port, "-U", &user, "-d", &database]);
    load.args(["-t", "t"]).stdin(Stdio::null());
    let ended = Running::start(load.current_dir(bench.folder.path())).ended();
    ended.fails(1, &["no password supplied", "HINT:  "]);
}

#[test]
fn help_is_no_option_of_psqls() {
    for arguments in [&["--help"][..], &["-?"], &["load", "-?"], &["server", "start", "--help"]] {
        let outcome = run(arguments, None);
        assert_eq!(outcome.status, Some(0), "{arguments:?}: {}", outcome.stderr);
        assert!(outcome.stdout.contains("Usage: pgsluice"), "{}", outcome.stdout);
    }
    let options = |flag: &str| {
        let listed = run(&["load", flag], None).stdout;
        listed.lines().filter(|line| line.trim_start().starts_with('-')).count()
    };
    let (brief, all) = (options("-?"), options("--help"));
    assert!(brief == 17 && all > 40, "{brief} options, and {all} in all");
    let outcome = run(&["load", "x.csv", "-t", "t", "-h", "127.0.0.1", "-p", "1"], None);
    assert_eq!(outcome.status, Some(1));
    assert!(outcome.stdout.is_empty(), "{}", outcome.stdout);
    assert!(outcome.stderr.contains("x.csv"), "{}", outcome.stderr);
}
