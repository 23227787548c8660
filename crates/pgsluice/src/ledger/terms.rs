//! The terms of a load that its options set: every option that decides how rows are read, routed or changed.
//!
//! A job is destructured field by field, so an option that is neither a term nor known to be harmless does
//! not compile.

use std::collections::BTreeMap;

use pgsluice_core::format::{Format, Syntax};

use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::job::{
    ChangeOptions, ExchangeMode, InputOptions, Job, SafetyOptions, ShareOptions, SpeedOptions,
    TargetOptions,
};
use crate::ledger::sql::json::json;
use crate::ledger::sql::terms;
use crate::source::{FileFormat, Header, OpenRelation};

/// The number of the rules by which rows are read and routed. A load that was begun under another number
/// cannot be resumed. Raise it by hand with each change to the routing of any row, or to the spelling of a
/// layout.
const RULES: u32 = 1;

/// Returns the terms of a load, as JSON, to which the server adds its own. `format` is the format as the
/// server of this version reads it.
pub(super) fn describe_load(job: &Job, format: &Format, version: u32) -> Result<String> {
    let Job { input, target, changes, speed, safety } = job;
    // Neither the partitions that are created nor the final table of the rows is a property of a row.
    let TargetOptions {
        table: _,
        create_partitions: _,
        step: _,
        max_new_partitions: _,
        sink: _,
        is_scratch: _,
    } = target;
    let SpeedOptions { jobs: _, threads: _, memory: _, few_rows: _, binary, native } = speed;
    // The care with which rows are stored does not change them. The ledger knows the rejected rows. Only a
    // replacing load removes rows: if it resumed another load, it would remove the rows of that load.
    let SafetyOptions {
        self_test: _,
        exchange,
        atomic: _,
        swap_patience: _,
        lock_timeout: _,
        max_lag: _,
        rejects,
        load_id: _,
        share,
        ledger: _,
        once: _,
        end_other: _,
        shared: _,
    } = safety;
    let mut terms = BTreeMap::from([
        ("rules", RULES.to_string()),
        ("PostgreSQL", (version / 10_000).to_string()),
    ]);
    terms.extend((!native).then(|| ("no_native", "true".to_owned())));
    let replaces = *exchange == Some(ExchangeMode::Replace);
    terms.extend(replaces.then(|| ("exchange", "replace".to_owned())));
    if let Some(ShareOptions { participant: _, of }) = share {
        terms.insert("participant", "true".to_owned());
        terms.extend(of.map(|of| ("participants", of.to_string())));
        // The hash of a share covers its rows as they are sent: as text if typed rows may be rejected.
        terms.extend((!binary).then(|| ("wire", "text".to_owned())));
        let as_text = rejects.is_some() && input.file_format.is_typed();
        terms.extend(as_text.then(|| ("max_rejects", "true".to_owned())));
    }
    terms.extend(describe_input(input, format));
    terms.extend(changes.terms());
    json(&terms)
}

/// Returns the terms of a writer, as JSON. Each of its batches is read with its own options.
pub(crate) fn describe_writer(changes: &ChangeOptions, is_shared: bool) -> Result<String> {
    let writer = ("writer", "true".to_owned());
    let shared = is_shared.then(|| ("shared", "true".to_owned()));
    let terms = changes.terms().into_iter().chain([writer]).chain(shared);
    json(&terms.collect::<BTreeMap<_, _>>())
}

fn describe_input(
    input: &InputOptions,
    format: &Format,
) -> impl Iterator<Item = (&'static str, String)> {
    // The inputs have fingerprints, and the server lists the columns with their types.
    let InputOptions {
        files,
        is_format_given: _,
        file_format,
        format: _,
        header,
        encoding,
        columns: _,
        by_name,
        round,
        names: _,
        fields,
    } = input;
    let Format { delimiter, null, syntax } = format;
    let header = match header {
        Header::Absent => None,
        // Each of these skips one row. After an error about a header, the user may resume with `--header 1`.
        Header::Present | Header::Match | Header::Skip(1) => Some("true".to_owned()),
        Header::Skip(lines) => Some(lines.to_string()),
        Header::Map => Some("map".to_owned()),
    };
    let (name, quotes) = match *syntax {
        Syntax::Text => ("text", None),
        // The end marker depends on the version.
        Syntax::Csv { quote, escape, end_marker: _ } => ("csv", Some((quote, escape))),
    };
    let name = match file_format {
        FileFormat::Delimited => name,
        other => other.name(),
    };
    let given = [
        ("format", Some(name.to_owned())),
        ("delimiter", Some(byte(*delimiter))),
        ("null", Some(String::from_utf8_lossy(null).into_owned())),
        ("quote", quotes.map(|(quote, _)| byte(quote))),
        ("escape", quotes.map(|(_, escape)| byte(escape))),
        ("header", header),
        ("encoding", (!encoding.is_utf8()).then(|| encoding.name().to_owned())),
        ("round", round.then(|| "true".to_owned())),
        ("where", files.table().and_then(OpenRelation::filter).map(str::to_owned)),
    ];
    let given = given.into_iter().filter_map(|(name, value)| Some((name, value?)));
    given.chain(fields.terms()).chain(by_name.terms())
}

fn byte(byte: u8) -> String {
    match char::from(byte) {
        plain if byte.is_ascii_graphic() => plain.to_string(),
        other => other.escape_default().to_string(),
    }
}

/// Checks that the terms of a load are the same as before.
pub(super) fn check(before: &str, now: &str) -> Result<()> {
    match terms::difference(before, now)? {
        None => Ok(()),
        Some([before, now]) => {
            let message = format!("this load was begun {before}, and is resumed {now}");
            Err(Error::new(Kind::Server, message).with_sqlstate("55000"))
        }
    }
}
