//! Passwords go only to the server: no message, summary or log has one, and neither do the arguments of any process.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::harness::{Address, Bench, Ended, Place, Running, Server, on_each_server, program};

on_each_server!([
    the_embedded_server_is_started,
    the_server_refuses_it,
    the_connection_is_not_encrypted,
    all_goes_well,
]);

/// A marker that is used in place of each password.
const MARK: &str = "gEh3im-7f3a";

/// Runs the program in every way that takes a connection string.
fn everything(conninfo: &str, environment: &[(&str, &str)]) -> Vec<Ended> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("rows.csv"), "1,a\n").unwrap();
    let commands: [&[&str]; 7] = [
        &["load", "rows.csv", "--json"],
        &["load", "rows.csv", "--few-rows=0", "--create-partitions"],
        &["load", "rows.csv", "--exchange", "-q"],
        &["plan", "rows.csv"],
        &["plan", "rows.csv", "--full"],
        &["verify", "rows.csv", "--json"],
        &["tree"],
    ];
    let run = |command: &&[&str]| {
        let mut program = program();
        program.args(*command).args(["-t", "t"]).envs(environment.iter().copied());
        program.current_dir(folder.path()).stdin(Stdio::null());
        // A panic would print a backtrace too.
        program.env("RUST_BACKTRACE", "full");
        if !conninfo.is_empty() {
            program.args(["-d", conninfo]);
        }
        Running::start(&mut program).ended()
    };
    commands.iter().map(run).collect()
}

#[track_caller]
fn is_silent(ended: &Ended) {
    for text in [&ended.stdout, &ended.stderr] {
        assert!(!text.contains(MARK), "{ended:?}");
        // No part of it either.
        assert!(!text.contains("7f3a"), "{ended:?}");
    }
}

#[track_caller]
fn fails(conninfo: &str, environment: &[(&str, &str)], message: &str) {
    for ended in everything(conninfo, environment) {
        is_silent(&ended);
        assert!(matches!(ended.status.code(), Some(1 | 2)), "{ended:?}");
        assert!(ended.stderr.contains(message), "{message:?} is not in {ended:?}");
    }
}

fn the_server_refuses_it(server: Server) {
    let bench = Bench::with_table(server);
    let Address { host, port, database, user, password } = Address::from_url(&bench.url);
    let wrong = "password authentication failed";
    fails(&bench.url.replace(&password, MARK), &[], wrong);
    let place = format!("host={host} port={port} dbname={database} user={user}");
    fails(&format!("{place} password={MARK}"), &[], wrong);
    fails(&format!("{place} password='{MARK}'"), &[], wrong);
    fails(&place, &[("PGPASSWORD", MARK)], wrong);
    fails("", &[("DATABASE_URL", &bench.url.replace(&password, MARK))], wrong);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pgpass");
    fs::write(&path, format!("*:*:*:*:{MARK}\n")).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    let path = path.to_str().unwrap();
    fails(&place, &[("PGPASSFILE", path)], wrong);
    fails(&place, &[("PGPASSFILE", path)], "password retrieved from file");
    fs::set_permissions(path, Permissions::from_mode(0o640)).unwrap();
    let others = "has group or world access; permissions should be u=rw (0600) or less";
    fails(&place, &[("PGPASSFILE", path)], others);
    fails(&place, &[("PGPASSFILE", path)], "no password supplied");
}

#[test]
fn there_is_no_server() {
    let urls = [
        (format!("postgresql://u:{MARK}@127.0.0.1:1/d"), "Connection refused"),
        (format!("postgresql://u:{MARK}@nowhere.invalid/d"), "could not translate host name"),
        (format!("postgresql://u@127.0.0.1:1/d?password={MARK}"), "Connection refused"),
        (format!("host=/nowhere dbname=d user=u password={MARK}"), "No such file or directory"),
    ];
    for (url, message) in urls {
        fails(&url, &[], message);
    }
    let environment = [("PGHOST", "127.0.0.1"), ("PGPORT", "1"), ("PGPASSWORD", MARK)];
    fails("dbname=d user=u", &environment, "Connection refused");
}

fn the_connection_is_not_encrypted(server: Server) {
    let bench = Bench::with_table(server);
    let password = Address::from_url(&bench.url).password;
    let url = bench.url.replace(&password, MARK);
    fails(&format!("{url}?sslmode=require"), &[], "SSL");
    fails(&format!("{url}?sslmode=verify-full&sslrootcert=/nowhere"), &[], "root certificate file");
    fails(&format!("{url}?sslmode=require&sslcert=/dev/null&sslkey=/nowhere"), &[], "certificate");
}

#[test]
fn the_connection_string_is_wrong() {
    for (conninfo, message) in [
        (format!("postgresql://u:{MARK}@h/d?colour=red"), "colour"),
        (format!("postgresql://u:{MARK}@h:port/d"), "port"),
        (format!("postgresql://u:{MARK}@[::1/d"), "error: "),
        (format!("postgresql://u:{MARK}%zz@h/d"), "error: "),
        (format!("postgresql://u:{MARK}@h/d?sslmode"), "error: "),
        (format!("postgresql://u@h/d?password={MARK}&password"), "error: "),
        (format!("postgresql://u@h/d?password={MARK}%0"), "error: "),
        (format!("host=h password={MARK} colour=red"), "after \"password\""),
        (format!("host=h password='{MARK}"), "error: "),
        (format!("host=h password='{MARK}\\"), "error: "),
        (format!("password={MARK} host"), "error: "),
        (format!("password={MARK} port=x"), "port"),
        (format!("password={MARK} sslmode=maybe"), "sslmode"),
        (format!("password={MARK} service=none"), "service"),
        (format!("password={MARK} = "), "error: "),
    ] {
        fails(&conninfo, &[], message);
        fails("", &[("DATABASE_URL", &conninfo)], "error: ");
    }
    let folder = tempfile::tempdir().unwrap();
    let services = folder.path().join("services");
    for line in [format!("password={MARK}\nnothing"), format!("passwort={MARK}"), MARK.to_owned()] {
        fs::write(&services, format!("[mine]\nhost=h\n{line}\n")).unwrap();
        let file = [("PGSERVICEFILE", services.to_str().unwrap())];
        fails("service=mine", &file, "error: ");
    }
}

#[test]
fn the_command_line_is_wrong() {
    let url = format!("postgresql://u:{MARK}@127.0.0.1:1/d");
    let cases: [&[&str]; 7] = [
        &["load", "x.csv", "-t", "t", "-d", &url, "--nonsense"],
        &["load", "x.csv", "-d", &url],
        &["load", "x.csv", "-t", "t", &format!("--dbnam={url}")],
        &["tree", "-t", "t", &url],
        &["load", &url, "-t", "t"],
        &["load", "x.csv", "-t", "t", "-d", &url, "--memory=x"],
        &[&url],
    ];
    for arguments in cases {
        let ended = Running::start(program().args(arguments).stdin(Stdio::null())).ended();
        is_silent(&ended);
        assert!(matches!(ended.status.code(), Some(1 | 2)), "{ended:?}");
        assert!(ended.stderr.contains("error: "), "{ended:?}");
    }
}

fn all_goes_well(server: Server) {
    let bench = Bench::with_table(server);
    let password = Address::from_url(&bench.url).password;
    for ended in everything(&bench.url, &[]) {
        assert!(
            !ended.stdout.contains(&password) && !ended.stderr.contains(&password),
            "{ended:?}"
        );
    }
}

/// While the server is created, started and stopped, `ps` never shows its password, and its log does not contain it.
fn the_embedded_server_is_started(server: Server) {
    let place = Place::new(server);
    let mut start = place.command("start");
    let mut started = start.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut seen = BTreeSet::new();
    while started.try_wait().unwrap().is_none() {
        seen.extend(arguments());
        thread::sleep(Duration::from_millis(2));
    }
    let output = started.wait_with_output().unwrap();
    seen.extend(arguments());
    let url = String::from_utf8(output.stdout).unwrap();
    let password = Address::from_url(url.trim()).password;
    assert!(seen.iter().any(|line| line.contains("initdb")), "the making was seen: {seen:?}");
    assert!(seen.iter().all(|line| !line.contains(&password)), "{seen:?}");
    assert!(!String::from_utf8_lossy(&output.stderr).contains(&password));
    let stopped = place.run("stop");
    assert!(stopped.status.success(), "{stopped:?}");
    let holders = holders(&place, &password);
    assert_eq!(holders, ["server/password"], "files that hold it");
}

/// Returns the arguments of all processes.
fn arguments() -> impl Iterator<Item = String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes.filter_map(|process| {
        let line = fs::read(process.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).replace('\0', " "))
    })
}

/// Returns the files below `place` that contain `text`.
fn holders(place: &Place, text: &str) -> Vec<String> {
    let mut grep = Command::new("grep");
    grep.args(["--recursive", "--files-with-matches", "--fixed-strings", text, "."]);
    let found = grep.current_dir(place.path("")).output().unwrap().stdout;
    let found = String::from_utf8(found).unwrap();
    found.lines().map(|line| line.trim_start_matches("./").to_owned()).collect()
}
