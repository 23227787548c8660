//! A server's refusal turned into an error at the row that it is about.
//!
//! COPY says in its CONTEXT which line of the payload it was at; the payload knows where each of
//! its rows stands in the input.

use std::sync::Arc;

use pgsluice_core::bucket::{Payload, RowAt};
use pgsluice_core::catalog::{NodeId, ROOT, Relation};
use pgsluice_core::format::Format;
use tokio_postgres::error::{DbError, SqlState};

use super::key::Key;
use super::lines;
use crate::error::Error;
use crate::flow::Flow;
use crate::kind::Kind;
use crate::pg::{lost, sqlstate};
use crate::rejects::Reason;

/// A payload of the COPY that failed, and the lines that were sent before it.
#[derive(Clone)]
pub(super) struct Sent {
    pub lines_before: u64,
    pub payload: Arc<Payload>,
}

/// What the server says of a row that it refuses.
pub(super) struct Blame {
    /// As an error, without the row's place.
    pub report: Error,
    pub reason: Reason,
    /// The line of what was sent, from 1, if it says so.
    pub line: Option<u64>,
    /// The key of the row, if it names that.
    pub key: Option<Key>,
}

/// What `error`, which came while rows of `node` were copied, says of one of them; None if it is about
/// something else.
pub(super) fn blame(flow: &Flow<'_>, error: &tokio_postgres::Error, node: NodeId) -> Option<Blame> {
    let db = error.as_db_error()?;
    let sqlstate = db.code().code();
    if !sqlstate::blames_row(sqlstate) {
        return None;
    }
    let mut report = Error::from(db).of_kind(Kind::Data);
    let beside = beside(flow, node);
    if let Some(beside) = &beside {
        let leaf = flow.plan.tree.nodes[node].relation.label();
        report = report.detail(format!("Table {} was being built for {leaf}.", beside.name));
    }
    if let Some(hint) = no_longer_its_row(flow, db, node) {
        report = report.hint(hint);
    }
    let context = Context::parse(db.where_().unwrap_or_default(), flow, node, beside.as_ref());
    let column = context.column.or_else(|| db.column().map(str::to_owned));
    if let Some(column) = &column {
        report = report.column(column);
    }
    let reason = Reason {
        table: flow.plan.tree.nodes[node].relation.label(),
        column,
        sqlstate: sqlstate.to_owned(),
        message: db.message().to_owned(),
        detail: db.detail().map(str::to_owned),
    };
    let key = db.detail().and_then(Key::parse);
    Some(Blame { report, reason, line: context.line, key })
}

/// The error for `error`, which came while the payloads `sent` were copied.
pub(super) fn refusal(flow: &Flow<'_>, error: &tokio_postgres::Error, sent: &[Sent]) -> Error {
    let node = sent.last().map_or(ROOT, |sent| sent.payload.node());
    let Some(Blame { report, line, .. }) = blame(flow, error, node) else {
        return unwelcome(error);
    };
    let row = line.and_then(|line| row(line, sent, &flow.plan.format));
    if let Some(place) = row.and_then(|row| flow.place_of(row)) {
        return report.at(place);
    }
    let context = error.as_db_error().and_then(DbError::where_);
    let at = context.map(|context| format!("The server was at: {context}"));
    at.into_iter().chain(range(flow, sent)).fold(report, Error::detail)
}

/// A hint where a partition refuses a row because of its bounds: the row is another's by now.
fn no_longer_its_row(flow: &Flow<'_>, db: &DbError, node: NodeId) -> Option<&'static str> {
    let node = &flow.plan.tree.nodes[node];
    // A CHECK constraint has a name, and a table with partitions says that none takes the row.
    let by_bounds = *db.code() == SqlState::CHECK_VIOLATION && db.constraint().is_none();
    (by_bounds && node.parent.is_some() && node.key.is_none()).then_some(
        "If partitions were attached during the load, load what is missing; otherwise look for a \
         trigger that changes the key.",
    )
}

/// The error for `error`, which is about no row.
pub(super) fn unwelcome(error: &tokio_postgres::Error) -> Error {
    error.as_db_error().map_or_else(|| lost(Some(error)), Error::from)
}

/// The table that is built for the leaf in whose place the rows were sent to it.
fn beside(flow: &Flow<'_>, node: NodeId) -> Option<Relation> {
    flow.exchange?.relation(node)
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
    fn parse(context: &str, flow: &Flow<'_>, node: NodeId, beside: Option<&Relation>) -> Self {
        // Rows are sent to their node, or through the root; of a tree of many nodes it takes long to look
        // for the name of each.
        let nodes = [ROOT, node].into_iter().map(|node| &flow.plan.tree.nodes[node]);
        let relations = nodes.map(|node| node.relation.name.as_str());
        let beside = beside.map(|relation| relation.name.as_str());
        Self::parse_with(context, relations.chain(beside), &flow.plan.catalogue.columns)
    }

    fn parse_with<'r>(
        context: &str,
        relations: impl Iterator<Item = &'r str>,
        columns: &[String],
    ) -> Self {
        let mut found = Self::default();
        let copies = context.lines().rev().find_map(|line| line.split_once("COPY"));
        let Some((_, line)) = copies else { return found };
        // The first name that is there, since a value may hold another; of those that begin there the
        // longest: leaf_1 is also a part of leaf_12.
        let places = relations.filter_map(|name| Some((line.find(name)?, name.len())));
        let relation = places.min_by_key(|(at, length)| (*at, std::cmp::Reverse(*length)));
        let after = relation.map_or(line, |(at, length)| &line[at + length..]);
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
        assert_eq!(parse("COPY t, line 3, column b: \"leaf_1 9\""), (Some(3), Some("b".into())));
        assert_eq!(parse("SQL statement \"SELECT 1\""), (None, None));
    }
}
