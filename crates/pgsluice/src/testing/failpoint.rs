//! Points at which a test kills the process or holds it up, to see what is left then. Without the
//! feature `failpoints` none of them is compiled.
//!
//! `PGSLUICE_FAILPOINT=name:3` kills the process when it comes to the point for the third time, `name`
//! alone for the first. With `PGSLUICE_FAILPOINT_SLEEP=200` it sleeps there for 200 ms instead. With
//! `PGSLUICE_FAILPOINT_HOLD=file` it makes that file and waits there until the file is removed. The
//! crate `fail` has no action that ends a process as SIGKILL does.

/// All points, in the order in which a load and its payloads come to them.
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

/// Comes to the point `name`.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub fn failpoint(_name: &'static str) {}

/// Comes to the point `name`.
#[cfg(feature = "failpoints")]
pub fn failpoint(name: &'static str) {
    use std::sync::LazyLock;

    static CHOSEN: LazyLock<Option<chosen::Chosen>> = LazyLock::new(chosen::Chosen::read);
    if let Some(chosen) = CHOSEN.as_ref().filter(|chosen| chosen.name == name) {
        chosen.reach();
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

    /// The failpoint that the environment asks for.
    pub(crate) struct Chosen {
        pub(crate) name: &'static str,
        /// How often it is still to be reached.
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
                // A test that waits for a point that is not there must not succeed.
                name: name.unwrap_or_else(|| panic!("there is no failpoint {asked}")),
                left: AtomicU64::new(count.unwrap_or(1)),
                sleep: sleep.map(Duration::from_millis),
                hold: env::var_os("PGSLUICE_FAILPOINT_HOLD").map(PathBuf::from),
            })
        }

        pub(crate) fn reach(&self) {
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
