//! The connection options of libpq 18, as data: name, variable, and how pgsluice treats each.
//!
//! Source: `PQconninfoOptions` in PostgreSQL's `src/interfaces/libpq/fe-connect.c`, version 18.

use crate::{Error, Kind, Result};

/// One connection option.
pub(super) struct Keyword {
    /// The name in conninfo strings, URLs and service files.
    pub(super) name: &'static str,
    /// The environment variable that supplies it, or "".
    pub(super) variable: &'static str,
    treatment: Treatment,
}

enum Treatment {
    /// Read and obeyed.
    Honoured,
    /// Makes no difference here.
    Harmless,
    /// Cannot be obeyed: only these values, which change nothing, are accepted.
    Only(&'static [&'static str]),
}

use Treatment::{Harmless, Honoured, Only};

const fn keyword(name: &'static str, variable: &'static str, treatment: Treatment) -> Keyword {
    Keyword { name, variable, treatment }
}

pub(super) const KEYWORDS: &[Keyword] = &[
    keyword("application_name", "PGAPPNAME", Honoured),
    keyword("authtype", "", Harmless),
    keyword("channel_binding", "PGCHANNELBINDING", Honoured),
    keyword("client_encoding", "PGCLIENTENCODING", Honoured),
    keyword("connect_timeout", "PGCONNECT_TIMEOUT", Honoured),
    keyword("dbname", "PGDATABASE", Honoured),
    keyword("fallback_application_name", "", Honoured),
    keyword("gssdelegation", "PGGSSDELEGATION", Harmless),
    keyword("gssencmode", "PGGSSENCMODE", Only(&["disable", "prefer"])),
    keyword("gsslib", "PGGSSLIB", Harmless),
    keyword("host", "PGHOST", Honoured),
    keyword("hostaddr", "PGHOSTADDR", Honoured),
    keyword("keepalives", "", Honoured),
    keyword("keepalives_count", "", Honoured),
    keyword("keepalives_idle", "", Honoured),
    keyword("keepalives_interval", "", Honoured),
    // A server that asks for GSSAPI is refused when it asks, whatever the service's name.
    keyword("krbsrvname", "PGKRBSRVNAME", Harmless),
    keyword("load_balance_hosts", "PGLOADBALANCEHOSTS", Honoured),
    // pgsluice speaks protocol 3.0, the lowest that can be named.
    keyword("max_protocol_version", "PGMAXPROTOCOLVERSION", Harmless),
    keyword("min_protocol_version", "PGMINPROTOCOLVERSION", Only(&["3.0"])),
    keyword("oauth_client_id", "", Only(&[])),
    keyword("oauth_client_secret", "", Only(&[])),
    keyword("oauth_issuer", "", Only(&[])),
    keyword("oauth_scope", "", Only(&[])),
    keyword("options", "PGOPTIONS", Honoured),
    keyword("passfile", "PGPASSFILE", Honoured),
    keyword("password", "PGPASSWORD", Honoured),
    keyword("port", "PGPORT", Honoured),
    keyword("replication", "", Only(&["0", "false", "no", "off"])),
    keyword("require_auth", "PGREQUIREAUTH", Only(&[])),
    keyword("requirepeer", "PGREQUIREPEER", Only(&[])),
    keyword("scram_client_key", "", Only(&[])),
    keyword("scram_server_key", "", Only(&[])),
    keyword("service", "PGSERVICE", Honoured),
    keyword("servicefile", "PGSERVICEFILE", Honoured),
    keyword("ssl_max_protocol_version", "PGSSLMAXPROTOCOLVERSION", Honoured),
    keyword("ssl_min_protocol_version", "PGSSLMINPROTOCOLVERSION", Honoured),
    keyword("sslcert", "PGSSLCERT", Honoured),
    keyword("sslcertmode", "PGSSLCERTMODE", Honoured),
    // No TLS library in use today compresses, libpq's included.
    keyword("sslcompression", "PGSSLCOMPRESSION", Harmless),
    keyword("sslcrl", "PGSSLCRL", Honoured),
    keyword("sslcrldir", "PGSSLCRLDIR", Only(&[])),
    keyword("sslkey", "PGSSLKEY", Honoured),
    keyword("sslkeylogfile", "", Only(&[])),
    keyword("sslmode", "PGSSLMODE", Honoured),
    keyword("sslnegotiation", "PGSSLNEGOTIATION", Honoured),
    // Only an encrypted key needs it, and an encrypted key is rejected by name.
    keyword("sslpassword", "", Harmless),
    keyword("sslrootcert", "PGSSLROOTCERT", Honoured),
    keyword("sslsni", "PGSSLSNI", Honoured),
    keyword("target_session_attrs", "PGTARGETSESSIONATTRS", Honoured),
    keyword("tcp_user_timeout", "", Honoured),
    keyword("tty", "", Harmless),
    keyword("user", "PGUSER", Honoured),
];

/// Returns the option of that name, if libpq has it.
pub(super) fn find(name: &str) -> Option<&'static Keyword> {
    KEYWORDS.iter().find(|keyword| keyword.name == name)
}

impl Keyword {
    /// Whether its value must never be shown.
    pub(super) fn is_secret(&self) -> bool {
        matches!(
            self.name,
            "password"
                | "sslpassword"
                | "scram_client_key"
                | "scram_server_key"
                | "oauth_client_secret"
        )
    }

    /// Rejects a value that asks for something pgsluice cannot do.
    pub(super) fn check(&self, value: &str) -> Result<()> {
        let Only(accepted) = self.treatment else { return Ok(()) };
        if value.is_empty() || accepted.contains(&value) {
            return Ok(());
        }
        let what = if accepted.is_empty() || self.is_secret() {
            format!("connection option \"{}\" is not supported", self.name)
        } else {
            format!("connection option \"{}\" cannot be \"{value}\" here", self.name)
        };
        let mut step = "Remove it from the connection string or the service file".to_owned();
        if !self.variable.is_empty() {
            step.push_str(&format!(", or unset {}", self.variable));
        }
        Err(Error::new(Kind::Usage, what).with_hint(step + "."))
    }
}
