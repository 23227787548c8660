//! The servers to try: host, address, port and password of each, from libpq's comma-separated lists.
//!
//! Source: `pqConnectOptions2` in `src/interfaces/libpq/fe-connect.c`, 18.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use super::environment::Environment;
use super::passfile::{LoginKey, Passfile};
use super::settings::{Settings, usage};
use crate::Result;

const DEFAULT_PORT: u16 = 5432;

/// One server to try.
pub(crate) struct Endpoint {
    pub(crate) place: Place,
    pub(crate) port: u16,
    pub(crate) password: Option<String>,
    /// The file that the password was read from.
    pub(crate) passfile: Option<PathBuf>,
}

/// The way to reach a server.
pub(crate) enum Place {
    /// The socket in this directory.
    Socket(PathBuf),
    /// A host name to resolve.
    Host(String),
    /// An address; the host name, if given, is only compared with the certificate.
    Address(IpAddr, Option<String>),
}

/// Lists the endpoints in the given order, without passwords.
pub(super) fn list(settings: &Settings, env: &Environment) -> Result<Vec<Endpoint>> {
    let hosts = split(settings.get("host"));
    let addresses = split(settings.get("hostaddr"));
    if !hosts.is_empty() && !addresses.is_empty() && hosts.len() != addresses.len() {
        let (hosts, addresses) = (hosts.len(), addresses.len());
        return Err(usage(format!(
            "could not match {hosts} host names to {addresses} hostaddr values"
        )));
    }
    let count = hosts.len().max(addresses.len()).max(1);
    let ports = split(settings.get("port"));
    if ports.len() > 1 && ports.len() != count {
        let ports = ports.len();
        return Err(usage(format!("could not match {ports} port numbers to {count} hosts")));
    }
    let element = |list: &[&str], i: usize| list.get(i).copied().unwrap_or("").to_owned();
    (0..count)
        .map(|i| {
            let port = read_port(&element(&ports, if ports.len() == 1 { 0 } else { i }))?;
            let place = read_place(&element(&hosts, i), &element(&addresses, i), port, env)?;
            Ok(Endpoint { place, port, password: None, passfile: None })
        })
        .collect()
}

fn split(list: Option<&str>) -> Vec<&str> {
    list.iter().flat_map(|list| list.split(',')).map(str::trim).collect()
}

fn read_port(text: &str) -> Result<u16> {
    match text.parse::<u16>() {
        _ if text.is_empty() => Ok(DEFAULT_PORT),
        Ok(port) if port > 0 => Ok(port),
        _ => Err(usage(format!("invalid port number: \"{text}\""))),
    }
}

fn read_place(host: &str, address: &str, port: u16, env: &Environment) -> Result<Place> {
    if !address.is_empty() {
        let ip = address.parse().map_err(|_| {
            usage(format!("could not parse network address \"{address}\""))
                .with_hint("hostaddr needs an IP address; put a name in host.")
        })?;
        return Ok(Place::Address(ip, Some(host.to_owned()).filter(|host| !host.is_empty())));
    }
    match host.as_bytes().first() {
        None => Ok(default_place(port, env)),
        Some(b'/') => Ok(Place::Socket(host.into())),
        Some(b'@') => {
            Err(usage(format!("abstract Unix-domain socket address \"{host}\" is not supported"))
                .with_hint("Name the socket's directory, or a host."))
        }
        Some(_) => Ok(host.parse().map_or_else(
            |_| Place::Host(host.to_owned()),
            |ip| Place::Address(ip, Some(host.to_owned())),
        )),
    }
}

/// Returns the default place. Distributions disagree about the socket directory, so this picks the one that
/// contains the port's socket.
fn default_place(port: u16, env: &Environment) -> Place {
    let socket = |directory: &&PathBuf| socket_file(directory, port).exists();
    match env.socket_directories.iter().find(socket) {
        Some(directory) => Place::Socket(directory.clone()),
        None => Place::Host("localhost".to_owned()),
    }
}

/// Returns the socket of the server at `port` in `directory`.
pub(super) fn socket_file(directory: &Path, port: u16) -> PathBuf {
    directory.join(format!(".s.PGSQL.{port}"))
}

impl Endpoint {
    /// Takes the password from the file if none was given.
    pub(super) fn find_password(&mut self, passfile: &Passfile, database: &str, user: &str) {
        let address;
        let host = match &self.place {
            Place::Socket(directory) => directory.to_str().unwrap_or_default(),
            Place::Host(host) | Place::Address(_, Some(host)) => host,
            Place::Address(ip, None) => {
                address = ip.to_string();
                &address
            }
        };
        self.password = passfile.find(&LoginKey { host, port: self.port, database, user });
        self.passfile = self.password.is_some().then(|| passfile.path.clone());
    }

    /// Returns the socket file's path, for messages.
    pub(crate) fn socket(&self) -> Option<PathBuf> {
        match &self.place {
            Place::Socket(directory) => Some(socket_file(directory, self.port)),
            _ => None,
        }
    }
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.place {
            Place::Socket(_) => {
                write!(f, "socket \"{}\"", self.socket().unwrap_or_default().display())
            }
            Place::Host(host) | Place::Address(_, Some(host)) => {
                write!(f, "host \"{host}\", port {}", self.port)
            }
            Place::Address(ip, None) => write!(f, "address \"{ip}\", port {}", self.port),
        }
    }
}
