//! A resolved target: every option read, checked and converted for connecting.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio_postgres::Config;

use super::endpoint::{self, Endpoint};
use super::environment::Environment;
use super::liveness::Liveness;
use super::passfile::Passfile;
use super::settings::{Login, Settings, usage};
use super::{config, gather, parse, sslmode};
use crate::error::{CommandChange, Remedy, Words, option};
use crate::tls;
use crate::{Error, Result};

/// A server to connect to and the way to connect; cheap to clone. It shows no password, not even in `Debug`.
#[derive(Clone)]
pub struct Target {
    inner: Arc<Inner>,
    patience: Duration,
}

struct Inner {
    config: Config,
    user: String,
    database: String,
    endpoints: Vec<Endpoint>,
    shuffle: bool,
    session: SessionAttrs,
    timeout: Option<Duration>,
    tls: tls::Settings,
    warnings: Vec<String>,
    pool: OnceLock<Option<Error>>,
    liveness: Liveness,
}

/// The acceptable kinds of server: libpq's `target_session_attrs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionAttrs {
    Any,
    ReadWrite,
    ReadOnly,
    Primary,
    Standby,
    PreferStandby,
}

impl Target {
    /// Resolves the argument of `-d` (a URL, `key=value` pairs, or a database name), psql's other options,
    /// service files, `PG*` and `DATABASE_URL`, with libpq's precedence and defaults. Returns `None` if nothing
    /// says where to connect to.
    ///
    /// `reads` says whether the caller's `--encoding` accepts the encoding of this name, for the hint about a
    /// `PGCLIENTENCODING` that is not UTF-8.
    ///
    /// # Errors
    /// Fails, naming the option, value or file, if libpq would reject it or pgsluice does not support it.
    pub fn resolve(
        conninfo: Option<&str>,
        login: &Login,
        reads: fn(&str) -> bool,
    ) -> Result<Option<Self>> {
        let variable = |name: &str| std::env::var_os(name);
        Self::resolve_in(conninfo, login, &Environment::from_process(&variable, reads))
    }

    /// Reads only a URL: neither variables nor files change or complete it.
    ///
    /// # Errors
    /// Fails like [`Target::resolve`].
    pub fn from_url(url: &str) -> Result<Self> {
        let none = |_: &str| None;
        let env = Environment { home: None, ..Environment::from_process(&none, |_| false) };
        let settings = parse::parse(url)?;
        settings.check()?;
        Self::build(&settings, &env)
    }

    pub(super) fn resolve_in(
        conninfo: Option<&str>,
        login: &Login,
        env: &Environment,
    ) -> Result<Option<Self>> {
        gather(conninfo, login, env)?.map(|settings| Self::build(&settings, env)).transpose()
    }

    fn build(settings: &Settings, env: &Environment) -> Result<Self> {
        check_encoding(settings, env)?;
        let user = settings.get("user").map(str::to_owned).or_else(|| env.user.clone());
        let user = user.ok_or_else(|| {
            usage("could not look up the operating-system user's name").with_hint("Set PGUSER.")
        })?;
        let database = settings.get("dbname").unwrap_or(&user).to_owned();
        let mut endpoints = endpoint::list(settings, env)?;
        let warnings = give_passwords(&mut endpoints, settings, env, &database, &user);
        let timeout = settings.seconds("connect_timeout")?;
        let liveness = Liveness::read(settings)?;
        let inner = Inner {
            config: config::base(settings, env, &user, &database, &liveness)?,
            liveness,
            user,
            database,
            endpoints,
            shuffle: settings
                .choice("load_balance_hosts", &[("disable", false), ("random", true)])?,
            session: settings.choice("target_session_attrs", SESSION_ATTRS)?,
            timeout,
            tls: sslmode::read(settings, env)?,
            warnings,
            pool: OnceLock::new(),
        };
        Ok(Self { inner: Arc::new(inner), patience: Duration::ZERO })
    }

    /// Returns the target with `patience`: how long to retry while the server is unreachable, is starting, or
    /// has no connection left.
    #[must_use]
    pub fn waiting(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Returns the user to log in as.
    pub fn user(&self) -> &str {
        &self.inner.user
    }

    /// Returns the database to connect to.
    pub fn database(&self) -> &str {
        &self.inner.database
    }

    /// Returns warnings about ignored sources, such as a password file that others can read.
    pub fn warnings(&self) -> &[String] {
        &self.inner.warnings
    }

    pub(crate) fn config(&self) -> &Config {
        &self.inner.config
    }

    pub(crate) fn endpoints(&self) -> &[Endpoint] {
        &self.inner.endpoints
    }

    pub(crate) fn shuffle(&self) -> bool {
        self.inner.shuffle
    }

    pub(crate) fn session(&self) -> SessionAttrs {
        self.inner.session
    }

    /// Returns how long an unreachable server is retried.
    pub fn patience(&self) -> Duration {
        self.patience
    }

    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.inner.timeout
    }

    /// Returns how soon either side notices that the other is gone.
    pub(crate) fn liveness(&self) -> &Liveness {
        &self.inner.liveness
    }

    /// Returns the cell for the error of a pool that cannot be used, set once the pool was probed.
    pub(crate) fn pool(&self) -> &OnceLock<Option<Error>> {
        &self.inner.pool
    }

    pub(crate) fn tls(&self) -> &tls::Settings {
        &self.inner.tls
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "database \"{}\" as user \"{}\" at ", self.inner.database, self.inner.user)?;
        for (i, endpoint) in self.inner.endpoints.iter().enumerate() {
            write!(f, "{}{endpoint}", if i == 0 { "" } else { " or " })?;
        }
        Ok(())
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({self})")
    }
}

const SESSION_ATTRS: &[(&str, SessionAttrs)] = &[
    ("any", SessionAttrs::Any),
    ("read-write", SessionAttrs::ReadWrite),
    ("read-only", SessionAttrs::ReadOnly),
    ("primary", SessionAttrs::Primary),
    ("standby", SessionAttrs::Standby),
    ("prefer-standby", SessionAttrs::PreferStandby),
];

/// Checks the encoding: text is exchanged with the server only as UTF-8, so that bytes pass through unchanged.
fn check_encoding(settings: &Settings, env: &Environment<'_>) -> Result<()> {
    let Some(encoding) = settings.get("client_encoding") else { return Ok(()) };
    let letters = encoding.chars().filter(char::is_ascii_alphanumeric);
    let name = letters.collect::<String>().to_ascii_lowercase();
    if ["utf8", "unicode", "auto"].contains(&name.as_str()) {
        return Ok(());
    }
    let error = usage(format!("client_encoding \"{encoding}\" is not supported"))
        .with_detail("Use " + option("encoding") + " to specify the encoding of the input.");
    let variable = "PGCLIENTENCODING";
    let is_of_variable = (env.variable)(variable).is_some_and(|value| value == encoding);
    let options = match (env.reads)(encoding) {
        true => vec![option("encoding").with(encoding.to_ascii_lowercase())],
        false => Vec::new(),
    };
    Err(match is_of_variable {
        true if !options.is_empty() => {
            let how = CommandChange::Variable(variable.to_owned(), "UTF8".to_owned(), options);
            error.with_remedy(Remedy { what: "If the input is in this encoding".into(), how })
        }
        _ => error.with_hint(
            Words::from(format!(
                "Set client_encoding to UTF8. If the input is in {encoding}, convert it with "
            )) + option("encoding")
                + " or iconv.",
        ),
    })
}

/// Fills in passwords. Returns the warning about a password file that must not be used.
fn give_passwords(
    endpoints: &mut [Endpoint],
    settings: &Settings,
    env: &Environment,
    database: &str,
    user: &str,
) -> Vec<String> {
    if let Some(password) = settings.get("password") {
        endpoints.iter_mut().for_each(|endpoint| endpoint.password = Some(password.to_owned()));
        return Vec::new();
    }
    let default = || env.home.as_ref().map(|home| home.join(".pgpass"));
    let Some(path) = settings.get("passfile").map(Into::into).or_else(default) else {
        return Vec::new();
    };
    match Passfile::open(&path) {
        Ok(None) => Vec::new(),
        Ok(Some(passfile)) => {
            for endpoint in endpoints {
                endpoint.find_password(&passfile, database, user);
            }
            Vec::new()
        }
        Err(warning) => vec![warning],
    }
}
