//! Verification of a server's certificate. rustls and webpki do the cryptography. This module decides how much
//! of their judgement each `sslmode` requires. Like OpenSSL, and unlike webpki, it also accepts a self-signed
//! certificate that is itself among the roots, and version 1 if no chain is verified.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
    verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, SignatureScheme};
use x509_cert::der::{Decode, Encode};
use x509_cert::{Certificate, Version};

use super::names::CertificateNames;
use crate::failure::Refusal;

/// The verifier for rustls, with libpq's rules.
#[derive(Debug)]
pub(super) struct Verifier {
    trust: Option<Trust>,
    algorithms: WebPkiSupportedAlgorithms,
}

#[derive(Debug)]
struct Trust {
    chain: Arc<WebPkiServerVerifier>,
    roots: Vec<CertificateDer<'static>>,
    /// The name that the certificate must have, if the mode requires one.
    host: Option<String>,
}

impl Verifier {
    /// Accepts any certificate whose key the server has.
    pub(super) fn trusting_any(algorithms: WebPkiSupportedAlgorithms) -> Self {
        Self { trust: None, algorithms }
    }

    /// Accepts a certificate that chains to `roots`, and has the name `host` if one is given.
    pub(super) fn trusting(
        chain: Arc<WebPkiServerVerifier>,
        roots: Vec<CertificateDer<'static>>,
        host: Option<String>,
        algorithms: WebPkiSupportedAlgorithms,
    ) -> Self {
        Self { trust: Some(Trust { chain, roots, host }), algorithms }
    }
}

impl Trust {
    fn check_chain(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<(), Error> {
        use CertificateError::{NotValidForName, NotValidForNameContext};
        if self.roots.contains(certificate) && is_self_issued(certificate) {
            return check_dates(certificate, now);
        }
        match self.chain.verify_server_cert(certificate, intermediates, server, &[], now) {
            // webpki checks the name last, after the chain has passed; the name is checked below.
            Ok(_)
            | Err(Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. })) => {
                Ok(())
            }
            Err(Error::InvalidCertificate(CertificateError::Other(why))) => {
                Err(reword(certificate, &why))
            }
            Err(error) => Err(error),
        }
    }

    fn check_name(&self, certificate: &CertificateDer<'_>) -> Result<(), Error> {
        let Some(host) = &self.host else { return Ok(()) };
        let names = CertificateNames::read(certificate);
        if names.include(host) {
            return Ok(());
        }
        Err(refuse(
            names.refusal(host),
            "Connect by a name that is in the certificate, or check only its authority with \
             sslmode=verify-ca.",
        ))
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Some(trust) = &self.trust {
            trust.check_chain(certificate, intermediates, server, now)?;
            trust.check_name(certificate)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        // webpki cannot read version 1 certificates, which older OpenSSL makes by default; the key is enough.
        let taken_as_it_is = self.trust.as_ref().is_none_or(|t| t.roots.contains(certificate));
        match public_key(certificate).filter(|_| taken_as_it_is) {
            Some(key) => {
                verify_tls13_signature_with_raw_key(message, &key, signed, &self.algorithms)
            }
            None => verify_tls13_signature(message, certificate, signed, &self.algorithms),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

fn public_key(certificate: &CertificateDer<'_>) -> Option<SubjectPublicKeyInfoDer<'static>> {
    let certificate = Certificate::from_der(certificate).ok()?;
    let key = certificate.tbs_certificate.subject_public_key_info.to_der().ok()?;
    Some(SubjectPublicKeyInfoDer::from(key))
}

fn is_self_issued(certificate: &CertificateDer<'_>) -> bool {
    Certificate::from_der(certificate)
        .is_ok_and(|c| c.tbs_certificate.issuer == c.tbs_certificate.subject)
}

fn check_dates(certificate: &CertificateDer<'_>, now: UnixTime) -> Result<(), Error> {
    let certificate =
        Certificate::from_der(certificate).map_err(|_| CertificateError::BadEncoding)?;
    let validity = certificate.tbs_certificate.validity;
    let seconds = now.as_secs();
    if seconds < validity.not_before.to_unix_duration().as_secs() {
        return Err(CertificateError::NotValidYet.into());
    }
    if seconds > validity.not_after.to_unix_duration().as_secs() {
        return Err(CertificateError::Expired.into());
    }
    Ok(())
}

/// Replaces webpki's rarer errors, which are bare names; the ones seen in practice get a sentence.
fn reword(certificate: &CertificateDer<'_>, why: &OtherError) -> Error {
    let version = Certificate::from_der(certificate).map(|c| c.tbs_certificate.version);
    if version == Ok(Version::V1) {
        return refuse(
            "SSL error: certificate verify failed: the certificate uses X.509 version 1".to_owned(),
            "Reissue it as version 3: openssl x509 -req with -extfile, or OpenSSL 3.2 and later.",
        );
    }
    if is_self_issued(certificate) {
        return refuse(
            "SSL error: certificate verify failed: self-signed certificate".to_owned(),
            "Put the server's certificate into the file that sslrootcert names.",
        );
    }
    refuse(format!("SSL error: certificate verify failed: {why}"), "")
}

fn refuse(text: String, hint: &'static str) -> Error {
    CertificateError::Other(OtherError(Arc::new(Refusal { text, hint }))).into()
}
