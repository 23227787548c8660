//! A load in any order of its steps: what is claimed is committed, and nothing else.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pgsluice_fuzz::claims::check(bytes));
