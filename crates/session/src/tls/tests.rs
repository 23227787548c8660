//! Certificates made for each case, and the verdict of each `sslmode`; no server needed.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType,
    IsCa, Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, SerialNumber,
    date_time_ymd,
};
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tempfile::TempDir;
use tokio_postgres::config::SslNegotiation;

use crate::failure::FailedAttempt;
use rustls::Error;

use super::{Mode, Root, Settings, build_verifier, versions};

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority(name: &str) -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn params(names: &[&str], common: &str) -> CertificateParams {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.distinguished_name.push(DnType::CommonName, common);
    params.serial_number = Some(SerialNumber::from(77));
    params
}

fn signed(params: &CertificateParams, by: &Issuer<'static, KeyPair>) -> CertificateDer<'static> {
    params.signed_by(&KeyPair::generate().unwrap(), by).unwrap().der().clone()
}

/// A directory with a root file, and settings that name it.
struct Trust {
    directory: TempDir,
    settings: Settings,
}

impl Trust {
    fn new(mode: Mode, roots: Option<&str>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("root.crt");
        if let Some(roots) = roots {
            fs::write(&root, roots).unwrap();
        }
        let settings = Settings {
            mode,
            negotiation: SslNegotiation::Postgres,
            root: Root::File(root),
            certificate: None,
            key: None,
            revoked: None,
            names_server: true,
            versions: versions(None, None).unwrap(),
        };
        Self { directory, settings }
    }

    fn revoking(mut self, list: &str) -> Self {
        let path: PathBuf = self.directory.path().join("root.crl");
        fs::write(&path, list).unwrap();
        self.settings.revoked = Some(path);
        self
    }

    fn judge(&self, certificate: &CertificateDer, host: &str) -> Result<(), String> {
        let provider = Arc::new(ring::default_provider());
        let verifier = build_verifier(&self.settings, Some(host), &provider)
            .map_err(|failure| failure.into_error(Vec::new()).to_string())?;
        let name = ServerName::try_from(host).unwrap();
        let verdict = verifier.verify_server_cert(certificate, &[], &name, &[], UnixTime::now());
        verdict.map(drop).map_err(|error| match error {
            Error::InvalidCertificate(why) => {
                FailedAttempt::from_certificate(&why).into_error(Vec::new()).to_string()
            }
            other => other.to_string(),
        })
    }
}

const MODES: [Mode; 5] =
    [Mode::Allow, Mode::Prefer, Mode::Require, Mode::VerifyCa, Mode::VerifyFull];

#[test]
fn an_existing_root_file_is_heeded_in_every_mode() {
    let (right, wrong) = (authority("right"), authority("wrong"));
    let server = signed(&params(&["db"], "x"), &right);
    for mode in MODES {
        Trust::new(mode, Some(&right.pem())).judge(&server, "db").unwrap();
        let error = Trust::new(mode, Some(&wrong.pem())).judge(&server, "db").unwrap_err();
        assert!(error.contains("unknown issuer\nHINT:"), "{mode:?}: {error}");
    }
}

#[test]
fn a_missing_root_file_matters_to_the_modes_that_verify() {
    let server = signed(&params(&["db"], "x"), &authority("any"));
    for mode in MODES {
        let verdict = Trust::new(mode, None).judge(&server, "other");
        assert_eq!(verdict.is_ok(), mode < Mode::VerifyCa, "{mode:?}");
        if let Err(error) = verdict {
            assert!(error.contains("root.crt\" does not exist\nHINT:"), "{error}");
        }
    }
}

#[test]
fn only_verify_full_asks_for_the_name() {
    let right = authority("right");
    let server = signed(&params(&["db", "*.example.com", "127.0.0.1"], "x"), &right);
    let judge = |mode, host| Trust::new(mode, Some(&right.pem())).judge(&server, host);
    for host in ["db", "a.example.com", "127.0.0.1"] {
        judge(Mode::VerifyFull, host).unwrap();
    }
    judge(Mode::VerifyCa, "other").unwrap();
    let error = judge(Mode::VerifyFull, "x").unwrap_err();
    let expected =
        "server certificate for \"db\" (and 2 other names) does not match host name \"x\"";
    assert!(error.contains(expected), "{error}");
    let named = signed(&params(&[], "db"), &right);
    Trust::new(Mode::VerifyFull, Some(&right.pem())).judge(&named, "db").unwrap();
}

#[test]
fn a_self_signed_certificate_must_be_a_root_and_in_date() {
    let key = KeyPair::generate().unwrap();
    let mut params = params(&["db"], "db");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let own = params.self_signed(&key).unwrap();
    Trust::new(Mode::VerifyFull, Some(&own.pem())).judge(own.der(), "db").unwrap();
    let other = authority("other").pem();
    let error = Trust::new(Mode::VerifyCa, Some(&other)).judge(own.der(), "db").unwrap_err();
    assert!(error.contains("self-signed certificate"), "{error}");
    params.not_after = date_time_ymd(2020, 1, 1);
    let old = params.self_signed(&key).unwrap();
    let error = Trust::new(Mode::VerifyCa, Some(&old.pem())).judge(old.der(), "db").unwrap_err();
    assert!(error.contains("has expired"), "{error}");
}

#[test]
fn an_expired_or_revoked_certificate_is_refused() {
    let right = authority("right");
    let mut old = params(&["db"], "x");
    old.not_after = date_time_ymd(2020, 1, 1);
    let trust = Trust::new(Mode::VerifyCa, Some(&right.pem()));
    assert!(trust.judge(&signed(&old, &right), "db").unwrap_err().contains("has expired"));

    let revoked = RevokedCertParams {
        serial_number: SerialNumber::from(77),
        revocation_time: date_time_ymd(2021, 1, 1),
        reason_code: None,
        invalidity_date: None,
    };
    let list = |revoked_certs| {
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2021, 1, 1),
            next_update: date_time_ymd(2400, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs,
            key_identifier_method: KeyIdMethod::Sha256,
        };
        list.signed_by(&right).unwrap().pem().unwrap()
    };
    let server = signed(&params(&["db"], "x"), &right);
    let judge = |list: &str| {
        Trust::new(Mode::VerifyCa, Some(&right.pem())).revoking(list).judge(&server, "db")
    };
    judge(&list(Vec::new())).unwrap();
    assert!(judge(&list(vec![revoked])).unwrap_err().contains("certificate revoked"));
    assert!(judge("nonsense").unwrap_err().contains("could not read certificate revocation list"));
}

#[test]
fn protocol_versions_are_a_range_of_those_spoken() {
    let count = |min, max| versions(min, max).map(|list| list.len());
    assert_eq!(count(None, None).unwrap(), 2);
    assert_eq!(count(Some("tlsv1.3"), None).unwrap(), 1);
    assert_eq!(count(Some("TLSv1"), Some("TLSv1.2")).unwrap(), 1);
    assert!(count(None, Some("TLSv1.1")).is_err());
    assert!(count(Some("SSLv3"), None).is_err());
}
