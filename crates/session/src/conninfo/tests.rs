//! Precedence, defaults and refusals, in an environment made for each case.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;

use super::environment::Environment;
use super::settings::Login;
use super::target::Target;
use crate::Result;

/// A home directory with files, variables and psql's options.
struct TestHome {
    home: TempDir,
    variables: HashMap<&'static str, String>,
    login: Login,
}

impl TestHome {
    fn new(variables: &[(&'static str, &str)]) -> Self {
        let mut variables: HashMap<_, _> =
            variables.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let home = tempfile::tempdir().unwrap();
        // Otherwise the tests would read a service file of the machine.
        let system = home.path().join("system").to_str().unwrap().to_owned();
        variables.entry("PGSYSCONFDIR").or_insert(system);
        Self { home, variables, login: Login::default() }
    }

    fn file(self, name: &str, text: &str) -> Self {
        let path = self.home.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        self
    }

    fn path(&self, name: &str) -> &'static Path {
        Box::leak(self.home.path().join(name).into_boxed_path())
    }

    fn resolve(&self, conninfo: Option<&str>) -> Result<Option<Target>> {
        let variable = |name: &str| self.variables.get(name).map(OsString::from);
        let env = Environment {
            variable: &variable,
            home: Some(self.home.path().to_owned()),
            user: Some("osuser".to_owned()),
            reads: |_| false,
            socket_directories: vec![self.home.path().join("run")],
        };
        Target::resolve_in(conninfo, &self.login, &env)
    }

    fn target(&self, conninfo: Option<&str>) -> Target {
        self.resolve(conninfo).unwrap().unwrap()
    }

    fn refusal(&self, conninfo: &str) -> String {
        self.resolve(Some(conninfo)).expect_err("must be refused").to_string()
    }
}

fn passwords(target: &Target) -> Vec<Option<&str>> {
    target.endpoints().iter().map(|endpoint| endpoint.password.as_deref()).collect()
}

#[test]
fn empty_settings_are_no_target() {
    assert!(TestHome::new(&[]).resolve(None).unwrap().is_none());
    let aside = [("PGSSLMODE", "require"), ("PGPASSWORD", "x"), ("PGHOST", "")];
    assert!(TestHome::new(&aside).resolve(None).unwrap().is_none());
}

#[test]
fn each_place_variable_alone_is_a_target() {
    let cases = [
        ("PGHOST", "h", "database \"osuser\" as user \"osuser\" at host \"h\", port 5432"),
        (
            "PGHOSTADDR",
            "::1",
            "database \"osuser\" as user \"osuser\" at address \"::1\", port 5432",
        ),
        ("PGPORT", "7", "database \"osuser\" as user \"osuser\" at host \"localhost\", port 7"),
        ("PGUSER", "u", "database \"u\" as user \"u\" at host \"localhost\", port 5432"),
        ("PGDATABASE", "d", "database \"d\" as user \"osuser\" at host \"localhost\", port 5432"),
        (
            "DATABASE_URL",
            "postgres://u@h/d",
            "database \"d\" as user \"u\" at host \"h\", port 5432",
        ),
    ];
    for (name, value, expected) in cases {
        let target = TestHome::new(&[(name, value)]).target(None);
        assert_eq!(target.to_string(), expected);
    }
}

#[test]
fn string_then_service_then_variables_then_defaults() {
    let here = TestHome::new(&[
        ("PGUSER", "env"),
        ("PGPORT", "3"),
        ("PGDATABASE", "env"),
        ("PGHOST", "env"),
        ("PGAPPNAME", "env"),
    ])
    .file(".pg_service.conf", "[s]\nhost=service\nport=2\nuser=service\n");
    let target = here.target(Some("service=s user=string"));
    assert_eq!(
        target.to_string(),
        "database \"env\" as user \"string\" at host \"service\", port 2"
    );
    assert_eq!(target.config().get_application_name(), Some("env"));
    assert_eq!(
        TestHome::new(&[]).target(Some("d")).config().get_application_name(),
        Some("pgsluice")
    );
}

#[test]
fn options_yield_to_the_string_and_nothing_else() {
    let here = TestHome::new(&[("PGUSER", "env"), ("PGPORT", "3"), ("PGPASSWORD", "env")])
        .file(".pg_service.conf", "[s]\nhost=service\nport=2\n");
    let given = |text: &str| Some(text.to_owned());
    let login = Login {
        host: given("opt"),
        port: given("4"),
        user: given("opt"),
        password: given("typed"),
    };
    let here = TestHome { login, ..here };
    for (conninfo, expected) in [
        (None, "database \"opt\" as user \"opt\" at host \"opt\", port 4"),
        (Some("d"), "database \"d\" as user \"opt\" at host \"opt\", port 4"),
        (Some("service=s"), "database \"opt\" as user \"opt\" at host \"opt\", port 4"),
        (Some("host=a user=b"), "database \"b\" as user \"b\" at host \"a\", port 4"),
        (Some("postgres://c@e:5/f"), "database \"f\" as user \"c\" at host \"e\", port 5"),
    ] {
        let target = here.target(conninfo);
        assert_eq!(target.to_string(), expected, "{conninfo:?}");
        assert_eq!(passwords(&target), [Some("typed")]);
    }
    let only = Login { port: given("6"), ..Login::default() };
    let url = TestHome::new(&[("DATABASE_URL", "postgres://url/url")]);
    let target = TestHome { login: only, ..url }.target(None);
    assert!(target.to_string().ends_with("port 6"), "{target}");
}

#[test]
fn database_url_yields_to_string_and_variables() {
    let url = ("DATABASE_URL", "postgres://url/url");
    assert!(TestHome::new(&[url]).target(Some("host=a")).to_string().contains("host \"a\""));
    let both = TestHome::new(&[url, ("PGDATABASE", "env")]).target(None);
    assert!(both.to_string().starts_with("database \"env\""), "{both}");
    let password = TestHome::new(&[url, ("PGPASSWORD", "pw")]).target(None);
    assert_eq!(passwords(&password), [Some("pw")]);
    let other = TestHome::new(&[("DATABASE_URL", "mysql://u:secret@h/d")]);
    let error = other.resolve(None).unwrap_err().to_string();
    assert!(error.starts_with("DATABASE_URL is not a PostgreSQL URL\nHINT"), "{error}");
}

#[test]
fn service_files_are_searched_in_order() {
    let here = TestHome::new(&[("PGSERVICE", "s")]);
    assert_eq!(
        here.resolve(None).unwrap_err().to_string().lines().next(),
        Some("definition of service \"s\" not found")
    );
    let here = here.file("system/pg_service.conf", "[s]\nhost=system\n");
    assert!(here.target(None).to_string().contains("host \"system\""));
    let here = here.file(".pg_service.conf", "[s]\nhost=home\n");
    assert!(here.target(None).to_string().contains("host \"home\""));
    let mut here = here.file("own", "[s]\nhost=own\n");
    here.variables.insert("PGSERVICEFILE", here.path("own").to_str().unwrap().to_owned());
    assert!(here.target(None).to_string().contains("host \"own\""));
    here.variables.insert("PGSERVICEFILE", "/nonexistent".to_owned());
    let error = here.resolve(None).unwrap_err().to_string();
    assert!(error.starts_with("service file \"/nonexistent\" not found"), "{error}");
}

#[test]
fn password_file_is_asked_for_each_host() {
    let here = TestHome::new(&[]).file(".pgpass", "a:1:d:u:first\nb:*:*:u:second\n");
    let target = here.target(Some("host=a,b,c port=1 user=u dbname=d"));
    assert_eq!(passwords(&target), [Some("first"), Some("second"), None]);
    let given = here.target(Some("host=a,b port=1 user=u dbname=d password=own"));
    assert_eq!(passwords(&given), [Some("own"), Some("own")]);
}

#[test]
fn password_file_that_others_can_read_is_ignored_with_a_warning() {
    let here = TestHome::new(&[]).file("pass", "*:*:*:*:x\n");
    let path = here.path("pass");
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
    let target = here.target(Some(&format!("host=a passfile={}", path.display())));
    assert_eq!(passwords(&target), [None]);
    assert!(target.warnings()[0].contains("has group or world access"), "{:?}", target.warnings());
}

#[test]
fn a_socket_is_taken_where_the_port_has_one() {
    let here = TestHome::new(&[]).file("run/.s.PGSQL.6000", "");
    let socket = here.path("run/.s.PGSQL.6000");
    let named = |port: &str| here.target(Some(&format!("port={port}"))).to_string();
    assert!(named("6000").ends_with(&format!("at socket \"{}\"", socket.display())));
    assert!(named("6001").ends_with("at host \"localhost\", port 6001"));
}

#[test]
fn lists_of_hosts_and_ports_pair_up() {
    let here = TestHome::new(&[]);
    let at = |conninfo: &str| here.target(Some(conninfo)).to_string();
    assert!(at("host=a,b port=1,2").ends_with("host \"a\", port 1 or host \"b\", port 2"));
    assert!(at("host=a,b port=3").ends_with("host \"a\", port 3 or host \"b\", port 3"));
    assert!(at("postgres://a,b:9/d").ends_with("host \"a\", port 5432 or host \"b\", port 9"));
    assert!(
        at("host=a,b hostaddr=::1,::2").ends_with("host \"a\", port 5432 or host \"b\", port 5432")
    );
}

#[test]
fn refusals_name_the_option() {
    let here = TestHome::new(&[]);
    let cases = [
        ("host=a,b port=1,2,3", "could not match 3 port numbers to 2 hosts"),
        ("host=a,b hostaddr=::1", "could not match 2 host names to 1 hostaddr values"),
        ("port=0", "invalid port number: \"0\""),
        ("port=65536", "invalid port number: \"65536\""),
        ("hostaddr=localhost", "could not parse network address \"localhost\""),
        ("sslmode=maybe", "invalid sslmode value: \"maybe\""),
        (
            "connect_timeout=soon",
            "invalid integer value \"soon\" for connection option \"connect_timeout\"",
        ),
        ("client_encoding=LATIN1", "client_encoding \"LATIN1\" is not supported"),
        ("gssencmode=require", "connection option \"gssencmode\" cannot be \"require\" here"),
        ("requirepeer=postgres", "connection option \"requirepeer\" is not supported"),
        ("sslcrldir=/x", "connection option \"sslcrldir\" is not supported"),
        (
            "sslmode=require sslrootcert=system",
            "weak sslmode \"require\" may not be used with sslrootcert=system (use \"verify-full\")",
        ),
        (
            "sslnegotiation=direct",
            "weak sslmode \"prefer\" may not be used with sslnegotiation=direct (use \"require\", \"verify-ca\", or \"verify-full\")",
        ),
        ("host=@abstract", "abstract Unix-domain socket address \"@abstract\" is not supported"),
        ("colour=red", "invalid connection option \"colour\""),
    ];
    for (conninfo, expected) in cases {
        assert_eq!(here.refusal(conninfo).lines().next(), Some(expected));
    }
    for harmless in ["gssencmode=prefer", "krbsrvname=pg", "client_encoding=utf-8", "sslcrldir=''"]
    {
        here.target(Some(harmless));
    }
}

#[test]
fn zone_and_date_style_become_startup_options() {
    let here = TestHome::new(&[
        ("PGOPTIONS", "-c work_mem=1MB"),
        ("PGTZ", "America/New York"),
        ("PGDATESTYLE", "ISO, DMY"),
    ]);
    assert_eq!(
        here.target(Some("host=a")).config().get_options(),
        Some(r"-c work_mem=1MB -c datestyle=ISO,\ DMY -c timezone=America/New\ York")
    );
    assert_eq!(TestHome::new(&[]).target(Some("host=a")).config().get_options(), None);
}

#[test]
fn sslrootcert_system_verifies_fully_by_default() {
    let here = TestHome::new(&[]);
    let mode = |conninfo: &str| here.target(Some(conninfo)).tls().mode;
    assert_eq!(mode("sslrootcert=system"), crate::tls::Mode::VerifyFull);
    assert_eq!(mode("sslrootcert=x"), crate::tls::Mode::Prefer);
    assert_eq!(mode("requiressl=1"), crate::tls::Mode::Require);
}

#[test]
fn passwords_are_not_shown() {
    let here = TestHome::new(&[("PGPASSWORD", "hush")]);
    let target = here.target(Some("postgres://u:secret@h/d"));
    assert_eq!(passwords(&target), [Some("secret")]);
    assert!(!format!("{target} {target:?} {target:#?}").contains("secret"));
    assert!(!format!("{:?}", here.target(Some("host=a"))).contains("hush"));
}

#[test]
fn from_url_takes_nothing_from_elsewhere() {
    let target = Target::from_url("postgresql://u:p@/d?host=/srv/sockets&port=77").unwrap();
    assert_eq!(
        target.to_string(),
        "database \"d\" as user \"u\" at socket \"/srv/sockets/.s.PGSQL.77\""
    );
    assert_eq!(passwords(&target), [Some("p")]);
}
