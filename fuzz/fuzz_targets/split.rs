//! Any bytes in any format, cut anywhere: the lines of PostgreSQL, and every byte accounted for.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pgsluice_fuzz::split::check(bytes));
