//! Lag: payloads wait while a replica, a slot or the archiver is too far behind.
//!
//! All followers are measured by their place in the WAL. The lag in time is determined every second: how long
//! ago the WAL ended at that place. A stalled replica is therefore behind, too.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use tokio_postgres::Client;

use crate::control::{Control, WaitReason};
use crate::error::Result;
use crate::job::MaxLag;
use crate::load::sql::lag::{WalFollower, followers};
use crate::pg::connect;
use crate::pg::conninfo::Target;
use crate::pg::runtime::runtime;

/// The pause between two measurements.
const PAUSE: Duration = Duration::from_secs(1);

/// The time within which a measurement notices that the load is over.
const NAP: Duration = Duration::from_millis(50);

/// Pauses the load while a follower is further behind than `max`, until `over`. The load continues when the
/// lag of all followers is less than half of that, so that it does not stop at every payload.
pub(crate) fn watch(max: MaxLag, target: &Target, control: &Control, over: &AtomicBool) {
    let mut ends = Ends::default();
    let mut is_behind = false;
    let watched = runtime().and_then(|runtime| {
        let mut client: Option<Client> = None;
        while !over.load(Relaxed) && !control.stop.is_stopped() {
            let looking = async {
                let client = match &client {
                    Some(client) => client,
                    None => client.insert(connect::connect_internal(target).await?),
                };
                followers(client).await
            };
            let ended = async {
                while !over.load(Relaxed) {
                    tokio::time::sleep(NAP).await;
                }
            };
            let looking = async {
                tokio::select! {
                    followers = looking => followers.map(Some),
                    () = ended => Ok(None),
                }
            };
            let Some(followers) = runtime.block_on(control.stop.unless_stopped(looking))? else {
                break;
            };
            is_behind = pause(max, is_behind, &mut ends, &followers, control);
            thread::park_timeout(PAUSE);
        }
        Result::Ok(())
    });
    control.is_paused.store(false, Relaxed);
    control.resume(WaitReason::Lag);
    if let Err(error) = watched
        && !over.load(Relaxed)
    {
        control.stop.fail(error);
    }
}

/// Pauses the load if a follower is too far behind, or lets it continue. Returns whether it is paused.
fn pause(
    max: MaxLag,
    was_behind: bool,
    ends: &mut Ends,
    followers: &[WalFollower],
    control: &Control,
) -> bool {
    ends.note(followers);
    let max = if was_behind { half(max) } else { max };
    let behind = followers.iter().find_map(|follower| ends.behind(follower, max));
    control.is_paused.store(behind.is_some(), Relaxed);
    match &behind {
        Some(behind) if !was_behind => control.notice(&format!("paused: {behind}")),
        None if was_behind => control.notice("the load continues: all followers have caught up"),
        _ => {}
    }
    match &behind {
        Some(behind) => control.wait_for(WaitReason::Lag, &format!("paused: {behind}")),
        None => control.resume(WaitReason::Lag),
    }
    behind.is_some()
}

fn half(max: MaxLag) -> MaxLag {
    match max {
        MaxLag::Bytes(bytes) => MaxLag::Bytes(bytes / 2),
        MaxLag::Time(time) => MaxLag::Time(time / 2),
    }
}

/// Ends of the WAL, and the times when they were observed.
#[derive(Default)]
struct Ends(VecDeque<(Instant, u64)>);

impl Ends {
    fn note(&mut self, followers: &[WalFollower]) {
        let Some(end) = followers.iter().map(|follower| follower.end).max() else { return };
        if self.0.back().is_none_or(|(_, last)| *last < end) {
            self.0.push_back((Instant::now(), end));
        }
        let min = followers.iter().map(|follower| self.place(follower)).min();
        // The first entry stays as the beginning: the lag of a follower without a place is measured from
        // there.
        while self.0.len() > 2 && self.0.get(1).is_some_and(|(_, end)| Some(*end) <= min) {
            self.0.remove(1);
        }
    }

    fn place(&self, follower: &WalFollower) -> u64 {
        follower.place.unwrap_or_else(|| self.0.front().map_or(0, |(_, end)| *end))
    }

    /// Describes how far a follower is behind, if that is more than `max`.
    fn behind(&self, follower: &WalFollower, max: MaxLag) -> Option<String> {
        let place = self.place(follower);
        let bytes = follower.end.saturating_sub(place);
        let megabytes = bytes as f64 / f64::from(1 << 20);
        match max {
            MaxLag::Bytes(max) => (bytes > max)
                .then(|| format!("{} is {megabytes:.1} MB of WAL behind", follower.name)),
            MaxLag::Time(max) => {
                let (since, _) = self.0.iter().find(|(_, end)| *end > place && bytes > 0)?;
                let time = since.elapsed();
                (time > max).then(|| {
                    let seconds = time.as_secs();
                    format!("{} is {seconds} s ({megabytes:.1} MB of WAL) behind", follower.name)
                })
            }
        }
    }
}
