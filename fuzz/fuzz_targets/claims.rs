//! A load in any order of its steps: exactly the committed rows are claimed.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pgsluice_fuzz::claims::check(bytes));
