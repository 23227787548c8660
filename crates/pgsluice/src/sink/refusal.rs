//! A server's refusal turned into an error at the row that it is about.
//!
//! COPY says in its CONTEXT which line of the payload it was at; the payload knows where each of
//! its rows stands in the input.

use std::sync::Arc;

use pgsluice_core::bucket::{Payload, RowAt};
use pgsluice_core::catalog::Relation;
use pgsluice_core::format::Format;
use tokio_postgres::error::{DbError, SqlState};

use super::lines;
use crate::error::Error;
use crate::flow::Flow;
use crate::kind::Kind;
use crate::pg::sqlstate;

/// A payload of the COPY that failed, and the lines that were sent before it.
#[derive(Clone)]
pub(super) struct Sent {
    pub lines_before: u64,
    pub payload: Arc<Payload>,
}

/// The error for `error`, which came while the payloads `sent` were copied.
pub(super) fn refusal(flow: &Flow<'_>, error: &tokio_postgres::Error, sent: &[Sent]) -> Error {
    let Some(db) = error.as_db_error() else { return lost(Some(error)) };
    let mut report = Error::from(db);
    if !sqlstate::blames_row(db.code().code()) {
        return report;
    }
    report = report.of_kind(Kind::Data);
    let beside = beside(flow, sent);
    if let (Some(beside), Some(sent)) = (&beside, sent.last()) {
        let leaf = flow.plan.tree.nodes[sent.payload.node()].relation.label();
        report = report.detail(format!("Table {} was being built for {leaf}.", beside.name));
    }
    if let Some(hint) = no_longer_its_row(flow, db, sent) {
        report = report.hint(hint);
    }
    let context = db.where_().unwrap_or_default();
    let place = Context::parse(context, flow, beside.as_ref());
    if let Some(column) = place.column.or_else(|| db.column().map(str::to_owned)) {
        report = report.column(column);
    }
    let row = place.line.and_then(|line| row(line, sent, &flow.plan.format));
    if let Some(place) = row.and_then(|row| flow.place_of(row)) {
        return report.at(place);
    }
    if !context.is_empty() {
        report = report.detail(format!("The server was at: {context}"));
    }
    match range(flow, sent) {
        Some(range) => report.detail(range),
        None => report,
    }
}

/// A hint where a partition refuses a row because of its bounds: the row is another's by now.
fn no_longer_its_row(flow: &Flow<'_>, db: &DbError, sent: &[Sent]) -> Option<&'static str> {
    let node = &flow.plan.tree.nodes[sent.last()?.payload.node()];
    // A CHECK constraint has a name, and a table with partitions says that none takes the row.
    let by_bounds = *db.code() == SqlState::CHECK_VIOLATION && db.constraint().is_none();
    (by_bounds && node.parent.is_some() && node.key.is_none()).then_some(
        "If partitions were attached during the load, load what is missing; otherwise look for a \
         trigger that changes the key.",
    )
}

/// The error for `error`, which came before any row was sent.
pub(super) fn unwelcome(error: &tokio_postgres::Error) -> Error {
    error.as_db_error().map_or_else(|| lost(Some(error)), Error::from)
}

/// The error for a connection that ended by itself.
pub(crate) fn lost(error: Option<&tokio_postgres::Error>) -> Error {
    if let Some(db) = error.and_then(tokio_postgres::Error::as_db_error) {
        return Error::from(db);
    }
    let lost = Error::new(Kind::Connection, "server closed the connection unexpectedly");
    // 08006 stands for every broken connection; the server itself had no chance to say so.
    match sqlstate::next_step("08006") {
        Some(hint) => lost.hint(hint),
        None => lost,
    }
}

/// The table that is built for the leaf in whose place the rows were sent to it.
fn beside(flow: &Flow<'_>, sent: &[Sent]) -> Option<Relation> {
    flow.exchange?.relation(sent.last()?.payload.node())
}

/// All that was sent, where the server does not say which row it refused: triggers and constraints
/// that are looked at in the end have no row.
fn range(flow: &Flow<'_>, sent: &[Sent]) -> Option<String> {
    let rows: usize = sent.iter().map(|sent| sent.payload.rows()).sum();
    let places = || sent.iter().flat_map(|sent| sent.payload.in_order().map(|(at, _)| at));
    let order = |at: &RowAt| (at.split, at.offset);
    let first = flow.place_of(places().min_by_key(order)?)?;
    let last = flow.place_of(places().max_by_key(order)?)?;
    Some(match rows {
        1 => format!("The row is the one at {first}."),
        _ => format!("The row is one of {rows} from {first} to {last}."),
    })
}

/// What the CONTEXT of COPY says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Context {
    /// Line of the COPY, from 1.
    line: Option<u64>,
    column: Option<String>,
}

impl Context {
    /// `COPY relation, line N, column name: "value"`, in the server's language: the relation and
    /// the columns are known, and the number is the first after the relation.
    fn parse(context: &str, flow: &Flow<'_>, beside: Option<&Relation>) -> Self {
        let relations = flow.plan.tree.nodes.iter().map(|node| node.relation.name.as_str());
        let beside = beside.map(|relation| relation.name.as_str());
        Self::parse_with(context, relations.chain(beside), &flow.plan.catalogue.columns)
    }

    fn parse_with<'r>(
        context: &str,
        relations: impl Iterator<Item = &'r str>,
        columns: &[String],
    ) -> Self {
        let mut found = Self::default();
        let Some(line) = context.lines().rfind(|line| line.contains("COPY")) else { return found };
        // The longest name that is there: leaf_1 is also a part of leaf_12.
        let relation = relations.filter(|name| line.contains(name)).max_by_key(|name| name.len());
        let after =
            relation.and_then(|name| line.split_once(name)).map_or(line, |(_, after)| after);
        let Some(start) = after.find(|c: char| c.is_ascii_digit()) else { return found };
        let digits =
            after[start..].find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len() - start);
        found.line = after[start..start + digits].parse().ok();
        let Some(rest) = after[start + digits..].strip_prefix(", ") else { return found };
        // The value, which may hold anything, stands behind the column.
        let at = |name: &String| {
            let ends = [':', ','].iter().filter_map(|end| rest.find(&format!(" {name}{end}")));
            // In binary no value follows.
            let last = rest.strip_suffix(name.as_str()).and_then(|rest| rest.strip_suffix(' '));
            ends.chain(last.map(str::len)).min()
        };
        let named = columns.iter().filter_map(|name| Some((at(name)?, name)));
        found.column = named
            .min_by_key(|(at, name)| (*at, std::cmp::Reverse(name.len())))
            .map(|(_, name)| name.clone());
        found
    }
}

/// The row that the server was at in line `line` of all that was sent.
fn row(line: u64, sent: &[Sent], format: &Format) -> Option<RowAt> {
    let after = sent.partition_point(|sent| sent.lines_before < line);
    let Sent { lines_before, payload } = &sent[after.checked_sub(1)?];
    lines::row(payload, format, *lines_before == 0, line - lines_before)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(context: &str) -> (Option<u64>, Option<String>) {
        let columns = ["a".to_owned(), "line 7".to_owned(), "b".to_owned()];
        let relations = ["t", "leaf_1", "leaf_12"].into_iter();
        let Context { line, column } = Context::parse_with(context, relations, &columns);
        (line, column)
    }

    #[test]
    fn reads_the_context_of_copy() {
        assert_eq!(parse("COPY leaf_12, line 345, column b: \"x\""), (Some(345), Some("b".into())));
        assert_eq!(parse("COPY leaf_1, line 2"), (Some(2), None));
        assert_eq!(parse("COPY t, line 3: \"a: b\""), (Some(3), None));
        assert_eq!(parse("COPY leaf_1, line 9, column b"), (Some(9), Some("b".into())));
        assert_eq!(parse("COPY t, line 3, column line 7, null"), (Some(3), Some("line 7".into())));
        assert_eq!(parse("COPY t, Zeile 3, Spalte a: »x«"), (Some(3), Some("a".into())));
        assert_eq!(parse("COPY t, line 3, column b: \"x a: y\""), (Some(3), Some("b".into())));
        assert_eq!(parse("SQL statement \"SELECT 1\""), (None, None));
    }
}
