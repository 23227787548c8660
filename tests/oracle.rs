//! The oracle test: the same input by `COPY root` and by `pgsluice load` must put the same rows
//! into the same leaves, and what the one refuses the other must refuse.
//!
//! Each case under `tests/trees/` is a test on each server; pgsluice loads it with one job and
//! with three in little memory.

mod trial;

use self::trial::Trial;
use crate::server::Server;
use crate::trees::{self, Case, Expect};

/// Names the folders of `tests/trees/`, in order, and makes a test of each on each server.
macro_rules! cases {
    ($($name:ident,)*) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];
        mod pg15 { $(#[test] fn $name() { super::check(stringify!($name), super::Server::Pg15); })* }
        mod pg18 { $(#[test] fn $name() { super::check(stringify!($name), super::Server::Pg18); })* }
    };
}

cases! {
    attached_columns,
    boolean_range_and_hash,
    bpchar_list,
    char_padding,
    columns_omitted,
    columns_reordered,
    csv_cr,
    csv_crlf,
    csv_empty_file,
    csv_empty_lines,
    csv_end_marker_15,
    csv_end_marker_18,
    csv_escape,
    csv_header,
    csv_header_match,
    csv_no_final_newline,
    csv_null_string,
    csv_quoting,
    csv_tab_pipe,
    custom_hash_class,
    custom_operator_class,
    date_spellings,
    date_style_dmy,
    default_at_each_level,
    default_only,
    error_default_constraint,
    error_domain,
    error_empty_line,
    error_extra_column,
    error_hash_remainder,
    error_header_mismatch,
    error_header_short,
    error_invalid_utf8,
    error_invalid_utf8_key,
    error_key_empty,
    error_key_range,
    error_key_syntax,
    error_missing_column,
    error_mixed_line_ends,
    error_no_partition,
    error_no_partition_null,
    error_not_null,
    error_nul_byte,
    error_second_file,
    error_text_missing_column,
    error_text_octal,
    error_unique,
    error_unterminated_quote,
    error_value_syntax,
    error_varchar_length,
    expression_key,
    foreign_key,
    four_levels,
    from_stdin,
    generated_column,
    generated_virtual,
    hash_float,
    hash_int,
    hash_list,
    hash_mixed_moduli,
    hash_several_columns,
    hash_smallint,
    hash_text_default_collation,
    hash_times,
    hash_uuid,
    hostile_names,
    hostile_table,
    icu_collations,
    identity_omitted,
    indexes_and_keys,
    integer_spellings,
    integer_spellings_16,
    key_column_omitted,
    leaf_check,
    leaf_default_differs,
    leaf_privilege,
    list_boolean,
    list_date,
    list_domain,
    list_enum,
    list_int,
    list_jsonb,
    list_range_hash,
    list_text,
    list_uuid,
    many_leaves,
    nondeterministic_hash,
    numeric_below_native,
    other_schemas,
    pattern_operator_class,
    plain_table,
    plain_text_escapes,
    range_bigint,
    range_date,
    range_hash,
    range_int,
    range_interval,
    range_nulls_to_default,
    range_numeric,
    range_smallint,
    range_text_c,
    range_text_collated,
    range_three_columns,
    range_timestamp,
    range_timestamptz,
    range_two_columns,
    range_uuid,
    reserved_words,
    row_security,
    row_security_leaf,
    serial_omitted,
    several_files,
    text_crlf,
    text_custom_delimiter,
    text_end_marker,
    text_escapes_in_keys,
    text_final_backslash,
    text_header,
    timestamp_typmod,
    timestamptz_dst_zone,
    timestamptz_fixed_zone,
    trigger_after_row,
    trigger_before_row,
    trigger_before_row_key,
    trigger_skips_rows,
    trigger_statement_between,
    trigger_statement_leaf,
    trigger_statement_plain,
    trigger_statement_root,
    trigger_transition_table,
    varchar_trailing_blanks,
    wide_rows,
}

#[test]
fn every_folder_is_a_case() {
    assert_eq!(trees::names(), NAMES);
}

fn check(name: &str, server: Server) {
    let case = Case::read(name);
    let scratch = server.scratch();
    let judge = scratch.session();
    if let Some(why) = case.skipped(server, &judge) {
        eprintln!("skipped: {why}");
        return;
    }
    let trial = Trial::prepare(&case, scratch, judge);
    match &case.expect {
        Expect::Loaded(loaded) => trial.must_agree(loaded),
        Expect::Refused { error } => trial.must_refuse(error),
    }
}
