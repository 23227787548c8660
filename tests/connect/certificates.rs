//! Server and client certificates of many kinds, each verified as libpq does it: psql connects too, and must
//! have the same outcome.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::{Cluster, run};
use crate::harness::{Running, Server, on_each_server, program};

on_each_server!([
    a_server_is_verified_as_far_as_asked,
    a_client_shows_its_own,
    the_systems_authorities_are_its_own_list,
]);

/// `sslmode` and other options, the root certificate, and the expected outcome.
type Expectation<'a> = (&'a str, &'a str, &'a str);

const TLS: &str = "TLS";
const ISSUER: &str = "certificate verify failed: unknown issuer";
const EXPIRED: &str = "certificate verify failed: certificate has expired";

impl Cluster {
    /// Returns the psql to compare with: the server's own, or the one on the PATH.
    fn psql(&self) -> PathBuf {
        let own = self.binaries.join("psql");
        if own.exists() { own } else { PathBuf::from("psql") }
    }

    /// Makes the server use this certificate from now on.
    fn shows(&self, certificate: &str) {
        let file = self.path(certificate);
        self.execute(&format!("ALTER SYSTEM SET ssl_cert_file = '{file}'"));
        self.execute("SELECT pg_reload_conf()");
        // The postmaster reads it after it has answered.
        let sees = format!("SELECT 1 / (current_setting('ssl_cert_file') = '{file}')::int");
        while self.try_execute(&sees).is_err() {}
    }

    /// Connects, and lets psql connect too: the server must accept both or neither.
    fn reach_as_psql(&self, options: &str) -> String {
        let outcome = self.connect(options);
        let mut psql = Command::new(self.psql());
        psql.args(["-X", "-c", "SELECT 1", "-d", &self.conninfo(options)])
            .env("HOME", self.path(""));
        let (reached, message) = run(&mut psql);
        assert_eq!(outcome == TLS, reached, "{options}: {outcome}\npsql: {message}");
        outcome
    }
}

fn a_server_is_verified_as_far_as_asked(server: Server) {
    let Some(cluster) = Cluster::start(server) else { return };
    let right = format!("sslrootcert={}", cluster.path("right.crt"));
    let alone = format!("sslrootcert={}", cluster.path("alone.crt"));
    let elsewhere = "server certificate for \"db.example\" (and 1 other name) does not match host \
                     name \"localhost\"";
    let cases: [(&str, &[Expectation]); 7] = [
        ("server.crt", &[("verify-ca", &right, TLS), ("verify-full", &right, TLS)]),
        (
            "elsewhere.crt",
            &[
                ("require", &right, TLS),
                ("verify-ca", &right, TLS),
                ("verify-full", &right, elsewhere),
                ("verify-full host=db.example", &right, TLS),
                ("verify-full host=other.example", &right, TLS),
                ("verify-full host=a.b.example", &right, "does not match host name"),
                ("verify-full host=example", &right, "does not match host name"),
            ],
        ),
        (
            "address.crt",
            &[
                ("verify-full host=127.0.0.1", &right, TLS),
                ("verify-full", &right, "does not match host name"),
                ("verify-full host=127.0.0.2", &right, "does not match host name"),
            ],
        ),
        (
            "expired.crt",
            &[
                ("require sslrootcert=/nowhere", "", TLS),
                ("require", &right, EXPIRED),
                ("verify-ca", &right, EXPIRED),
                ("verify-full", &right, EXPIRED),
            ],
        ),
        ("future.crt", &[("verify-ca", &right, "certificate is not yet valid")]),
        ("stranger.crt", &[("verify-ca", &right, ISSUER), ("verify-full", &right, ISSUER)]),
        ("alone.crt", &[("verify-ca", &right, ISSUER), ("verify-full", &alone, TLS)]),
    ];
    for (certificate, expectations) in cases {
        cluster.shows(certificate);
        for (mode, root, expected) in expectations {
            let options = format!("{root} sslmode={mode}");
            let outcome = cluster.reach_as_psql(&options);
            assert!(outcome.contains(expected), "{certificate} {options}: {outcome}");
        }
    }
}

fn a_client_shows_its_own(server: Server) {
    let Some(cluster) = Cluster::start(server) else { return };
    cluster.execute("CREATE ROLE certified LOGIN");
    let pair = |certificate: &str, key: &str| {
        format!("sslcert={} sslkey={}", cluster.path(certificate), cluster.path(key))
    };
    let open = cluster.path("open.key");
    fs::copy(cluster.path("client.key"), &open).unwrap();
    fs::set_permissions(&open, Permissions::from_mode(0o644)).unwrap();
    let needs = "connection requires a valid client certificate";
    for (options, expected) in [
        (pair("client.crt", "client.key"), TLS),
        (String::new(), needs),
        (pair("client.crt", "client.key") + " sslcertmode=disable", needs),
        (pair("other-client.crt", "client.key"), "authentication failed"),
        (pair("strange-client.crt", "client.key"), "SSL error: received fatal alert: UnknownCA"),
        (pair("client.crt", "server.key"), "does not match"),
        (pair("client.crt", "open.key"), "has group or world access"),
        (pair("client.crt", "no.key"), "but not private key file"),
        (pair("no.crt", "client.key"), needs),
        (pair("server.key", "client.key"), "could not read certificate file"),
    ] {
        let right = cluster.path("right.crt");
        let options = format!("user=certified sslmode=verify-full sslrootcert={right} {options}");
        // psql does not have this option before 16.
        let outcome = if options.contains("sslcertmode") && server.major() < 16 {
            cluster.connect(&options)
        } else {
            cluster.reach_as_psql(&options)
        };
        assert!(outcome.contains(expected), "{options}: {outcome}");
    }
}

fn the_systems_authorities_are_its_own_list(server: Server) {
    let Some(cluster) = Cluster::start(server) else { return };
    let conninfo = cluster.conninfo("sslrootcert=system");
    for (authority, expected) in
        [("right.crt", "relation \"nothing\" does not exist"), ("wrong.crt", ISSUER)]
    {
        let mut tree = program();
        tree.args(["tree", "-t", "nothing", "-d", &conninfo]).stdin(Stdio::null());
        tree.env("SSL_CERT_FILE", cluster.path(authority)).env_remove("SSL_CERT_DIR");
        Running::start(&mut tree).ended().fails(1, &[expected]);
    }
}
