//! The parts of a URL, a URL for another database, and a free port.

use std::net::TcpListener;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// The parts of a URL, for programs that do not accept a URL.
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: String,
    pub(crate) database: String,
    pub(crate) user: String,
    pub(crate) password: String,
}

impl Address {
    pub(crate) fn from_url(url: &str) -> Self {
        let config: Config = url.parse().expect("a URL");
        let text = |part: Option<&str>| part.unwrap_or_default().to_owned();
        let host = match config.get_hosts().first() {
            Some(Host::Tcp(host)) => host.clone(),
            Some(Host::Unix(path)) => path.to_string_lossy().into_owned(),
            None => String::new(),
        };
        Self {
            host,
            port: config.get_ports().first().unwrap_or(&5432).to_string(),
            database: text(config.get_dbname()),
            user: text(config.get_user()),
            password: String::from_utf8_lossy(config.get_password().unwrap_or_default()).into(),
        }
    }
}

/// Returns the URL of another database of the same server.
pub(crate) fn with_database(url: &str, name: &str) -> String {
    let (base, options) = url.split_once('?').map_or((url, None), |(b, o)| (b, Some(o)));
    let host = base.find("://").expect("a URL") + 3;
    let end = base[host..].find('/').map_or(base.len(), |slash| host + slash);
    let options = options.map(|o| format!("?{o}")).unwrap_or_default();
    format!("{}/{name}{options}", &base[..end])
}

/// Returns a port on which no process listens.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
