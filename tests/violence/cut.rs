//! The connection cut at any byte, by a proxy before the server.

use super::chance::Chance;
use super::clean::Clean;
use super::dirt::{Dirt, REJECTING};
use super::ordeal::{Blow, Ordeal, Subject};
use super::size;
use crate::failures::{Bench, wait_until};
use crate::proxy::{Mode, Proxy};
use crate::server::{Server, on_each_server};

on_each_server!(crate::violence::cut::check, [cut, cut_while_it_rejects,]);

fn check(name: &str, server: Server) {
    let (bench, mut chance) = (Bench::new(server), Chance::new());
    match name {
        "cut" => endure(Clean::new(bench, size().rows), chance, &[]),
        _ => {
            let dirt = Dirt::new(bench, size().rows_with_dirt, &mut chance);
            endure(dirt, chance, &REJECTING);
        }
    }
}

fn endure<S: Subject>(mut subject: S, chance: Chance, options: &[&str]) {
    let proxy = Proxy::before(&subject.bench().url);
    let mut ordeal = Ordeal::new(subject, chance, proxy.url(), options);
    let all = proxy.sent();
    let story = ordeal.endure(size().cuts, |ordeal, id| cut(&proxy, all, ordeal, id));
    story.tell("cuts of the connection", ordeal.subject.rows());
}

/// Cuts all connections of a load when one of `all` bytes has gone. Every other load waits until they can
/// be made again.
fn cut<S: Subject>(proxy: &Proxy, all: u64, ordeal: &mut Ordeal<S>, id: &str) -> Blow {
    let waits = ordeal.chance.is_one_in(2);
    proxy.set_after(1 + (all as f64 * ordeal.chance.share()) as u64, Mode::Cut);
    let mut load = ordeal.start(id, if waits { &["--wait=10min"] } else { &[] });
    wait_until("the cut, or the end", || {
        proxy.mode() == Mode::Cut || load.child.try_wait().unwrap().is_some()
    });
    let is_cut = proxy.mode() == Mode::Cut;
    if waits {
        proxy.set(Mode::Pass);
    }
    let ended = load.ended_within(size().patience);
    proxy.set(Mode::Pass);
    match ended.status.code() {
        Some(1) => Blow::Hit,
        _ if is_cut && waits => Blow::Borne(ended),
        _ => Blow::Missed(ended),
    }
}
