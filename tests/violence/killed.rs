//! SIGKILL at any moment, and again while the load resumes.

use std::os::unix::process::ExitStatusExt;
use std::thread;

use super::chance::Chance;
use super::clean::Clean;
use super::dirt::{Dirt, REJECTING};
use super::ordeal::{Blow, Ordeal, Subject};
use super::size;
use crate::failures::Bench;
use crate::server::{Server, on_each_server};

on_each_server!(crate::violence::killed::check, [killed, killed_while_it_rejects,]);

fn check(name: &str, server: Server) {
    let (bench, mut chance) = (Bench::new(server), Chance::new());
    match name {
        "killed" => endure(Clean::new(bench, size().rows), chance, &[]),
        _ => {
            let dirt = Dirt::new(bench, size().rows_with_dirt, &mut chance);
            endure(dirt, chance, &REJECTING);
        }
    }
}

fn endure<S: Subject>(mut subject: S, chance: Chance, options: &[&str]) {
    let url = subject.bench().url.clone();
    let mut ordeal = Ordeal::new(subject, chance, &url, options);
    ordeal.endure(size().kills, kill).tell("kills", ordeal.subject.rows());
}

/// Kills a load at a random moment.
pub(crate) fn kill<S: Subject>(ordeal: &mut Ordeal<S>, id: &str) -> Blow {
    let mut load = ordeal.start(id, &[]);
    thread::sleep(ordeal.chance.moment(ordeal.whole));
    load.child.kill().unwrap();
    let ended = load.ended_within(size().patience);
    match ended.status.signal() {
        Some(9) => Blow::Hit,
        _ => Blow::Missed(ended),
    }
}
