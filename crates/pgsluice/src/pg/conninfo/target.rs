//! A resolved target: every option read, checked and in the form that connecting needs.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{ChannelBinding, SslNegotiation};

use super::endpoint::{self, Endpoint};
use super::environment::Environment;
use super::passfile::Passfile;
use super::settings::{Settings, usage};
use super::{gather, parse};
use crate::pg::tls::{self, Mode};
use crate::{Error, Result};

/// Where and how to connect; cheap to clone. It shows no password, not even in `Debug`.
#[derive(Clone)]
pub struct Target(Arc<Inner>);

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
}

/// Which of several servers will do: libpq's `target_session_attrs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pg) enum SessionAttrs {
    Any,
    ReadWrite,
    ReadOnly,
    Primary,
    Standby,
    PreferStandby,
}

impl Target {
    /// Resolves what `-d` takes (a URL, `key=value` pairs, a database name), service files, `PG*` and
    /// `DATABASE_URL`, with libpq's precedence and defaults. `None` if nothing says where to connect to.
    ///
    /// # Errors
    /// An option, value or file that libpq would refuse, or that cannot be honoured here, by name.
    pub fn resolve(conninfo: Option<&str>) -> Result<Option<Self>> {
        let variable = |name: &str| std::env::var_os(name);
        Self::resolve_in(conninfo, &Environment::of_process(&variable))
    }

    /// Reads a URL alone: neither variables nor files change or complete it.
    ///
    /// # Errors
    /// As [`Target::resolve`].
    pub fn from_url(url: &str) -> Result<Self> {
        let none = |_: &str| None;
        let env = Environment { home: None, ..Environment::of_process(&none) };
        let settings = parse::parse(url)?;
        settings.check()?;
        Self::build(&settings, &env)
    }

    pub(super) fn resolve_in(conninfo: Option<&str>, env: &Environment) -> Result<Option<Self>> {
        gather(conninfo, env)?.map(|settings| Self::build(&settings, env)).transpose()
    }

    fn build(settings: &Settings, env: &Environment) -> Result<Self> {
        check_encoding(settings)?;
        let user = settings.get("user").map(str::to_owned).or_else(|| env.user.clone());
        let user = user.ok_or_else(|| {
            usage("could not look up the operating-system user's name").hint("Set PGUSER.")
        })?;
        let database = settings.get("dbname").unwrap_or(&user).to_owned();
        let mut endpoints = endpoint::list(settings, env)?;
        let warnings = give_passwords(&mut endpoints, settings, env, &database, &user);
        let timeout = seconds(settings, "connect_timeout")?;
        Ok(Self(Arc::new(Inner {
            config: base_config(settings, env, &user, &database)?,
            user,
            database,
            endpoints,
            shuffle: settings
                .choice("load_balance_hosts", &[("disable", false), ("random", true)])?,
            session: settings.choice("target_session_attrs", SESSION_ATTRS)?,
            timeout,
            tls: tls_settings(settings, env)?,
            warnings,
        })))
    }

    /// The user to log in as.
    pub fn user(&self) -> &str {
        &self.0.user
    }

    /// The database to connect to.
    pub fn database(&self) -> &str {
        &self.0.database
    }

    /// What was ignored on the way here and why, as of a password file that others can read.
    pub fn warnings(&self) -> &[String] {
        &self.0.warnings
    }

    pub(in crate::pg) fn config(&self) -> &Config {
        &self.0.config
    }

    pub(in crate::pg) fn endpoints(&self) -> &[Endpoint] {
        &self.0.endpoints
    }

    pub(in crate::pg) fn shuffle(&self) -> bool {
        self.0.shuffle
    }

    pub(in crate::pg) fn session(&self) -> SessionAttrs {
        self.0.session
    }

    pub(in crate::pg) fn timeout(&self) -> Option<Duration> {
        self.0.timeout
    }

    pub(in crate::pg) fn tls(&self) -> &tls::Settings {
        &self.0.tls
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "database \"{}\" as user \"{}\" at ", self.0.database, self.0.user)?;
        for (i, endpoint) in self.0.endpoints.iter().enumerate() {
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

/// Text comes from and goes to the server as UTF-8 only, so that bytes pass through unchanged.
fn check_encoding(settings: &Settings) -> Result<()> {
    let Some(encoding) = settings.get("client_encoding") else { return Ok(()) };
    let letters = encoding.chars().filter(char::is_ascii_alphanumeric);
    let name = letters.collect::<String>().to_ascii_lowercase();
    if ["utf8", "unicode", "auto"].contains(&name.as_str()) {
        return Ok(());
    }
    Err(usage(format!("client_encoding \"{encoding}\" is not supported"))
        .hint("Set it to UTF8, or unset PGCLIENTENCODING, and give the input in UTF-8."))
}

/// Returns the warning about a password file that must not be used.
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

fn base_config(
    settings: &Settings,
    env: &Environment,
    user: &str,
    database: &str,
) -> Result<Config> {
    let mut config = Config::new();
    config.user(user).dbname(database);
    let name = settings.get("application_name").or(settings.get("fallback_application_name"));
    config.application_name(name.unwrap_or("pgsluice"));
    if let Some(options) = startup_options(settings, env)? {
        config.options(options);
    }
    config.channel_binding(settings.choice(
        "channel_binding",
        &[
            ("prefer", ChannelBinding::Prefer),
            ("disable", ChannelBinding::Disable),
            ("require", ChannelBinding::Require),
        ],
    )?);
    set_keepalives(&mut config, settings)?;
    Ok(config)
}

/// libpq sends these variables as settings of their own; here they follow the options, so they win too.
fn startup_options(settings: &Settings, env: &Environment) -> Result<Option<String>> {
    let mut options: Vec<String> =
        settings.get("options").iter().map(ToString::to_string).collect();
    for (variable, setting) in
        [("PGDATESTYLE", "datestyle"), ("PGTZ", "timezone"), ("PGGEQO", "geqo")]
    {
        match env.get(variable)? {
            Some(value) if !value.eq_ignore_ascii_case("default") => {
                options.push(format!("-c {setting}={}", escape_option(&value)));
            }
            _ => {}
        }
    }
    Ok(Some(options.join(" ")).filter(|options| !options.is_empty()))
}

fn escape_option(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for c in value.chars() {
        if c == '\\' || c.is_ascii_whitespace() {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

fn set_keepalives(config: &mut Config, settings: &Settings) -> Result<()> {
    config.keepalives(settings.integer("keepalives")?.unwrap_or(1) != 0);
    if let Some(idle) = seconds(settings, "keepalives_idle")? {
        config.keepalives_idle(idle);
    }
    if let Some(interval) = seconds(settings, "keepalives_interval")? {
        config.keepalives_interval(interval);
    }
    if let Some(count) = positive(settings, "keepalives_count")? {
        config.keepalives_retries(count);
    }
    if let Some(millis) = positive(settings, "tcp_user_timeout")? {
        config.tcp_user_timeout(Duration::from_millis(millis.into()));
    }
    Ok(())
}

/// A number that asks for something: zero and less leave the default.
fn positive(settings: &Settings, name: &str) -> Result<Option<u32>> {
    let value = settings.integer(name)?.filter(|value| *value > 0);
    Ok(value.map(i32::unsigned_abs))
}

fn seconds(settings: &Settings, name: &str) -> Result<Option<Duration>> {
    Ok(positive(settings, name)?.map(|value| Duration::from_secs(value.into())))
}

fn tls_settings(settings: &Settings, env: &Environment) -> Result<tls::Settings> {
    let file = |option: &str, default: &str| {
        settings.get(option).map(Into::into).or_else(|| env.own_file(default))
    };
    let from_system = settings.get("sslrootcert") == Some("system");
    let mode = match settings.get("sslmode") {
        None if from_system => Mode::VerifyFull,
        _ => settings.choice("sslmode", MODES)?,
    };
    let negotiation = settings.choice(
        "sslnegotiation",
        &[("postgres", SslNegotiation::Postgres), ("direct", SslNegotiation::Direct)],
    )?;
    if from_system && mode != Mode::VerifyFull {
        return Err(weak(mode, "sslrootcert=system (use \"verify-full\")"));
    }
    if negotiation == SslNegotiation::Direct && mode < Mode::Require {
        let remedy = "sslnegotiation=direct (use \"require\", \"verify-ca\", or \"verify-full\")";
        return Err(weak(mode, remedy));
    }
    let sends_certificate =
        settings.choice("sslcertmode", &[("allow", true), ("disable", false)])?;
    Ok(tls::Settings {
        mode,
        negotiation,
        root: if from_system {
            tls::Root::System
        } else {
            file("sslrootcert", "root.crt").map_or(tls::Root::Unknown, tls::Root::File)
        },
        certificate: file("sslcert", "postgresql.crt").filter(|_| sends_certificate),
        key: file("sslkey", "postgresql.key"),
        revoked: file("sslcrl", "root.crl"),
        names_server: settings.choice("sslsni", &[("1", true), ("0", false)])?,
        versions: tls::versions(
            settings.get("ssl_min_protocol_version"),
            settings.get("ssl_max_protocol_version"),
        )?,
    })
}

const MODES: &[(&str, Mode)] = &[
    ("prefer", Mode::Prefer),
    ("disable", Mode::Disable),
    ("allow", Mode::Allow),
    ("require", Mode::Require),
    ("verify-ca", Mode::VerifyCa),
    ("verify-full", Mode::VerifyFull),
];

fn weak(mode: Mode, with: &str) -> Error {
    let name = MODES.iter().find(|(_, known)| *known == mode).map_or("", |(name, _)| name);
    usage(format!("weak sslmode \"{name}\" may not be used with {with}"))
}
