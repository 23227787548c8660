//! Reads the names in a server's certificate, by libpq's rules, which go beyond webpki's. The common name counts
//! if there is no alternative name of the host's kind.
//!
//! Source: `pgtls_verify_peer_name_matches_certificate_guts` in `fe-secure-openssl.c` and
//! `wildcard_certificate_match` in `fe-secure-common.c`, `src/interfaces/libpq`, 18.

use std::net::IpAddr;

use rustls::pki_types::CertificateDer;
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::der::asn1::ObjectIdentifier;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");

/// The names of a certificate's holder.
#[derive(Default)]
pub(super) struct CertificateNames {
    dns: Vec<String>,
    addresses: Vec<IpAddr>,
    common: Option<String>,
}

impl CertificateNames {
    /// Reads the names; an unreadable certificate has none.
    pub(super) fn read(certificate: &CertificateDer) -> Self {
        let mut names = Self::default();
        let Ok(certificate) = Certificate::from_der(certificate) else { return names };
        let body = certificate.tbs_certificate;
        let attributes = body.subject.0.iter().flat_map(|part| part.0.iter());
        names.common = attributes
            .filter(|attribute| attribute.oid == COMMON_NAME)
            .find_map(|attribute| String::from_utf8(attribute.value.value().to_vec()).ok());
        if let Ok(Some((_, alternatives))) = body.get::<SubjectAltName>() {
            alternatives.0.iter().for_each(|name| names.add(name));
        }
        names
    }

    fn add(&mut self, name: &GeneralName) {
        match name {
            GeneralName::DnsName(name) => self.dns.push(name.as_str().to_owned()),
            GeneralName::IpAddress(octets) => match *octets.as_bytes() {
                [a, b, c, d] => self.addresses.push([a, b, c, d].into()),
                ref long => self.addresses.extend(<[u8; 16]>::try_from(long).map(IpAddr::from)),
            },
            _ => {}
        }
    }

    /// Whether `host` matches one of the names by libpq's rules.
    pub(super) fn include(&self, host: &str) -> bool {
        let address = host.parse::<IpAddr>().ok();
        self.dns.iter().any(|name| matches(name, host))
            || address.is_some_and(|address| self.addresses.contains(&address))
            || self.counted_common(host).is_some_and(|name| matches(name, host))
    }

    fn counted_common(&self, host: &str) -> Option<&str> {
        let decided = match host.parse::<IpAddr>() {
            Ok(_) => !self.addresses.is_empty(),
            Err(_) => !self.dns.is_empty(),
        };
        self.common.as_deref().filter(|_| !decided)
    }

    /// Returns libpq's message for a host that matches none of the names.
    pub(super) fn refusal(&self, host: &str) -> String {
        let mut all: Vec<String> = self.dns.clone();
        all.extend(self.addresses.iter().map(IpAddr::to_string));
        all.extend(self.counted_common(host).map(str::to_owned));
        let others = match all.len() {
            0 => return "could not get server's host name from server certificate".to_owned(),
            1 => String::new(),
            2 => " (and 1 other name)".to_owned(),
            n => format!(" (and {} other names)", n - 1),
        };
        format!("server certificate for \"{}\"{others} does not match host name \"{host}\"", all[0])
    }
}

fn matches(pattern: &str, host: &str) -> bool {
    pattern.eq_ignore_ascii_case(host) || matches_wildcard(pattern, host)
}

/// Whether `host` matches a pattern in which `*.`, at the front, stands for exactly one label.
fn matches_wildcard(pattern: &str, host: &str) -> bool {
    let Some(domain) = pattern.strip_prefix("*.").filter(|domain| !domain.is_empty()) else {
        return false;
    };
    host.split_once('.')
        .is_some_and(|(label, rest)| !label.is_empty() && rest.eq_ignore_ascii_case(domain))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dns: &[&str], addresses: &[&str], common: Option<&str>) -> CertificateNames {
        CertificateNames {
            dns: dns.iter().map(ToString::to_string).collect(),
            addresses: addresses.iter().map(|text| text.parse().unwrap()).collect(),
            common: common.map(str::to_owned),
        }
    }

    #[test]
    fn wildcards_stand_for_one_label() {
        let any = names(&["*.example.com"], &[], None);
        assert!(any.include("a.Example.com"));
        for host in ["example.com", "a.b.example.com", ".example.com", "aexample.com"] {
            assert!(!any.include(host), "{host}");
        }
        assert!(!names(&["*."], &[], None).include("a."));
        assert!(!names(&["a*.example.com"], &[], None).include("ab.example.com"));
    }

    #[test]
    fn the_common_name_counts_without_an_alternative_of_the_kind() {
        assert!(names(&[], &[], Some("db")).include("db"));
        assert!(!names(&["other"], &[], Some("db")).include("db"));
        assert!(names(&[], &["::1"], Some("db")).include("db"));
        assert!(names(&["db"], &[], Some("10.0.0.1")).include("10.0.0.1"));
        assert!(!names(&[], &["::1"], Some("10.0.0.1")).include("10.0.0.1"));
    }

    #[test]
    fn words_the_refusal_as_libpq_does() {
        assert_eq!(
            names(&["a", "b"], &["::1"], None).refusal("h"),
            "server certificate for \"a\" (and 2 other names) does not match host name \"h\""
        );
        assert_eq!(
            names(&[], &[], Some("db")).refusal("h"),
            "server certificate for \"db\" does not match host name \"h\""
        );
    }
}
