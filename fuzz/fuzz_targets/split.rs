//! Any bytes in any format, cut anywhere: the splitter finds PostgreSQL's lines, and accounts for every byte.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pgsluice_fuzz::split::check(bytes));
