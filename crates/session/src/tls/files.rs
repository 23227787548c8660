//! Certificate, key and revocation files, with libpq's error messages.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};

use crate::failure::FailedAttempt;

/// A client certificate with its chain, its key, and the key's file for messages.
pub(super) type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>, PathBuf);

pub(super) fn root_certificates(
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, FailedAttempt> {
    read_all(path, "root certificate")
}

pub(super) fn revocations(
    path: &Path,
) -> Result<Vec<CertificateRevocationListDer<'static>>, FailedAttempt> {
    read_all(path, "certificate revocation list")
}

fn read_all<T: PemObject>(path: &Path, what: &str) -> Result<Vec<T>, FailedAttempt> {
    let complain = |why: String| {
        FailedAttempt::new(format!("could not read {what} file \"{}\": {why}", path.display()))
    };
    let items = T::pem_file_iter(path).map_err(|error| complain(error.to_string()))?;
    let items: Vec<T> = items.collect::<Result<_, _>>().map_err(|e| complain(e.to_string()))?;
    if items.is_empty() {
        return Err(complain("it contains none in PEM format".to_owned()));
    }
    Ok(items)
}

pub(super) fn system_certificates() -> Result<Vec<CertificateDer<'static>>, FailedAttempt> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let why = found.errors.first().map_or("it is empty".to_owned(), ToString::to_string);
        return Err(FailedAttempt::new(format!(
            "could not load system root certificate paths: {why}"
        )));
    }
    Ok(found.certs)
}

pub(super) fn identity(certificate: &Path, key: Option<&Path>) -> Result<Identity, FailedAttempt> {
    let chain = read_all(certificate, "certificate")?;
    let Some(key) = key else {
        return Err(FailedAttempt::new("certificate present, but not private key file")
            .with_hint("Name it in sslkey or PGSSLKEY."));
    };
    check_key_file(key)?;
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| {
        FailedAttempt::new(format!(
            "could not load private key file \"{}\": {error}",
            key.display()
        ))
        .with_hint(
            "It must be in PEM format and not encrypted; keys with a passphrase are not \
                 supported.",
        )
    })?;
    Ok((chain, secret, key.to_owned()))
}

fn check_key_file(key: &Path) -> Result<(), FailedAttempt> {
    let name = key.display();
    let Ok(meta) = fs::metadata(key) else {
        return Err(FailedAttempt::new(format!(
            "certificate present, but not private key file \"{name}\""
        )));
    };
    if !meta.is_file() {
        return Err(FailedAttempt::new(format!(
            "private key file \"{name}\" is not a regular file"
        )));
    }
    let forbidden = if meta.uid() == 0 { 0o037 } else { 0o077 };
    if meta.mode() & forbidden != 0 {
        return Err(FailedAttempt::new(format!(
            "private key file \"{name}\" has group or world access; file must have permissions \
             u=rw (0600) or less if owned by the current user, or permissions u=rw,g=r (0640) or \
             less if owned by root"
        )));
    }
    Ok(())
}
