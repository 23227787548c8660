//! Properties of the core, each a function of random bytes. proptest runs them here for a few seconds, and
//! the targets in `fuzz/` for any time.

pub mod attributes;
pub mod bucket;
pub mod choices;
pub mod claims;
pub mod fields;
pub mod lines;
pub mod route;
pub mod split;
pub mod tree;

use proptest::collection::vec;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn the_splitter_finds_the_lines_of_postgresql(bytes in vec(any::<u8>(), 0..60)) {
        split::check(&bytes);
    }

    #[test]
    fn the_parser_finds_the_csv_fields_of_postgresql(bytes in vec(any::<u8>(), 0..60)) {
        fields::check_csv(&bytes);
    }

    #[test]
    fn the_parser_finds_the_text_fields_of_postgresql(bytes in vec(any::<u8>(), 0..60)) {
        fields::check_text(&bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn the_router_agrees_with_its_naive_twin(bytes in vec(any::<u8>(), 0..400)) {
        route::check(&bytes);
    }
}

proptest! {
    #[test]
    fn rows_come_out_of_the_buckets_once(bytes in vec(any::<u8>(), 0..400)) {
        bucket::check(&bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn claims_are_of_committed_rows_and_of_no_others(bytes in vec(any::<u8>(), 0..600)) {
        claims::check(&bytes);
    }
}
