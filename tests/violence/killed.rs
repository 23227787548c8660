//! SIGKILL at any moment, and again while the load resumes.

use super::dirt::{Dirt, REJECTING};
use crate::harness::{Bench, Chance, Clean, Ordeal, Server, Subject, kill, on_each_server, size};

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
