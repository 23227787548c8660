//! The ledger among others: who else may have put something on it, what others may hold, what is left of a
//! load, and ledgers of the format before.

mod durable;
mod kept;
mod strangers;
mod trusted;
mod upgraded;

use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::failures::{Bench, Ended, Running, program};
use crate::server::{Address, Session};

/// `pgsluice ledger`.
fn ledger(url: &str, arguments: &[&str]) -> Ended {
    let mut command = program();
    command.arg("ledger").args(arguments).args(["-d", url]);
    Running::start(command.stdin(Stdio::null())).ended()
}

/// A role that can log in, until the test ends.
struct Role<'b> {
    bench: &'b Bench,
    name: String,
    url: String,
}

impl<'b> Role<'b> {
    fn new(bench: &'b Bench) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("role_{}_{count}", std::process::id());
        bench.session.run(&format!("CREATE ROLE {name} LOGIN PASSWORD 'secret'"));
        let Address { host, port, database, .. } = Address::of(&bench.url);
        let url = format!("postgresql://{name}:secret@{host}:{port}/{database}");
        Self { bench, name, url }
    }

    fn session(&self) -> Session {
        Session::open(&self.url)
    }
}

impl Drop for Role<'_> {
    fn drop(&mut self) {
        let name = &self.name;
        let gone = format!("DROP OWNED BY {name}; DROP ROLE {name}");
        // A session of the test's may not have ended yet.
        let _ = self.bench.session.try_run(&format!("REASSIGN OWNED BY {name} TO CURRENT_USER"));
        if let Err(error) = self.bench.session.try_run(&gone) {
            eprintln!("{gone}: {error}");
        }
    }
}
