//! TLS like libpq's: the trusted and the sent certificates, read again for each connection.
//!
//! `verify` decides about the server's certificate, `names` about the names in it. This is separate from
//! connecting because it needs only files and certificates, no sockets.
//!
//! Source: `initialize_SSL` in `src/interfaces/libpq/fe-secure-openssl.c`, 18.

mod files;
mod names;
#[cfg(test)]
mod tests;
mod verify;

use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::{ClientConfig, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::CertificateDer;
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, SupportedProtocolVersion};
use tokio_postgres::config::SslNegotiation;

use crate::failure::FailedAttempt;
use crate::{Error, Kind, Result};
use verify::Verifier;

/// libpq's `sslmode`, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mode {
    Disable,
    Allow,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

/// The source of the trusted certificates.
pub(super) enum Root {
    /// The operating system's store.
    System,
    /// A PEM file, which need not exist unless the mode verifies.
    File(PathBuf),
    /// No file was named, and there is no home directory to search.
    Unknown,
}

/// All options about TLS.
pub(super) struct Settings {
    pub(super) mode: Mode,
    pub(super) negotiation: SslNegotiation,
    pub(super) root: Root,
    pub(super) certificate: Option<PathBuf>,
    pub(super) key: Option<PathBuf>,
    pub(super) revoked: Option<PathBuf>,
    /// Whether the host name is sent in the clear (SNI).
    pub(super) names_server: bool,
    pub(super) versions: Vec<&'static SupportedProtocolVersion>,
}

/// Returns the versions between two of libpq's names, as far as rustls supports them.
pub(super) fn versions(
    min: Option<&str>,
    max: Option<&str>,
) -> Result<Vec<&'static SupportedProtocolVersion>> {
    const NAMES: [&str; 4] = ["TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"];
    let level = |option: &str, name: Option<&str>, default: usize| match name {
        None => Ok(default),
        Some(name) => NAMES
            .iter()
            .position(|known| known.eq_ignore_ascii_case(name))
            .ok_or_else(|| Error::new(Kind::Usage, format!("invalid {option} value: \"{name}\""))),
    };
    let min = level("ssl_min_protocol_version", min, 2)?;
    let max = level("ssl_max_protocol_version", max, 3)?;
    let spoken = [(2, &TLS12), (3, &TLS13)];
    let versions: Vec<_> =
        spoken.into_iter().filter(|(v, _)| (min..=max).contains(v)).map(|(_, v)| v).collect();
    if versions.is_empty() {
        return Err(Error::new(Kind::Usage, "invalid SSL protocol version range")
            .with_hint("TLSv1.2 and TLSv1.3 are supported."));
    }
    Ok(versions)
}

/// Builds the configuration for one connection to `host`, the name as the user gave it.
pub(super) fn client_config(
    settings: &Settings,
    host: Option<&str>,
) -> Result<ClientConfig, FailedAttempt> {
    let provider = Arc::new(ring::default_provider());
    let verifier = build_verifier(settings, host, &provider)?;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&settings.versions)
        .map_err(|error| FailedAttempt::new(format!("could not set up TLS: {error}")))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = match client_certificate(settings)? {
        None => builder.with_no_client_auth(),
        Some((chain, key, path)) => builder.with_client_auth_cert(chain, key).map_err(|error| {
            let path = path.display();
            FailedAttempt::new(format!(
                "certificate does not match private key file \"{path}\": {error}"
            ))
        })?,
    };
    config.enable_sni = settings.names_server;
    // PostgreSQL 17 and later require it for direct negotiation; older servers ignore it.
    config.alpn_protocols = vec![b"postgresql".to_vec()];
    Ok(config)
}

fn build_verifier(
    settings: &Settings,
    host: Option<&str>,
    provider: &Arc<CryptoProvider>,
) -> Result<Verifier, FailedAttempt> {
    let algorithms = provider.signature_verification_algorithms;
    let Some(trusted) = trusted_certificates(settings)? else {
        return Ok(Verifier::trusting_any(algorithms));
    };
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(trusted.iter().cloned());
    let mut builder = WebPkiServerVerifier::builder_with_provider(store.into(), provider.clone());
    if let Some(path) = settings.revoked.as_ref().filter(|path| path.exists()) {
        builder = builder.with_crls(files::revocations(path)?).enforce_revocation_expiration();
    }
    let chain = builder.build().map_err(|error| {
        FailedAttempt::new(format!("could not use the root certificates: {error}"))
    })?;
    let host = match (settings.mode, host) {
        (Mode::VerifyFull, None) => {
            return Err(FailedAttempt::new(
                "host name must be specified for a verified SSL connection",
            )
            .with_hint("Give host as well as hostaddr, or use sslmode=verify-ca."));
        }
        (Mode::VerifyFull, host) => host.map(str::to_owned),
        _ => None,
    };
    Ok(Verifier::trusting(chain, trusted, host, algorithms))
}

/// Returns the trusted certificates, or `None` if the certificate is not verified. As in libpq, an existing root
/// file applies in every mode, and a missing one matters only to the modes that verify.
fn trusted_certificates(
    settings: &Settings,
) -> Result<Option<Vec<CertificateDer<'static>>>, FailedAttempt> {
    let verifies = settings.mode >= Mode::VerifyCa;
    match &settings.root {
        Root::System => files::system_certificates().map(Some),
        Root::File(path) if path.exists() => files::root_certificates(path).map(Some),
        _ if !verifies => Ok(None),
        Root::File(path) => Err(FailedAttempt::new(format!(
            "root certificate file \"{}\" does not exist",
            path.display()
        ))
        .with_hint(NO_ROOT)),
        Root::Unknown => {
            let text = "could not get home directory to locate root certificate file";
            Err(FailedAttempt::new(text).with_hint(NO_ROOT))
        }
    }
}

const NO_ROOT: &str = "Either provide the file, use the system's trusted roots with \
     sslrootcert=system, or change sslmode to disable server certificate verification.";

/// Reads the client certificate. As in libpq, a missing file is not an error, even if it was named.
fn client_certificate(settings: &Settings) -> Result<Option<files::Identity>, FailedAttempt> {
    match &settings.certificate {
        Some(certificate) if certificate.exists() => {
            files::identity(certificate, settings.key.as_deref()).map(Some)
        }
        _ => Ok(None),
    }
}
