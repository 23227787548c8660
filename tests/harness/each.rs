//! A test for each server, and what is left out on one.

use std::fs::OpenOptions;
use std::io::Write;

/// A module for each major version, `pg13` and so on, and in it a test for each name. If that server is to be
/// tried, the test calls the function of its name with the server; or with what is made `with` it; or it
/// calls another function, `each`, with the name and the server.
macro_rules! on_each_server {
    ([$($name:ident,)*]) => {
        $crate::harness::on_each_server!(@all server [$({$name super::$name(server)})*]);
    };
    (with $make:path, [$($name:ident,)*]) => {
        $crate::harness::on_each_server!(@all server [$({$name super::$name(&$make(server))})*]);
    };
    (each $check:path, [$($name:ident,)*]) => {
        $crate::harness::on_each_server!(@all server [$({$name $check(stringify!($name), server)})*]);
    };
    (@all $server:ident $tests:tt) => {
        $crate::harness::on_each_server!(@ pg13 13 $server $tests);
        $crate::harness::on_each_server!(@ pg14 14 $server $tests);
        $crate::harness::on_each_server!(@ pg15 15 $server $tests);
        $crate::harness::on_each_server!(@ pg16 16 $server $tests);
        $crate::harness::on_each_server!(@ pg17 17 $server $tests);
        $crate::harness::on_each_server!(@ pg18 18 $server $tests);
    };
    (@ $module:ident $major:literal $server:ident [$({$name:ident $call:expr})*]) => {
        mod $module {
            $(#[test] fn $name() {
                let test = concat!(module_path!(), "::", stringify!($name));
                if let Some($server) = $crate::harness::Server::to_try($major, test) {
                    $call;
                }
            })*
        }
    };
}
pub(crate) use on_each_server;

/// Says and counts that `test`, or a part of it, is left out. `scripts/count_skips.sh` holds what is counted
/// against `tests/skips.txt`.
pub(crate) fn skip(test: &str, why: &str) {
    let test = test.split_once("::").map_or(test, |(_, path)| path);
    say(&format!("skipped: {test}: {why}"));
    if let Some(file) = std::env::var_os("PGSLUICE_TEST_SKIPS") {
        let mut file = OpenOptions::new().append(true).open(file).unwrap();
        // In one piece: others write as well.
        file.write_all(format!("{test}: {why}\n").as_bytes()).unwrap();
    }
}

/// Says what must be seen even if the test succeeds: past the harness, which keeps such output.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
