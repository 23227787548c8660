//! Errors as text, and as the object of `--json`.

use pgsluice::error::{Location, Unit};
use pgsluice::{Error, Kind};
use serde::Serialize;

use crate::conceal::conceal;
use crate::exit;
use crate::output::print_json;

/// The object that `--json` prints instead of a result.
#[derive(Serialize)]
struct FailureObject {
    error: ErrorReport,
    exit_status: u8,
    load_id: Option<String>,
    committed: Option<u64>,
    in_doubt: Option<u64>,
}

/// The error, with the fields of PostgreSQL's errors.
#[derive(Serialize)]
struct ErrorReport {
    kind: &'static str,
    message: String,
    detail: Option<String>,
    hint: Option<String>,
    sqlstate: Option<String>,
    place: Option<FailurePlace>,
    column: Option<String>,
}

/// The location in the input.
#[derive(Serialize)]
struct FailurePlace {
    source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    row_group: Option<u64>,
    line: u64,
    offset: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ctid: Option<String>,
}

/// Returns the text of an error. Passwords are concealed in errors about arguments, which may contain one.
/// The server's messages about rows are unchanged.
pub(crate) fn text(error: &Error) -> String {
    conceal_for(error, &error.to_string())
}

fn conceal_for(error: &Error, text: &str) -> String {
    match error.kind() {
        Kind::Usage | Kind::Input => conceal(text),
        Kind::Data | Kind::Connection | Kind::Server | Kind::Internal | Kind::Interrupted => {
            text.to_owned()
        }
    }
}

/// Prints the object for an error. Ignores a failure, because the message was printed already.
pub(crate) fn print(error: &Error) {
    let _ = print_json(&object(error));
}

/// Returns the object for an error.
pub(crate) fn object(error: &Error) -> impl Serialize {
    let words = |text: Option<&str>| text.map(|text| conceal_for(error, text));
    let place = |place: &Location| {
        let Location { source, line, offset, unit, .. } = place;
        FailurePlace {
            source: source.clone(),
            row_group: unit.group(),
            line: *line,
            offset: *offset,
            row: (!matches!(unit, Unit::Bytes | Unit::Tuple)).then_some(*offset),
            ctid: place.ctid(),
        }
    };
    let report = ErrorReport {
        kind: kind(error.kind()),
        message: conceal_for(error, error.message()),
        detail: words(error.detail()),
        hint: words(error.hint().as_deref()),
        sqlstate: error.sqlstate().map(str::to_owned),
        place: error.place().map(place),
        column: error.column().map(str::to_owned),
    };
    let left = error.left();
    FailureObject {
        error: report,
        exit_status: exit::from_error(error),
        load_id: left.and_then(|left| left.load_id.clone()),
        committed: left.map(|left| left.committed),
        in_doubt: left.map(|left| left.in_doubt),
    }
}

/// Converts an error of clap.
pub(crate) fn from_clap(error: &clap::Error) -> Error {
    let text = conceal(&error.render().to_string());
    let lines = text.lines().take_while(|line| !line.is_empty()).map(str::trim);
    let message = lines.collect::<Vec<_>>().join(" ");
    let message = message.trim_start_matches("error: ");
    Error::new(Kind::Usage, message)
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Usage => "usage",
        Kind::Input => "input",
        Kind::Data => "data",
        Kind::Connection => "connection",
        Kind::Server => "server",
        Kind::Internal => "internal",
        Kind::Interrupted => "interrupted",
    }
}
