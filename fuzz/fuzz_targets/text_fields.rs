//! Any bytes in any COPY text format: nothing panics, and the fields of each row are PostgreSQL's.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pgsluice_fuzz::fields::check_text(bytes));
