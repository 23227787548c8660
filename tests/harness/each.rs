//! A test for each server, and tests that are skipped on a server.

use std::fs::OpenOptions;
use std::io::Write;

/// Defines a module for each major version, `pg13` and so on, with a test for each name. If that server is
/// under test, the test calls the function of its name with the server, or with the value that `with`
/// creates. Or it calls another function, `each`, with the name and the server.
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

/// Reports and records that `test`, or a part of it, is skipped. `scripts/count_skips.sh` compares the record
/// with `tests/skips.txt`.
pub(crate) fn skip(test: &str, why: &str) {
    let test = test.split_once("::").map_or(test, |(_, path)| path);
    say(&format!("skipped: {test}: {why}"));
    if let Some(file) = std::env::var_os("PGSLUICE_TEST_SKIPS") {
        let mut file = OpenOptions::new().append(true).open(file).unwrap();
        // A single write, because other processes write too.
        file.write_all(format!("{test}: {why}\n").as_bytes()).unwrap();
    }
}

/// Prints a text that must be visible even if the test succeeds. It bypasses the test harness, which captures output.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
