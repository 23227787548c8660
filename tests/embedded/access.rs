//! Access to an embedded server over the network and through its files.

use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use super::query;
use crate::harness::{Place, Server, on_each_server, stderr, url_of};

on_each_server!([
    only_loopback_with_the_password_gets_in,
    nobody_else_reads_its_files_whatever_the_umask,
]);

fn only_loopback_with_the_password_gets_in(server: Server) {
    let place = Place::new(server);
    let started = place.run("start");
    let url = url_of(&started);
    let password = url.split([':', '@']).nth(2).unwrap();
    assert_eq!(password.len(), 48);
    assert!(!stderr(&started).contains(password));
    let refused = query(&url.replace(password, "guessed"), "select 1").unwrap_err();
    assert_eq!(refused.code().unwrap().code(), "28P01");
    assert_eq!(query(&url, "show listen_addresses").unwrap(), "127.0.0.1");
    assert_eq!(query(&url, "show server_encoding").unwrap(), "UTF8");
    let methods = "select distinct auth_method from pg_hba_file_rules";
    assert_eq!(query(&url, methods).unwrap(), "scram-sha-256");
    let mode = |name: &str| fs::metadata(place.path(name)).unwrap().mode() & 0o777;
    assert_eq!([mode("server/password"), mode("server/socket")], [0o600, 0o700]);
    assert_eq!(listeners(port(&url)), ["127.0.0.1"]);
}

/// Returns the addresses on which any process listens on `port`. IPv6 addresses are in the system's notation.
fn listeners(port: u16) -> Vec<String> {
    const LISTENING: &str = "0A";
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|file| fs::read_to_string(file).unwrap());
    let lines = tables.iter().flat_map(|table| table.lines().skip(1));
    let mut found = Vec::new();
    for line in lines {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (address, on) = fields[1].split_once(':').unwrap();
        if fields[3] == LISTENING && u16::from_str_radix(on, 16) == Ok(port) {
            let four = u32::from_str_radix(address, 16).map(u32::to_le_bytes);
            found.push(four.map_or(address.to_owned(), |four| Ipv4Addr::from(four).to_string()));
        }
    }
    found
}

fn port(url: &str) -> u16 {
    url.split([':', '/']).find_map(|part| part.parse().ok()).unwrap()
}

fn nobody_else_reads_its_files_whatever_the_umask(server: Server) {
    let place = Place::new(server);
    let mut open = Command::new("sh");
    open.args(["-c", "umask 0; exec \"$0\" \"$@\""]);
    let start = place.command("start");
    open.arg(start.get_program()).args(start.get_args());
    for (name, value) in start.get_envs() {
        match value {
            Some(value) => open.env(name, value),
            None => open.env_remove(name),
        };
    }
    url_of(&open.output().unwrap());
    // If root runs the server as another user, that user has to pass through the folder itself.
    let mut folders = vec![place.path("server")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let found = fs::symlink_metadata(&path).unwrap();
            // If other users cannot enter its folder, they cannot reach a socket.
            if found.is_dir() || found.is_file() {
                assert_eq!(found.mode() & 0o077, 0, "{}", path.display());
            }
            if found.is_dir() {
                folders.push(path);
            }
        }
    }
}
