//! Rows through any small tree: the router agrees with its naive twin.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pgsluice_fuzz::route::check(bytes));
