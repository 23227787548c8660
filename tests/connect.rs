//! Connections to live servers: each `sslmode` against a private cluster with TLS, and the errors of failed logins.

mod authority;
mod certificates;

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;

use pgsluice_session::connect::connect;
use pgsluice_session::conninfo::{Login, Target};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use crate::harness::{Server, free_port, on_each_server};

on_each_server!([sslmode_decides_as_in_libpq, a_login_that_fails_names_sqlstate_and_next_step,]);

/// A private server with TLS, which stops when the value is dropped.
struct Cluster {
    binaries: PathBuf,
    directory: TempDir,
    port: u16,
    runtime: Runtime,
}

impl Cluster {
    /// Starts the server. Returns `None` if the build has no TLS, and the test is skipped.
    fn start(server: Server) -> Option<Self> {
        let (binaries, directory, port) = (server.bin(), tempfile::tempdir().unwrap(), free_port());
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let cluster = Self { binaries, directory, port, runtime };
        authority::make_certificates(cluster.directory.path());
        // A server refuses to run as root, and its user must own its key.
        assert!(
            !is_root()
                || run(Command::new("chown").arg("-R").arg(SERVER_USER).arg(cluster.path(""))).0
        );
        let data = cluster.path("data");
        let made = cluster.tool("initdb", &["-A", "trust", "-U", "postgres", "-N", "-D", &data]);
        assert!(made.0, "{}", made.1);
        cluster.configure();
        let log = cluster.path("log");
        let started = cluster.tool("pg_ctl", &["start", "-w", "-D", &data, "-l", &log]);
        if !started.0 {
            let log = fs::read_to_string(&log).unwrap_or_default();
            assert!(log.contains("not supported by this build"), "{}{log}", started.1);
            server.skip("the server was built without OpenSSL");
            return None;
        }
        Some(cluster)
    }

    fn configure(&self) {
        let settings = format!(
            "port={}\nlisten_addresses='127.0.0.1'\nunix_socket_directories='{}'\nfsync=off\nssl=on\n\
             password_encryption=scram-sha-256\n\
             ssl_cert_file='{}'\nssl_key_file='{}'\nssl_ca_file='{}'\n",
            self.port,
            self.path(""),
            self.path("server.crt"),
            self.path("server.key"),
            self.path("right.crt"),
        );
        let rules = "local all all trust\n\
                     hostssl all encrypted all trust\n\
                     hostnossl all plain all trust\n\
                     host all secret all scram-sha-256\n\
                     hostssl all certified all cert\n\
                     host all postgres all trust\n";
        fs::write(self.directory.path().join("data/postgresql.auto.conf"), settings).unwrap();
        fs::write(self.directory.path().join("data/pg_hba.conf"), rules).unwrap();
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).to_str().unwrap().to_owned()
    }

    fn tool(&self, name: &str, arguments: &[&str]) -> (bool, String) {
        let program = self.binaries.join(name);
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            let user = format!("--reuid={SERVER_USER}");
            command.args([&user, "--clear-groups", "--"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        run(command.args(arguments))
    }

    fn execute(&self, sql: &str) {
        self.try_execute(sql).unwrap();
    }

    fn try_execute(&self, sql: &str) -> Result<(), tokio_postgres::Error> {
        let socket = format!("host={} port={} user=postgres", self.path(""), self.port);
        self.runtime.block_on(async {
            let client = connect(&target(&socket)).await.unwrap();
            client.batch_execute(sql).await
        })
    }

    /// Returns a connection string for TCP.
    fn conninfo(&self, options: &str) -> String {
        let address = format!("host=localhost hostaddr=127.0.0.1 port={}", self.port);
        let root = self.path("no-root.crt");
        format!("{address} dbname=postgres user=postgres sslrootcert={root} {options}")
    }

    /// Connects over TCP. Returns "TLS" or "plain", or the error.
    fn connect(&self, options: &str) -> String {
        self.runtime.block_on(async {
            match connect(&target(&self.conninfo(options))).await {
                Err(error) => error.to_string(),
                Ok(client) => {
                    let query = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
                    let encrypted: bool = client.query_one(query, &[]).await.unwrap().get(0);
                    if encrypted { "TLS" } else { "plain" }.to_owned()
                }
            }
        })
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.tool("pg_ctl", &["stop", "-m", "immediate", "-D", &self.path("data")]);
    }
}

const SERVER_USER: &str = "postgres";

fn is_root() -> bool {
    run(Command::new("id").arg("-u")).1.trim() == "0"
}

fn run(command: &mut Command) -> (bool, String) {
    // pg_ctl's server inherits stdout, so a pipe would stay open. The output goes to a file instead.
    let out = tempfile::NamedTempFile::new().unwrap();
    let file = || out.reopen().unwrap();
    let status = command.stdout(file()).stderr(file()).status().unwrap();
    (status.success(), fs::read_to_string(out.path()).unwrap())
}

fn target(conninfo: &str) -> Target {
    Target::resolve(Some(conninfo), &Login::default(), |_| false).unwrap().unwrap()
}

fn sslmode_decides_as_in_libpq(server: Server) {
    let Some(cluster) = Cluster::start(server) else { return };
    cluster
        .execute("CREATE ROLE encrypted LOGIN; CREATE ROLE plain LOGIN; CREATE ROLE secret LOGIN PASSWORD 'geheim'");
    let right = format!("sslrootcert={}", cluster.path("right.crt"));
    let wrong = format!("sslrootcert={}", cluster.path("wrong.crt"));
    let missing = "no-root.crt\" does not exist\nHINT:  Either provide the file";
    let issuer = "SSL error: certificate verify failed: unknown issuer";
    let name = "server certificate for \"localhost\" does not match host name \"db.example\"";
    let cases = [
        ("sslmode=disable", "plain"),
        ("sslmode=allow", "plain"),
        ("sslmode=allow user=encrypted", "TLS"),
        ("sslmode=prefer", "TLS"),
        ("sslmode=prefer user=plain", "plain"),
        (&format!("sslmode=prefer {wrong}"), "plain"),
        ("sslmode=require", "TLS"),
        ("sslmode=require user=plain", "no pg_hba.conf entry"),
        ("sslmode=disable user=encrypted", "no pg_hba.conf entry"),
        (&format!("sslmode=require {right}"), "TLS"),
        (&format!("sslmode=require {wrong}"), issuer),
        ("sslmode=verify-ca", missing),
        (&format!("sslmode=verify-ca {right} host=db.example"), "TLS"),
        (&format!("sslmode=verify-ca {wrong}"), issuer),
        ("sslmode=verify-full", missing),
        (&format!("sslmode=verify-full {right}"), "TLS"),
        (&format!("sslmode=verify-full {right} host=db.example"), name),
        (&format!("sslmode=verify-full {wrong}"), issuer),
        ("sslmode=require user=secret password=geheim channel_binding=require", "TLS"),
        ("sslmode=disable user=secret password=geheim channel_binding=require", "channel binding"),
        ("user=secret password=falsch", "(SQLSTATE 28P01)\nHINT:  "),
        ("user=secret", "no password supplied\nHINT:  "),
    ];
    for (options, expected) in cases {
        let outcome = cluster.connect(options);
        assert!(outcome.contains(expected), "{options}: {outcome}");
        assert!(!outcome.contains("falsch"), "{outcome}");
    }
    cluster.execute("ALTER SYSTEM SET ssl = off");
    cluster.tool("pg_ctl", &["restart", "-w", "-m", "fast", "-D", &cluster.path("data")]);
    assert_eq!(cluster.connect("sslmode=prefer"), "plain");
    let refused = cluster.connect("sslmode=require");
    assert!(refused.contains("server does not support SSL, but SSL was required"), "{refused}");
}

#[tokio::test]
async fn a_refused_connection_names_server_and_next_step() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let error = connect(&target(&format!("host=127.0.0.1 port={port} dbname=d user=u"))).await;
    assert_eq!(
        error.err().unwrap().to_string(),
        format!(
            "connection to server at \"127.0.0.1\", port {port} failed: Connection refused\n\
             HINT:  Is the server running on that host and accepting TCP/IP connections?"
        )
    );
}

#[tokio::test]
async fn a_silent_server_is_given_up_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let silent = format!("host=127.0.0.1 port={port} connect_timeout=1 dbname=d user=u");
    let error = connect(&target(&silent)).await.err().unwrap().to_string();
    assert!(error.contains("failed: timeout expired\nHINT:"), "{error}");
}

fn a_login_that_fails_names_sqlstate_and_next_step(server: Server) {
    let url = server.url();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let client = runtime.block_on(connect(&Target::from_url(&url).unwrap())).unwrap();
    let name = runtime.block_on(client.query_one("SHOW application_name", &[])).unwrap();
    assert_eq!(name.get::<_, &str>(0), "pgsluice");
    let separator = if url.contains('?') { '&' } else { '?' };
    let absent = Target::from_url(&format!("{url}{separator}dbname=no_such_database")).unwrap();
    let error = runtime.block_on(connect(&absent)).err().unwrap().to_string();
    let expected =
        "failed: FATAL:  database \"no_such_database\" does not exist (SQLSTATE 3D000)\nHINT:  ";
    assert!(error.starts_with("connection to server ") && error.contains(expected), "{error}");
}
