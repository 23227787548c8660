//! Conversion of a server's refusal into an error with the location of the row.
//!
//! The server says in the CONTEXT which line of the data COPY was at ([`Context`]). The payload knows the
//! position of each row in the input.

use std::sync::Arc;

use pgsluice_core::bucket::{BlockRow, Payload, Wire};
use pgsluice_core::catalog::{NodeId, ROOT, Relation};
use pgsluice_core::parse::{Fields, Parser, Value};
use tokio_postgres::error::{DbError, SqlState};

use super::context::{Context, ContextLine};
use super::key::RowKey;
use super::lines;
use crate::error::Error;
use crate::error::kind::Kind;
use crate::error::sqlstate;
use crate::pg::lost;
use crate::rejects::RejectReason;
use crate::sink::flow::Flow;
use crate::sink::sql::stage::stage;

/// A payload of the COPY that failed, and the lines that were sent before it.
#[derive(Clone)]
pub(super) struct Sent {
    pub lines_before: u64,
    pub payload: Arc<Payload>,
}

impl Sent {
    /// Creates the entry of a payload that has a COPY of its own.
    pub(super) fn first(payload: &Arc<Payload>) -> Self {
        Self { lines_before: 0, payload: Arc::clone(payload) }
    }
}

/// The server's report about a row that it refuses.
pub(super) struct Blame {
    /// The report as an error, without the row's location.
    pub report: Error,
    pub reason: RejectReason,
    /// The lines of the data that COPY may have been at.
    pub context: Context,
    /// The key of the row, if the report names it.
    pub key: Option<RowKey>,
}

impl Blame {
    /// Returns the report for a row that was sent as `bytes`. If the row stands for an input record that
    /// cannot be converted into a row, the report is replaced by the conversion error, which the server does
    /// not know.
    pub(super) fn with_row(self, flow: &Flow<'_>, bytes: &[u8], wire: Wire) -> Self {
        let row = bytes.strip_suffix(b"\n").filter(|_| wire == Wire::Text);
        let Some(refusal) = row.and_then(|row| flow.plan.shape.refusal(row)) else { return self };
        let message = refusal.message.clone();
        let reason = RejectReason { column: None, message, detail: None, ..self.reason };
        Self { report: refusal.into(), reason, ..self }
    }
}

/// Returns the report about a row from `error`, which occurred while rows of `node` were copied. Returns
/// `None` if the error is about something else.
pub(super) fn blame(flow: &Flow<'_>, error: &tokio_postgres::Error, node: NodeId) -> Option<Blame> {
    let db = error.as_db_error()?;
    let sqlstate = db.code().code();
    if !sqlstate::blames_row(sqlstate) {
        return None;
    }
    let mut report = Error::from(db).with_kind(Kind::Data);
    let shadow = shadow(flow, node);
    if let Some(shadow) = &shadow {
        let leaf = flow.plan.tree.nodes[node].relation.label();
        report = report.with_detail(format!("Table {} was being built for {leaf}.", shadow.name));
    }
    if let Some(hint) = no_longer_its_row(flow, db, node) {
        report = report.with_hint(hint);
    }
    let context = context(flow, db, node, shadow.as_ref());
    let column = context.column().map(String::as_str).or_else(|| db.column()).map(str::to_owned);
    if let Some(column) = &column {
        report = report.with_column(column);
    }
    let reason = RejectReason {
        table: flow.plan.tree.nodes[node].relation.label(),
        column,
        sqlstate: sqlstate.to_owned(),
        message: db.message().to_owned(),
        detail: db.detail().map(str::to_owned),
    };
    let key = db.detail().and_then(RowKey::parse);
    Some(Blame { report, reason, context, key })
}

/// Converts `error`, which occurred while the payloads `sent` were copied.
pub(super) fn refusal(flow: &Flow<'_>, error: &tokio_postgres::Error, sent: &[Sent]) -> Error {
    let node = sent.last().map_or(ROOT, |sent| sent.payload.node());
    let Some(blame) = blame(flow, error, node) else { return statement_error(error) };
    let found = blame.context.likely().and_then(|entry| row(flow, entry, sent));
    if let Some((place, (bytes, wire))) =
        found.and_then(|(at, row)| Some((flow.place_of(at)?, row)))
    {
        return blame.with_row(flow, bytes, wire).report.at(place);
    }
    let report = blame.report;
    let context = error.as_db_error().and_then(DbError::where_);
    let at = context.map(|context| format!("The server reported this context: {context}"));
    at.into_iter().chain(range(flow, sent)).fold(report, Error::with_detail)
}

/// Returns a hint if a partition refuses a row because of its bounds: the row belongs to another partition
/// now.
fn no_longer_its_row(flow: &Flow<'_>, db: &DbError, node: NodeId) -> Option<&'static str> {
    let node = &flow.plan.tree.nodes[node];
    // A CHECK constraint has a name. If a partitioned table refuses a row, the message is that no partition
    // was found.
    let by_bounds = *db.code() == SqlState::CHECK_VIOLATION && db.constraint().is_none();
    (by_bounds && node.parent.is_some() && node.key.is_none()).then_some(
        "If partitions were attached during the load, load the missing rows; otherwise look for a \
         trigger that changes the key.",
    )
}

/// Converts an `error` that is not about a row.
pub(super) fn statement_error(error: &tokio_postgres::Error) -> Error {
    error.as_db_error().map_or_else(|| lost(Some(error)), Error::from)
}

/// Returns the table to which the rows of a leaf were sent, if the leaf is being replaced.
fn shadow(flow: &Flow<'_>, node: NodeId) -> Option<Relation> {
    flow.exchange?.relation(node)
}

/// Describes the range of all rows that were sent, for errors where the server does not say which row it
/// refused. Triggers and constraints that are checked at the end do not name a row.
fn range(flow: &Flow<'_>, sent: &[Sent]) -> Option<String> {
    let rows: usize = sent.iter().map(|sent| sent.payload.rows()).sum();
    let places = || sent.iter().flat_map(|sent| sent.payload.in_order().map(|(at, _)| at));
    let order = |row: &BlockRow| row.start;
    let first = flow.place_of(places().min_by_key(order)?)?;
    let last = flow.place_of(places().max_by_key(order)?)?;
    Some(match rows {
        1 => format!("The row is at {first}."),
        _ => format!("The row is one of {rows} from {first} to {last}."),
    })
}

/// Parses the context of an error about rows that were sent to `node`, or to its shadow.
fn context(flow: &Flow<'_>, db: &DbError, node: NodeId, shadow: Option<&Relation>) -> Context {
    // Rows are sent to their node or through the root. In a large tree, a lookup of every node's name would
    // take long.
    let nodes = [ROOT, node].into_iter().map(|node| &flow.plan.tree.nodes[node].relation);
    let stage = flow.plan.changes.as_ref().map(|_| stage());
    let relations = nodes.chain(shadow).chain(&stage).map(|relation| relation.name.as_str());
    Context::parse(db.where_().unwrap_or_default(), relations, &flow.plan.catalogue.columns)
}

/// Returns the row that `entry` is about, with its position, its bytes and their format. Returns `None` if
/// the row does not contain the printed value.
fn row<'s>(
    flow: &Flow<'_>,
    entry: &ContextLine,
    sent: &'s [Sent],
) -> Option<(BlockRow, (&'s [u8], Wire))> {
    let after = sent.partition_point(|sent| sent.lines_before < entry.line);
    let Sent { lines_before, payload } = &sent[after.checked_sub(1)?];
    let line = entry.line - lines_before;
    let at = lines::row(payload, &flow.plan.shape.format, *lines_before == 0, line)?;
    let (_, bytes) = payload.in_order().find(|(row, _)| *row == at)?;
    let wire = payload.wire();
    (wire == Wire::Binary || has(flow, bytes, entry)).then_some((at, (bytes, wire)))
}

/// Whether the row, as text, contains the value that the server has printed.
fn has(flow: &Flow<'_>, row: &[u8], entry: &ContextLine) -> bool {
    let Some(value) = &entry.value else { return true };
    // The server truncates long values.
    let printed = value.strip_suffix("...").unwrap_or(value).as_bytes();
    let Some(column) = &entry.column else { return row.starts_with(printed) };
    let columns = &flow.plan.catalogue.columns;
    let Some(position) = columns.iter().position(|name| name == column) else { return false };
    let (parser, mut fields) =
        (Parser::new(&flow.plan.shape.format, vec![position]), Fields::default());
    let row = row.strip_suffix(b"\n").unwrap_or(row);
    parser.parse(row, &mut fields);
    matches!(fields.get(0, row), Value::Text(text) if text.starts_with(printed))
}
