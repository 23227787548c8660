//! The time after which either side notices that the other does not answer: libpq's options, by default half a
//! minute. The system's own limits are hours, during which a dead load keeps its locks.

use std::time::Duration;

use tokio_postgres::Config;

use super::settings::Settings;
use crate::Result;

/// Idle time before the first probe, time between probes, and the number of unanswered probes.
const IDLE: Duration = Duration::from_secs(10);
const INTERVAL: Duration = Duration::from_secs(5);
const COUNT: u32 = 4;

/// Time that data from the server may stay unacknowledged. The client has no such limit unless one is given: to
/// Linux, a server that is busy and accepts no more rows does not acknowledge either (`net/ipv4/tcp_timer.c`,
/// `tcp_probe_timer`, 5.11 and later).
const UNANSWERED: Duration = Duration::from_secs(30);

/// The limits of one target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Liveness {
    asks: bool,
    idle: Duration,
    interval: Duration,
    count: u32,
    unanswered: Option<Duration>,
}

impl Liveness {
    pub(super) fn read(settings: &Settings) -> Result<Self> {
        let unanswered = settings.positive("tcp_user_timeout")?;
        Ok(Self {
            asks: settings.integer("keepalives")?.unwrap_or(1) != 0,
            idle: settings.seconds("keepalives_idle")?.unwrap_or(IDLE),
            interval: settings.seconds("keepalives_interval")?.unwrap_or(INTERVAL),
            count: settings.positive("keepalives_count")?.unwrap_or(COUNT),
            unanswered: unanswered.map(|ms| Duration::from_millis(ms.into())),
        })
    }

    /// Sets the limits for the client's side.
    pub(super) fn set(&self, config: &mut Config) {
        config.keepalives(self.asks);
        config.keepalives_idle(self.idle);
        config.keepalives_interval(self.interval);
        config.keepalives_retries(self.count);
        self.unanswered.into_iter().for_each(|limit| _ = config.tcp_user_timeout(limit));
    }

    /// Returns the settings for the server's side.
    pub(crate) fn server_settings(&self) -> Vec<(&'static str, u128)> {
        let unanswered = self.unanswered.unwrap_or(UNANSWERED);
        let mut settings = vec![("tcp_user_timeout", unanswered.as_millis())];
        if self.asks {
            settings.extend([
                ("tcp_keepalives_idle", self.idle.as_secs().into()),
                ("tcp_keepalives_interval", self.interval.as_secs().into()),
                ("tcp_keepalives_count", self.count.into()),
            ]);
        }
        settings
    }
}
