//! Rows appended, payloads taken and given back in any order: each row comes out once.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pgsluice_fuzz::bucket::check(bytes));
