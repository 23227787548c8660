//! SIGKILL at random moments, and again while the load resumes.

use super::dirt::{Dirt, REJECTING};
use crate::harness::{Bench, Chance, Clean, Ordeal, Server, Subject, kill, on_each_server, size};

on_each_server!([killed, killed_while_it_rejects,]);

fn killed(server: Server) {
    endure(Clean::new(Bench::new(server), size().rows), Chance::new(), &[]);
}

fn killed_while_it_rejects(server: Server) {
    let mut chance = Chance::new();
    let dirt = Dirt::new(Bench::new(server), size().rows_with_dirt, &mut chance);
    endure(dirt, chance, &REJECTING);
}

fn endure<S: Subject>(mut subject: S, chance: Chance, options: &[&str]) {
    let url = subject.bench().url.clone();
    let mut ordeal = Ordeal::new(subject, chance, &url, options);
    ordeal.endure(size().kills, kill).tell("kills", ordeal.subject.rows());
}
