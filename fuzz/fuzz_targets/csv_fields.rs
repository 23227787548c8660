//! Any bytes in any CSV format: nothing panics, and the fields of each row are PostgreSQL's.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pgsluice_fuzz::fields::check_csv(bytes));
