//! The policy covers every SQLSTATE of every server.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use pgsluice::error::policy::{Policy, for_class};

use crate::harness::{Server, on_each_server};

on_each_server!([every_sqlstate_is_decided,]);

fn every_sqlstate_is_decided(server: Server) {
    let codes = codes(server);
    assert!(codes.len() > 200, "{codes:?}");
    let undecided: Vec<&String> = codes.iter().filter(|code| for_class(code).is_none()).collect();
    assert!(undecided.is_empty(), "{undecided:?}");
    let with = |policy: Policy| codes.iter().filter(|code| for_class(code) == Some(policy)).count();
    // Only these few codes are retried.
    assert!((5..=7).contains(&with(Policy::Retry)), "{}", with(Policy::Retry));
    assert!((12..=15).contains(&with(Policy::Wait)), "{}", with(Policy::Wait));
}

/// Returns the codes in the server's own list.
fn codes(server: Server) -> Vec<String> {
    let bin = server.bin();
    let config = Command::new(bin.join("pg_config")).arg("--sharedir").output();
    let told = config.map(|output| String::from_utf8(output.stdout).unwrap().trim().to_owned());
    let beside = ["../share", "../share/postgresql"].map(|folder| bin.join(folder));
    let folders: Vec<PathBuf> = told.map(PathBuf::from).into_iter().chain(beside).collect();
    let list =
        folders.iter().find_map(|folder| fs::read_to_string(folder.join("errcodes.txt")).ok());
    let list = list.unwrap_or_else(|| panic!("no errcodes.txt in {folders:?}"));
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let (code, kind) = (words.next()?, words.next()?);
        (code.len() == 5 && ["E", "W", "S"].contains(&kind)).then(|| code.to_owned())
    };
    list.lines().filter_map(line).collect()
}
