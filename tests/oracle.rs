//! The oracle test: the same input by `COPY root` and by `pgsluice load` must put the same rows
//! into the same leaves, and what the one refuses the other must refuse.
//!
//! Each case under `tests/trees/` is a test on each server; pgsluice loads it with one job and
//! with three in little memory.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::copy_options::identifier;
use crate::loader::{Load, Outcome, Summary};
use crate::placement::Placement;
use crate::server::{Scratch, Server, Session, explain};
use crate::trees::{self, Case, Expect, Loaded, Refusal};

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

/// The settings under which pgsluice loads each case.
const SETTINGS: [(&str, u32, Option<&str>); 2] =
    [("leaf_side_1", 1, None), ("leaf_side_3", 3, Some("8MiB"))];
const ROOT_SIDE: &str = "root_side";

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

/// A case in its database, with a schema for each side.
struct Trial<'a> {
    case: &'a Case,
    scratch: Scratch,
    judge: Session,
    inputs: Vec<PathBuf>,
    /// Held for the inputs in it.
    _folder: TempDir,
}

impl<'a> Trial<'a> {
    fn prepare(case: &'a Case, scratch: Scratch, judge: Session) -> Self {
        for side in SETTINGS.iter().map(|setting| setting.0).chain([ROOT_SIDE]) {
            let name = identifier(side);
            judge.run(&format!("CREATE SCHEMA {name}; SET search_path = {name}"));
            judge.run(&case.schema(side));
        }
        let folder = tempfile::tempdir().expect("a folder for the inputs");
        let inputs = case.inputs(&judge, folder.path());
        for (parameter, value) in &case.settings {
            scratch.set(parameter, value);
        }
        Self { case, scratch, judge, inputs, _folder: folder }
    }

    /// Loads every input by `COPY root`, the way that defines what is right.
    fn copy_root(&self) -> Result<(), tokio_postgres::Error> {
        let session = self.scratch.session();
        let sql = self.case.copy.copy_from(&self.case.table(ROOT_SIDE));
        for input in &self.inputs {
            session.copy_in(&sql, fs::read(input).expect("the input is read"))?;
        }
        Ok(())
    }

    fn load(&self, side: &str, jobs: u32, memory: Option<&str>) -> Outcome {
        Load {
            url: self.scratch.url(),
            table: self.case.table(side),
            files: &self.inputs,
            stdin: self.case.stdin,
            copy: &self.case.copy,
            jobs,
            memory,
        }
        .run()
    }

    fn must_agree(&self, expected: &Loaded) {
        if let Err(error) = self.copy_root() {
            panic!("COPY refuses this case: {}", explain(&error));
        }
        let root = self.placement(ROOT_SIDE);
        assert_eq!(root.count(), expected.rows, "rows that COPY loaded: {}", self.case.about);
        for (side, jobs, memory) in SETTINGS {
            let outcome = self.load(side, jobs, memory);
            let fail = |why: String| -> ! {
                panic!("{}\n-j {jobs}: {why}\n{}", self.case.about, outcome.stderr)
            };
            let summary = outcome.summary().unwrap_or_else(|error| fail(error));
            if let Some(difference) = root.difference(&self.placement(side)) {
                fail(difference);
            }
            if let Err(why) = self.same_answers(side).and_then(|()| lanes(&summary, expected)) {
                fail(why);
            }
        }
    }

    fn must_refuse(&self, refusal: &Refusal) {
        let error = self.copy_root().expect_err("COPY takes what it should refuse");
        let code = error.code().map(|code| code.code());
        assert_eq!(code, Some(&*refusal.sqlstate), "{}", explain(&error));
        for (side, jobs, memory) in SETTINGS {
            let outcome = self.load(side, jobs, memory);
            if let Err(why) = refused(&outcome, refusal) {
                panic!("{}\n-j {jobs}: {why}\n{}", self.case.about, outcome.stderr);
            }
        }
    }

    fn placement(&self, side: &str) -> Placement {
        Placement::read(&self.judge, side, &self.case.table(side), &self.case.compare.without)
    }

    /// The case's own queries, asked on both sides.
    fn same_answers(&self, side: &str) -> Result<(), String> {
        for query in &self.case.compare.queries {
            let [root, leaf] = [ROOT_SIDE, side].map(|side| {
                self.judge.run(&format!("SET search_path = {}", identifier(side)));
                self.judge.rows(query)
            });
            if root != leaf {
                return Err(format!("{query}\n  COPY     {root:?}\n  pgsluice {leaf:?}"));
            }
        }
        Ok(())
    }
}

fn lanes(summary: &Summary, expected: &Loaded) -> Result<(), String> {
    let read = expected.read.unwrap_or(expected.rows);
    if (summary.rows_loaded, summary.rows_read) != (expected.rows, read) {
        return Err(format!("{} of {read} rows should be loaded: {summary:#?}", expected.rows));
    }
    if let Some(native) = &expected.native
        && !native.admits(summary.lanes.native, read)
    {
        return Err(format!("the native lane should have {native:?} rows: {summary:#?}"));
    }
    let said = summary.fallbacks.iter().map(|f| format!("{} {}\n", f.what, f.why));
    let said = said.collect::<String>().to_lowercase();
    match expected.fallbacks.iter().find(|part| !part.split('|').any(|part| said.contains(part))) {
        Some(part) => Err(format!("no fallback says {part:?}: {summary:#?}")),
        None => Ok(()),
    }
}

fn refused(outcome: &Outcome, refusal: &Refusal) -> Result<(), String> {
    if outcome.status != Some(1) {
        return Err(format!("exit status {:?} in place of 1", outcome.status));
    }
    let mut parts = vec![refusal.sqlstate.clone(), refusal.contains.clone()];
    if let Refusal { file: Some(file), line: Some(line), offset: Some(offset), .. } = refusal {
        parts.push(format!("{file}:{line}:{offset}:"));
    }
    match parts.iter().find(|part| !outcome.stderr.contains(*part)) {
        Some(part) => Err(format!("the message lacks {part:?}")),
        None => Ok(()),
    }
}
