//! The reasons why rows do not take the fastest way, in words.

use pgsluice_core::catalog::{KeyColumn, NodeId, label};
use pgsluice_core::encode::NotEncodable;
use pgsluice_core::route::Cause;

use super::{Answered, Plan};

/// A reason why rows do not take the fastest way, and its subject.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reason {
    /// A part of a table, such as a key; empty for the table itself. Without `table`, any other subject.
    pub(crate) what: String,
    /// The table.
    pub(crate) table: Option<NodeId>,
    /// The reason, for the user.
    pub(crate) why: String,
}

impl Reason {
    /// Creates a reason that is not about a table.
    pub(crate) fn new(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.into(), table: None, why: why.into() }
    }

    /// Creates a reason about a part of a table, or about the whole table.
    pub(crate) fn with_table(
        table: NodeId,
        what: impl Into<String>,
        why: impl Into<String>,
    ) -> Self {
        Self { what: what.into(), table: Some(table), why: why.into() }
    }
}

impl Plan {
    /// Returns the subject and the reason why rows stop at `node` because of `cause`.
    pub fn explain(&self, node: NodeId, cause: Cause) -> (String, String) {
        let Reason { what, table, why } = self.reason(node, cause);
        (self.subject(&what, table.as_slice()), why)
    }

    /// Returns the reason why rows stop at `node` because of `cause`.
    pub(crate) fn reason(&self, node: NodeId, cause: Cause) -> Reason {
        let columns = self.tree.nodes[node].key.as_ref().map_or(&[][..], |key| &key.columns);
        let name = |column: usize| columns.get(column).map_or("", KeyColumn::name);
        let of_key = |column: usize, why: String| {
            Reason::with_table(node, format!("key {}", name(column)), why)
        };
        match cause {
            Cause::Opaque => {
                let why = |column: &KeyColumn| match column {
                    KeyColumn::Opaque { why, .. } => Some(why.clone()),
                    _ => None,
                };
                let place = columns.iter().position(|column| why(column).is_some()).unwrap_or(0);
                of_key(place, columns.get(place).and_then(why).unwrap_or_default())
            }
            Cause::Unanswered => of_key(0, "the server could not evaluate it".to_owned()),
            Cause::Spelling(column) => {
                let left = match columns.get(column) {
                    Some(KeyColumn::Expression { .. }) => "only the server can compute the value",
                    _ => "only the server can read this spelling of the value",
                };
                let refused = self.catalogue.questions.unspelled.as_ref();
                let refused = refused.map(|why| format!(", but it cannot be asked: {why}"));
                of_key(column, format!("{left}{}", refused.unwrap_or_default()))
            }
            Cause::Clock(column) => of_key(column, "the value depends on the clock".to_owned()),
            Cause::Default => Reason::new("rows with a default", "only the server knows its value"),
            Cause::Malformed => Reason::new("malformed rows", "they cannot be parsed"),
            Cause::Missing(column) => of_key(column, "the row has too few fields".to_owned()),
            Cause::NoPartition => {
                Reason::with_table(node, "partitions", "no partition accepts the row")
            }
        }
    }

    /// Returns the name of a part of one table; for several tables, their number.
    pub(crate) fn subject(&self, what: &str, tables: &[NodeId]) -> String {
        match (what, tables) {
            (what, []) => what.to_owned(),
            ("", tables) => self.name(tables),
            (what, [one]) => format!("{what} of {}", self.tree.nodes[*one].relation.label()),
            (what, several) => format!("{what} of {} tables", several.len()),
        }
    }

    /// Returns the part of `node`'s key that the server is asked about, and the reason; `None` if there is
    /// none.
    pub(crate) fn asked_reason(&self, node: NodeId) -> Option<Reason> {
        self.tree.nodes[node].key.as_ref()?.columns.iter().find_map(|column| match column {
            KeyColumn::Asked { column, why, .. } => {
                let why = format!("{why}; the server is asked");
                Some(Reason::with_table(node, format!("key {column}"), why))
            }
            _ => None,
        })
    }

    /// Returns the reason why the server was asked about rows; `None` if it was not.
    pub(crate) fn explain_answered(&self, (node, column): Answered) -> Option<Reason> {
        let Some(column) = column else { return self.asked_reason(node) };
        let reason = self.reason(node, Cause::Spelling(column));
        Some(Reason { why: format!("{}; the server is asked", reason.why), ..reason })
    }

    /// Returns the reasons why rows of a leaf take a detour although the leaf is known.
    pub(crate) fn reasons_of_leaf(&self, leaf: NodeId) -> impl Iterator<Item = Reason> {
        let detour = self.detour(leaf).map(str::to_owned);
        detour
            .into_iter()
            .chain(self.not_exchanged(leaf))
            .map(move |why| Reason::with_table(leaf, "", why))
    }

    /// Returns the reason why some rows are sent as text although others are not.
    pub(crate) fn explain_not_encodable(&self, not_encodable: NotEncodable) -> Reason {
        let column = |slot: usize| self.catalogue.columns.get(slot).map_or("", String::as_str);
        match not_encodable {
            NotEncodable::Fields => Reason::new("rows sent as text", "too few or too many fields"),
            NotEncodable::Value(slot) => Reason::new(
                format!("rows sent as text for column {}", label(column(slot))),
                "only the server can read this spelling of the value",
            ),
        }
    }

    /// Returns the reasons that are known before any row is read: keys that are not routed natively, detours,
    /// and reasons for the whole load.
    pub(crate) fn known_reasons(&self) -> Vec<Reason> {
        let mut known = Vec::new();
        for (node, facts) in self.tree.nodes.iter().enumerate() {
            let columns = facts.key.as_ref().map_or(&[][..], |key| &key.columns);
            if columns.iter().any(|column| matches!(column, KeyColumn::Opaque { .. })) {
                known.push(self.reason(node, Cause::Opaque));
            }
            known.extend(self.asked_reason(node));
        }
        known.extend(self.tree.leaves().flat_map(|leaf| self.reasons_of_leaf(leaf)));
        known.extend(self.reasons_of_load());
        known
    }

    /// Returns a node at which rows stop, if the tree has one.
    pub(crate) fn opaque_node(&self) -> Option<NodeId> {
        let is_opaque = |column: &KeyColumn| matches!(column, KeyColumn::Opaque { .. });
        let mut keys = self.tree.nodes.iter().map(|node| &node.key);
        keys.position(|key| key.as_ref().is_some_and(|key| key.columns.iter().any(is_opaque)))
    }

    /// Returns the reasons that apply to all rows of the load.
    pub(crate) fn reasons_of_load(&self) -> Vec<Reason> {
        let one =
            self.one_statement.iter().map(|why| Reason::new("one COPY on one connection", why));
        let fewer = self.fewer_connections.iter();
        let fewer =
            fewer.map(|(jobs, why)| Reason::new(format!("no more connections than {jobs}"), why));
        let text = self.text_only.iter().map(|(what, why)| Reason::new(what, why));
        one.chain(fewer).chain(text).collect()
    }
}
