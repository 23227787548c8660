//! Why rows do not go the fastest way, in words.

use std::collections::BTreeMap;

use pgsluice_core::catalog::{KeyColumn, Node, NodeId, label};
use pgsluice_core::encode::NotEncodable;
use pgsluice_core::route::Cause;

use super::{Answered, Plan};

impl Plan {
    /// Why rows stop at `node` because of `cause`: what it is about, and the reason.
    pub fn explain(&self, node: NodeId, cause: Cause) -> (String, String) {
        let relation = self.tree.nodes[node].relation.label();
        let columns = self.tree.nodes[node].key.as_ref().map_or(&[][..], |key| &key.columns);
        let name = |column: usize| columns.get(column).map_or("", KeyColumn::name);
        let key = |column: usize| format!("key {} of {relation}", name(column));
        match cause {
            Cause::Opaque => {
                let why = |column: &KeyColumn| match column {
                    KeyColumn::Opaque { why, .. } => Some(why.clone()),
                    _ => None,
                };
                let place = columns.iter().position(|column| why(column).is_some()).unwrap_or(0);
                (key(place), columns.get(place).and_then(why).unwrap_or_default())
            }
            Cause::Unanswered => (key(0), "the server could not evaluate it".to_owned()),
            Cause::Spelling(column) => {
                let left = match columns.get(column) {
                    Some(KeyColumn::Expression { .. }) => "only the server can compute the value",
                    _ => "only the server can read this spelling of the value",
                };
                let refused = self.catalogue.questions.unspelled.as_ref();
                let refused = refused.map(|why| format!(", but it cannot be asked: {why}"));
                (key(column), format!("{left}{}", refused.unwrap_or_default()))
            }
            Cause::Clock(column) => (key(column), "the value depends on the clock".to_owned()),
            Cause::Default => {
                ("rows with a default".to_owned(), "only the server knows its value".to_owned())
            }
            Cause::Malformed => ("malformed rows".to_owned(), "they cannot be parsed".to_owned()),
            Cause::Missing(column) => (key(column), "the row has too few fields".to_owned()),
            Cause::NoPartition => {
                (format!("partitions of {relation}"), "no partition accepts the row".to_owned())
            }
        }
    }

    /// Returns what of the key of `node` the server is asked about, and why; None if there is nothing.
    pub fn asked(&self, node: NodeId) -> Option<(String, String)> {
        let Node { key, relation, .. } = &self.tree.nodes[node];
        key.as_ref()?.columns.iter().find_map(|column| match column {
            KeyColumn::Asked { column, why, .. } => Some((
                format!("key {column} of {}", relation.label()),
                format!("{why}; the server is asked"),
            )),
            _ => None,
        })
    }

    /// Returns which rows the server has answered about, and why it was asked; None if it was not.
    pub fn explain_answered(&self, (node, column): Answered) -> Option<(String, String)> {
        let Some(column) = column else { return self.asked(node) };
        let (what, why) = self.explain(node, Cause::Spelling(column));
        Some((what, format!("{why}; the server is asked")))
    }

    /// Why rows are sent as text although the others are not.
    pub fn explain_not_encodable(&self, not_encodable: NotEncodable) -> (String, String) {
        let column = |slot: usize| self.catalogue.columns.get(slot).map_or("", String::as_str);
        match not_encodable {
            NotEncodable::Fields => {
                ("rows sent as text".to_owned(), "too few or too many fields".to_owned())
            }
            NotEncodable::Value(slot) => (
                format!("rows sent as text for column {}", label(column(slot))),
                "only the server can read this spelling of the value".to_owned(),
            ),
        }
    }

    /// Keys that are not routed natively, and detours, before any row is read: what, why.
    pub fn known_fallbacks(&self) -> Vec<(String, String)> {
        let mut known = Vec::new();
        for (node, facts) in self.tree.nodes.iter().enumerate() {
            let columns = facts.key.as_ref().map_or(&[][..], |key| &key.columns);
            if columns.iter().any(|column| matches!(column, KeyColumn::Opaque { .. })) {
                known.push(self.explain(node, Cause::Opaque));
            }
            known.extend(self.asked(node));
        }
        known.sort();
        known.dedup();
        let mut kept: BTreeMap<String, Vec<NodeId>> = BTreeMap::new();
        for leaf in self.tree.leaves() {
            let detour = self.detour(leaf).map(str::to_owned);
            for why in detour.into_iter().chain(self.not_exchanged(leaf)) {
                kept.entry(why).or_default().push(leaf);
            }
        }
        known.extend(kept.into_iter().map(|(why, leaves)| (self.name(&leaves), why)));
        let of_load = self.one_statement.iter().chain(&self.single_connection);
        known.extend(of_load.map(|why| ("the load over one connection".to_owned(), why.clone())));
        known.extend(
            self.fewer_connections
                .as_ref()
                .map(|(jobs, why)| (format!("no more connections than {jobs}"), why.clone())),
        );
        known.extend(self.text_only.clone());
        known
    }
}
