//! A standby that is promoted during a load. The ledger is replicated with the rows, so the load sends the
//! lost rows again, and no others.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::harness::{
    Address, Bench, Place, Server, Session, free_port, on_each_server, wait_until,
};

on_each_server!([a_standby_that_lacks_rows_is_promoted, a_synchronous_standby_is_promoted,]);

const ROWS: usize = 400_000;

/// A primary, and a standby that streams from it.
struct Pair {
    place: Place,
    primary: String,
    standby: String,
}

impl Pair {
    fn start(server: Server) -> Self {
        let place = Place::new(server);
        let mut pair = Self { primary: place.start(), standby: String::new(), place };
        // The load must still run when the primary dies, even on a fast machine.
        Session::open(&pair.primary).run(
            "CREATE TABLE t (id int CHECK (id % 1000 <> 0 OR pg_sleep(0.03) IS NOT NULL), v text)
             PARTITION BY HASH (id);
             CREATE TABLE t0 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 0);
             CREATE TABLE t1 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
        );
        let programs = pair.place.programs();
        pair.place.run("stop");
        let (from, to) = (pair.place.path("server"), pair.place.path("standby"));
        assert!(Command::new("cp").arg("-a").args([&from, &to]).status().unwrap().success());
        pair.primary = pair.place.start();
        let Address { port, password, .. } = Address::from_url(&pair.primary);
        let data = pair.standby_data();
        fs::write(data.join("standby.signal"), "").unwrap();
        fs::write(
            data.join("postgresql.auto.conf"),
            format!(
                "primary_conninfo = 'host=127.0.0.1 port={port} user=postgres password={password} \
                 application_name=second'\n"
            ),
        )
        .unwrap();
        let own = free_port();
        pair.standby = pair.primary.replace(&format!(":{port}/"), &format!(":{own}/"));
        let options = format!("-p {own} -k '' -c listen_addresses=127.0.0.1");
        let log = data.join("standby.log");
        let start = ["start", "-o", &options, "-l", log.to_str().unwrap()];
        pair.pg_ctl(&programs, &start);
        let streams = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";
        let session = Session::open(&pair.primary);
        wait_until("the streaming", || session.rows(streams)[0][0].as_deref() == Some("1"));
        pair
    }

    fn standby_data(&self) -> PathBuf {
        self.place.path("standby/data")
    }

    /// Runs pg_ctl for the standby, as the owner of its files.
    fn pg_ctl(&self, programs: &Path, arguments: &[&str]) {
        let data = self.standby_data();
        let owner = fs::metadata(self.place.data()).unwrap();
        let is_root = self.place.is_root();
        if is_root {
            for file in ["standby.signal", "postgresql.auto.conf"].map(|name| data.join(name)) {
                if file.exists() {
                    std::os::unix::fs::chown(&file, Some(owner.uid()), Some(owner.gid())).unwrap();
                }
            }
        }
        let mut command = Command::new(programs.join("pg_ctl"));
        command.arg("-D").arg(data).arg("-w").args(arguments).current_dir("/");
        if is_root {
            command.gid(owner.gid()).uid(owner.uid());
        }
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        assert!(status.success(), "pg_ctl {arguments:?}");
    }

    /// Returns a URL with both hosts, which selects the one that accepts writes.
    fn url(&self) -> String {
        let [own, other] = [&self.primary, &self.standby].map(|url| Address::from_url(url));
        let hosts = format!("127.0.0.1:{},127.0.0.1:{}", own.port, other.port);
        self.primary.replace(&format!("127.0.0.1:{}", own.port), &hosts)
            + "?target_session_attrs=read-write"
    }

    /// Kills the primary and promotes the standby. Returns the number of rows that it has then.
    fn fail_over(&self, programs: &Path) -> u64 {
        let primary = self.place.postmaster();
        assert!(Command::new("kill").args(["-QUIT", &primary]).status().unwrap().success());
        self.pg_ctl(programs, &["promote"]);
        count(&Session::open(&self.standby))
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        let standby = fs::read_to_string(self.standby_data().join("postmaster.pid"));
        let pid = standby.ok().and_then(|text| text.lines().next().map(str::to_owned));
        pid.iter().for_each(|pid| _ = Command::new("kill").args(["-QUIT", pid]).status());
    }
}

fn count(session: &Session) -> u64 {
    session.rows("SELECT count(*) FROM t")[0][0].as_ref().unwrap().parse().unwrap()
}

/// Loads while `before` holds on the primary, fails over, and compares.
fn promoted(server: Server, synchronous: bool, loses: bool) {
    let pair = Pair::start(server);
    let bench = Bench::from_url(&pair.primary);
    let all: String = (0..ROWS).map(|id| format!("{id},{:030}\n", id)).collect();
    bench.file("rows.csv", &all);
    if synchronous {
        bench.session.run("ALTER SYSTEM SET synchronous_standby_names = 'second'");
        bench.session.run("SELECT pg_reload_conf()");
    }
    let programs = pair.place.programs();
    let options =
        ["rows.csv", "-t", "t", "-j", "2", "--memory=1MB", "--load-id=night", "--wait=2min"];
    let load = bench.start_into(&pair.url(), options, Stdio::null());
    wait_until("some rows", || count(&bench.session) > 0);
    if loses {
        // The standby receives nothing from here on.
        let standby = Session::open(&pair.standby);
        standby.run("ALTER SYSTEM SET primary_conninfo = ''");
        standby.run("SELECT pg_reload_conf()");
        let had = count(&bench.session);
        wait_until("more rows", || count(&bench.session) > had);
        thread::sleep(Duration::from_millis(200));
    }
    let had = count(&bench.session);
    let has = pair.fail_over(&programs);
    assert!(!loses || has < had, "{has} of {had} rows");
    let ended = load.ended();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    let now = Session::open(&pair.standby);
    let sums = "SELECT count(*), count(DISTINCT id), sum(id) FROM t";
    let expected = [ROWS, ROWS, (0..ROWS).sum()].map(|sum| Some(sum.to_string()));
    assert_eq!(now.rows(sums)[0], expected);
}

fn a_standby_that_lacks_rows_is_promoted(server: Server) {
    promoted(server, false, true);
}

fn a_synchronous_standby_is_promoted(server: Server) {
    promoted(server, true, false);
}
