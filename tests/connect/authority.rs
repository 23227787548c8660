//! The certificates of the private cluster and of its clients.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};

/// A certificate authority, trusted by all parties or by none of them.
type Authority = CertifiedIssuer<'static, KeyPair>;

/// Writes to `directory` the authorities `right` and `wrong`, server certificates that share the key
/// `server.key`, and client certificates that share the key `client.key`.
pub(super) fn make_certificates(directory: &Path) {
    let write = |name: &str, text: String| {
        fs::write(directory.join(name), text).unwrap();
        fs::set_permissions(directory.join(name), Permissions::from_mode(0o600)).unwrap();
    };
    let (right, wrong) = (authority("right"), authority("wrong"));
    write("right.crt", right.pem());
    write("wrong.crt", wrong.pem());

    let key = KeyPair::generate().unwrap();
    write("server.key", key.serialize_pem());
    let server = |names: &[&str]| {
        CertificateParams::new(names.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap()
    };
    let mut expired = server(&["localhost"]);
    (expired.not_before, expired.not_after) =
        (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 1, 1));
    let mut future = server(&["localhost"]);
    future.not_before = date_time_ymd(2999, 1, 1);
    for (name, params, by) in [
        ("server.crt", server(&["localhost"]), &right),
        ("elsewhere.crt", server(&["db.example", "*.example"]), &right),
        ("address.crt", server(&["127.0.0.1"]), &right),
        ("expired.crt", expired, &right),
        ("future.crt", future, &right),
        ("stranger.crt", server(&["localhost"]), &wrong),
    ] {
        write(name, params.signed_by(&key, by).unwrap().pem());
    }
    let alone = server(&["localhost"]).self_signed(&key).unwrap();
    write("alone.crt", alone.pem());

    let key = KeyPair::generate().unwrap();
    write("client.key", key.serialize_pem());
    for (name, user, by) in [
        ("client.crt", "certified", &right),
        ("other-client.crt", "somebody", &right),
        ("strange-client.crt", "certified", &wrong),
    ] {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, user);
        write(name, params.signed_by(&key, by).unwrap().pem());
    }
}

fn authority(name: &str) -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}
