//! Connections that a proxy in front of the server cuts at any byte.

use std::ops::Range;

use super::dirt::{Dirt, REJECTING};
use crate::harness::{
    Bench, Blow, Chance, Clean, Mode, Ordeal, Proxy, Server, Subject, on_each_server, size,
    wait_within,
};

on_each_server!([cut, cut_while_it_rejects,]);

fn cut(server: Server) {
    endure(Clean::new(Bench::new(server), size().rows), Chance::new(), &[]);
}

fn cut_while_it_rejects(server: Server) {
    let mut chance = Chance::new();
    let dirt = Dirt::new(Bench::new(server), size().rows_with_dirt, &mut chance);
    endure(dirt, chance, &REJECTING);
}

fn endure<S: Subject>(mut subject: S, chance: Chance, options: &[&str]) {
    let proxy = Proxy::before(&subject.bench().url);
    let mut ordeal = Ordeal::new(subject, chance, proxy.url(), options);
    let all = 0..proxy.sent();
    let cut = |ordeal: &mut _, id: &_| strike(&proxy, Mode::Cut, &all, ordeal, id);
    let story = ordeal.endure(size().cuts, cut);
    story.tell("cuts of the connection", ordeal.subject.rows());
}

/// Ends all connections of a load by `mode` after a random byte of `all`. Every other load waits until it can
/// connect again.
pub(super) fn strike<S: Subject>(
    proxy: &Proxy,
    mode: Mode,
    all: &Range<u64>,
    ordeal: &mut Ordeal<S>,
    id: &str,
) -> Blow {
    let waits = ordeal.chance.is_one_in(2);
    let place = ordeal.chance.below((all.end - all.start) as usize) as u64;
    proxy.set_after(1 + all.start + place, mode);
    let mut load = ordeal.start(id, if waits { &["--wait=10min"] } else { &[] });
    wait_within(size().patience, "the blow, or the end", || {
        proxy.mode() == mode || load.child.try_wait().unwrap().is_some()
    });
    let is_struck = proxy.mode() == mode;
    if waits {
        proxy.set(Mode::Pass);
    }
    let ended = load.ended_within(size().patience);
    proxy.set(Mode::Pass);
    match ended.status.code() {
        Some(1) if mode == Mode::Full => {
            // A connection that was sending then receives no answer.
            let is_told = !ended.stderr.contains("server closed the connection unexpectedly");
            let told = ["No space left on device", "(SQLSTATE 53100)"];
            let closed = ["server closed the connection unexpectedly", "HINT:  "];
            ended.fails(1, if is_told { &told } else { &closed });
            Blow::Hit
        }
        Some(1) => Blow::Hit,
        _ if is_struck && waits => Blow::Borne(ended),
        _ => Blow::Missed(ended),
    }
}
