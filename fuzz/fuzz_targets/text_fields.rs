//! Any bytes in any COPY text format: nothing panics, and each row has PostgreSQL's fields.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pgsluice_fuzz::fields::check_text(bytes));
