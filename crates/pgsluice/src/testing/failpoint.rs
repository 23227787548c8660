//! Failpoints: points at which a test kills or delays the process, to check the state that is left. They are
//! not compiled without the feature `failpoints`.
//!
//! `PGSLUICE_FAILPOINT=name:3` kills the process when it reaches the point for the third time; `name` alone
//! means the first time. With `PGSLUICE_FAILPOINT_SLEEP=200` it sleeps there for 200 ms instead. With
//! `PGSLUICE_FAILPOINT_HOLD=file` it creates that file and waits until the file is removed. The crate `fail`
//! has no action that ends a process like SIGKILL.

/// All points, in the order in which a load and its payloads reach them.
pub const NAMES: [&str; 29] = [
    "load::begun",
    "share::claimed",
    "split::taken",
    "payload::closed",
    "payload::begun",
    "payload::sent",
    "payload::committing",
    "payload::copied",
    "receipts::written",
    "stage::taken",
    "stage::settled",
    "rejects::written",
    "rejects::committed",
    "payload::committed",
    "load::flushing",
    "atomic::ready",
    "atomic::committing",
    "atomic::committed",
    "exchange::committing",
    "exchange::committed",
    "load::closing",
    "load::closed",
    "moving::created",
    "moving::logged",
    "moving::copied",
    "moving::built",
    "moving::followed",
    "moving::committing",
    "moving::committed",
];

/// Marks the point `name`.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub fn failpoint(_name: &'static str) {}

/// Marks the point `name`, where the environment may request an action.
#[cfg(feature = "failpoints")]
pub fn failpoint(name: &'static str) {
    use std::sync::LazyLock;

    static CHOSEN: LazyLock<Option<chosen::Chosen>> = LazyLock::new(chosen::Chosen::read);
    if let Some(chosen) = CHOSEN.as_ref().filter(|chosen| chosen.name == name) {
        chosen.hit();
    }
}

#[cfg(feature = "failpoints")]
mod chosen {
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
    use std::time::Duration;
    use std::{env, fs, thread};

    use nix::sys::signal::{Signal, raise};

    use super::NAMES;

    /// The failpoint that the environment requests.
    pub(crate) struct Chosen {
        pub(crate) name: &'static str,
        /// The number of times until it acts.
        left: AtomicU64,
        sleep: Option<Duration>,
        hold: Option<PathBuf>,
    }

    impl Chosen {
        pub(crate) fn read() -> Option<Self> {
            let asked = env::var("PGSLUICE_FAILPOINT").ok()?;
            let (name, count) = match asked.rsplit_once(':') {
                Some((name, count)) if count.parse::<u64>().is_ok() => (name, count.parse().ok()),
                _ => (&*asked, None),
            };
            let name = NAMES.into_iter().find(|known| *known == name);
            let sleep = env::var("PGSLUICE_FAILPOINT_SLEEP").ok().and_then(|ms| ms.parse().ok());
            Some(Self {
                // A test that waits for a point that does not exist must not succeed.
                name: name.unwrap_or_else(|| panic!("there is no failpoint {asked}")),
                left: AtomicU64::new(count.unwrap_or(1)),
                sleep: sleep.map(Duration::from_millis),
                hold: env::var_os("PGSLUICE_FAILPOINT_HOLD").map(PathBuf::from),
            })
        }

        pub(crate) fn hit(&self) {
            if self.left.fetch_sub(1, SeqCst) != 1 {
                return;
            }
            match (&self.hold, self.sleep) {
                (Some(file), _) => {
                    let made = fs::write(file, "");
                    while made.is_ok() && file.exists() {
                        thread::sleep(Duration::from_millis(5));
                    }
                }
                (None, Some(time)) => thread::sleep(time),
                (None, None) => {
                    let _ = raise(Signal::SIGKILL);
                }
            }
        }
    }
}
