//! A role that belongs to one test.

use std::sync::atomic::{AtomicU32, Ordering};

use super::{Address, Bench, Session};

/// A role that can log in, and is dropped at the end of the test.
pub(crate) struct Role<'b> {
    bench: &'b Bench,
    pub(crate) name: String,
    pub(crate) url: String,
}

impl<'b> Role<'b> {
    pub(crate) fn new(bench: &'b Bench) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("role_{}_{count}", std::process::id());
        bench.session.run(&format!("CREATE ROLE {name} LOGIN PASSWORD 'secret'"));
        let Address { host, port, database, .. } = Address::from_url(&bench.url);
        let url = format!("postgresql://{name}:secret@{host}:{port}/{database}");
        Self { bench, name, url }
    }

    pub(crate) fn session(&self) -> Session {
        Session::open(&self.url)
    }
}

impl Drop for Role<'_> {
    fn drop(&mut self) {
        let name = &self.name;
        let gone = format!("DROP OWNED BY {name}; DROP ROLE {name}");
        // A session of the test may still be open.
        let _ = self.bench.session.try_run(&format!("REASSIGN OWNED BY {name} TO CURRENT_USER"));
        if let Err(error) = self.bench.session.try_run(&gone) {
            eprintln!("{gone}: {error}");
        }
    }
}
