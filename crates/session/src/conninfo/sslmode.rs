//! The options about TLS: `sslmode`, its forbidden combinations, and libpq's default files.

use tokio_postgres::config::SslNegotiation;

use super::environment::Environment;
use super::settings::{Settings, usage};
use crate::tls::{self, Mode};
use crate::{Error, Result};

/// Reads the options, and rejects combinations that libpq calls weak.
pub(super) fn read(settings: &Settings, env: &Environment) -> Result<tls::Settings> {
    let file = |option: &str, default: &str| {
        settings.get(option).map(Into::into).or_else(|| env.user_file(default))
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
