//! A server's refusal turned into an error at the row that it is about.
//!
//! COPY says in its CONTEXT which line of the payload it was at; the payload knows where each of
//! its rows stands in the input.

use std::sync::Arc;

use pgsluice_core::bucket::Payload;
use pgsluice_core::format::Format;
use pgsluice_core::position::Position;

use super::lines;
use crate::error::{Error, Kind};
use crate::flow::Flow;

/// A payload of the COPY that failed, and the lines that were sent before it.
#[derive(Clone)]
pub(super) struct Sent {
    pub lines_before: u64,
    pub payload: Arc<Payload>,
}

/// The error for `error`, which came while the payloads `sent` were copied.
pub(super) fn refusal(flow: &Flow<'_>, error: &tokio_postgres::Error, sent: &[Sent]) -> Error {
    let Some(db) = error.as_db_error() else {
        return Error::new(Kind::Connection, format!("connection to the server was lost: {}", crate::error::chain(error)))
            .hint("Look at the server's log. The rows of this load that were being sent are not in the table.");
    };
    let context = db.where_().unwrap_or_default();
    let mut report = Error::new(Kind::Data, db.message()).sqlstate(db.code().code());
    if let Some(detail) = db.detail() {
        report = report.detail(detail);
    }
    if let Some(hint) = db.hint() {
        report = report.hint(hint);
    }
    let place = Context::parse(context, flow);
    if let Some(column) = place.column.or_else(|| db.column().map(str::to_owned)) {
        report = report.column(column);
    }
    match place.line.and_then(|line| position(line, sent, &flow.plan.format)) {
        Some(position) => report.at(flow.place(position)),
        None if context.is_empty() => report,
        None => report.detail(format!("The server was at: {context}")),
    }
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
    fn parse(context: &str, flow: &Flow<'_>) -> Self {
        let relations = flow.plan.tree.nodes.iter().map(|node| node.relation.name.as_str());
        Self::parse_with(context, relations, &flow.plan.catalogue.columns)
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
            [':', ','].iter().filter_map(|end| rest.find(&format!(" {name}{end}"))).min()
        };
        let named = columns.iter().filter_map(|name| Some((at(name)?, name)));
        found.column = named
            .min_by_key(|(at, name)| (*at, std::cmp::Reverse(name.len())))
            .map(|(_, name)| name.clone());
        found
    }
}

/// The position of the row that the server was at in line `line` of all that was sent.
fn position(line: u64, sent: &[Sent], format: &Format) -> Option<Position> {
    let after = sent.partition_point(|sent| sent.lines_before < line);
    let Sent { lines_before, payload } = &sent[after.checked_sub(1)?];
    let row = lines::row(payload, format, *lines_before == 0, line - lines_before)?;
    payload.position(row)
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
        assert_eq!(parse("COPY t, line 3, column line 7, null"), (Some(3), Some("line 7".into())));
        assert_eq!(parse("COPY t, Zeile 3, Spalte a: »x«"), (Some(3), Some("a".into())));
        assert_eq!(parse("COPY t, line 3, column b: \"x a: y\""), (Some(3), Some("b".into())));
        assert_eq!(parse("SQL statement \"SELECT 1\""), (None, None));
    }
}
