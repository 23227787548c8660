//! A test for each server, and those that a server is too old for.

use std::io::Write;

use super::{Bench, Server};

/// A module for each major version, `pg13` and so on, and in it a test for each name, which calls
/// the function with the name and the server if that server is to be tried.
macro_rules! on_each_server {
    ($check:path, $names:tt) => {
        $crate::harness::on_each_server!(@ pg13 13 $check, $names);
        $crate::harness::on_each_server!(@ pg14 14 $check, $names);
        $crate::harness::on_each_server!(@ pg15 15 $check, $names);
        $crate::harness::on_each_server!(@ pg16 16 $check, $names);
        $crate::harness::on_each_server!(@ pg17 17 $check, $names);
        $crate::harness::on_each_server!(@ pg18 18 $check, $names);
    };
    (@ $module:ident $major:literal $check:path, [$($name:ident,)*]) => {
        mod $module {
            $(#[test] fn $name() {
                if let Some(server) = $crate::harness::Server::to_try($major) {
                    $check(stringify!($name), server);
                }
            })*
        }
    };
}
pub(crate) use on_each_server;

/// Says what must be seen even if the test succeeds: past the harness, which keeps such output.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Runs a test on both servers.
pub(crate) fn on_both(test: impl Fn(&Bench)) {
    for server in [Server::PG15, Server::PG18] {
        test(&Bench::new(server));
    }
}
