//! The reason why a connection attempt failed, in libpq's words, with the next step.
//!
//! Source: `connectFailureMessage` and `emitHostIdentityInfo` in
//! `src/interfaces/libpq/fe-connect.c`, 18.

use std::error::Error as _;
use std::{fmt, io};

use rustls::CertificateError;
use tokio_postgres::error::DbError;

use crate::error::policy::{self, Policy};
use crate::error::{chain, plain_io};
use crate::{Error, Kind};

/// One failed attempt.
#[derive(Debug)]
pub(crate) struct FailedAttempt {
    text: String,
    sqlstate: Option<String>,
    detail: Option<String>,
    hint: Option<String>,
    /// Whether to try the next host of the list: not after a server has refused.
    pub(crate) moves_on: bool,
    /// Whether the failure may pass, though no server says so.
    passes: bool,
    /// Whether the server asked for a password, and none was given.
    lacks_password: bool,
}

impl FailedAttempt {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            sqlstate: None,
            detail: None,
            hint: None,
            moves_on: false,
            passes: false,
            lacks_password: false,
        }
    }

    /// Creates the failure of a login without the password that the server asks for.
    pub(crate) fn without_password() -> Self {
        Self { lacks_password: true, ..Self::new("no password supplied") }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into()).filter(|hint| !hint.is_empty());
        self
    }

    pub(crate) fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    pub(crate) fn moving_on(mut self) -> Self {
        self.moves_on = true;
        self.passing()
    }

    pub(crate) fn passing(mut self) -> Self {
        self.passes = true;
        self
    }

    /// Adds the server to the message.
    pub(crate) fn at(mut self, server: &str) -> Self {
        self.text = format!("connection to server {server} failed: {}", self.text);
        self
    }

    /// Whether the server itself refused.
    pub(crate) fn is_from_server(&self) -> bool {
        self.sqlstate.is_some()
    }

    /// Whether the failure may pass after a while.
    pub(crate) fn may_pass(&self) -> bool {
        self.sqlstate
            .as_deref()
            .map_or(self.passes, |code| policy::for_sqlstate(code) == Policy::Wait)
    }

    pub(crate) fn has_hint(&self) -> bool {
        self.hint.is_some()
    }

    pub(crate) fn has_code(&self, code: &str) -> bool {
        self.sqlstate.as_deref() == Some(code)
    }

    /// Combines this failure and the later ones into one error, whose message is this one's.
    pub(crate) fn into_error(self, later: Vec<FailedAttempt>) -> Error {
        let mut error = Error::new(Kind::Connection, &*self.text);
        if let Some(code) = self.sqlstate {
            error = error.with_sqlstate(code);
        }
        if let Some(detail) = self.detail {
            error = error.with_detail(detail);
        }
        if let Some(hint) = &self.hint {
            error = error.with_hint(hint);
        }
        if self.lacks_password || later.iter().any(|other| other.lacks_password) {
            error = error.lacking_password();
        }
        for other in later {
            if other.text != self.text {
                error = error.with_detail(other.text);
            }
            if let Some(hint) = other.hint.filter(|hint| Some(hint) != self.hint.as_ref()) {
                error = error.with_hint(hint);
            }
        }
        error
    }

    /// Creates the failure from the server's refusal.
    pub(crate) fn from_server(error: &DbError) -> Self {
        let mut failure = Self::new(format!("{}:  {}", error.severity(), error.message()));
        let code = error.code().code();
        failure.sqlstate = Some(code.to_owned());
        failure.detail = error.detail().map(str::to_owned);
        failure.hint = error.hint().or(next_step(code)).map(str::to_owned);
        // The server is starting, stopping or recovering; another one may be up.
        failure.moves_on = code == "57P03";
        failure
    }

    /// Creates the failure of a session that ended, or was refused, before it was used.
    pub(crate) fn from_session(error: &tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            Some(refusal) => Self::from_server(refusal),
            None if error.is_closed() => {
                Self::new("server closed the connection unexpectedly").passing()
            }
            None => Self::new(chain(error)).passing(),
        }
    }

    /// Creates the failure of a network error or a missing answer; the caller adds the hint.
    pub(crate) fn from_network(error: &io::Error) -> Self {
        Self::new(plain_io(error)).moving_on()
    }

    /// Creates the failure of a TLS handshake.
    pub(crate) fn from_tls(error: &tokio_postgres::Error) -> Self {
        let io = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
        let cause = io.and_then(|io| io.get_ref()).and_then(|e| e.downcast_ref::<rustls::Error>());
        match (cause, io) {
            (Some(rustls::Error::InvalidCertificate(why)), _) => Self::from_certificate(why),
            (Some(other), _) => Self::new(format!("SSL error: {other}")),
            (None, Some(io)) => Self::new(format!("SSL error: {}", plain_io(io))),
            (None, None) => Self::new(format!("SSL error: {}", chain(error))),
        }
    }

    /// Creates the failure for a certificate that rustls, webpki or our own verifier rejected.
    pub(crate) fn from_certificate(why: &CertificateError) -> Self {
        use CertificateError::{
            Expired, ExpiredContext, NotValidYet, NotValidYetContext, Other, Revoked,
            UnknownIssuer, UnknownRevocationStatus,
        };
        let (reason, hint) = match why {
            Other(other) => match other.0.downcast_ref::<Refusal>() {
                Some(refusal) => return Self::new(&refusal.text).with_hint(refusal.hint),
                None => (other.to_string(), ""),
            },
            UnknownIssuer => (
                "unknown issuer".to_owned(),
                "Set sslrootcert to the certificate of the authority that signed the server's \
                 certificate.",
            ),
            Expired | ExpiredContext { .. } => ("certificate has expired".to_owned(), ""),
            NotValidYet | NotValidYetContext { .. } => {
                ("certificate is not yet valid".to_owned(), "Check the clocks of both machines.")
            }
            Revoked => ("certificate revoked".to_owned(), ""),
            UnknownRevocationStatus => (
                "unable to get certificate CRL".to_owned(),
                "The file that sslcrl names must contain a revocation list for each authority in \
                 the chain.",
            ),
            other => (other.to_string(), ""),
        };
        Self::new(format!("SSL error: certificate verify failed: {reason}")).with_hint(hint)
    }
}

fn next_step(code: &str) -> Option<&'static str> {
    Some(match code {
        "28P01" => {
            "Check the user name, and supply the password in PGPASSWORD or ~/.pgpass, or use -W to \
             be prompted for it."
        }
        "28000" => {
            "Check the user name (user=, PGUSER) and sslmode; the server's pg_hba.conf controls \
             who may connect from where."
        }
        "3D000" => "List the databases of the server with psql -l, or create one with createdb.",
        "42501" => "Ask for the CONNECT privilege on the database, or log in as another user.",
        "53300" => "Use fewer connections (-j), or try again when other sessions have ended.",
        "57P03" => "Try again in a moment.",
        _ => return None,
    })
}

/// A refusal of a certificate in libpq's words, carried through rustls.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) text: String,
    /// The next step, or "".
    pub(crate) hint: &'static str,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Refusal {}
