//! The question how the server spells the values of native keys, and the fields that it covers.

use std::collections::BTreeSet;

use pgsluice_core::catalog::{KeyColumn, Tree};
use pgsluice_core::route::wanted_fields;
use pgsluice_core::types::KeyType;
use tokio_postgres::Transaction;
use tokio_postgres::types::Oid;

use super::Catalogue;
use super::questions::{Questions, read_columns};
use super::session::SessionFacts;
use super::volatilities::Volatilities;
use crate::error::Result;
use crate::pg::question::spelling;
use crate::pg::volatility::Volatility;

/// Creates the question how the server spells the fields of native keys, in a catalogue with the root `root`,
/// if any field can have several spellings.
pub(super) async fn find(
    transaction: &Transaction<'_>,
    session: &SessionFacts,
    Catalogue { questions, tree, columns, .. }: &mut Catalogue,
    root: Oid,
) -> Result<()> {
    if questions.spelled_fields(tree).is_empty() {
        return Ok(());
    }
    let (table, volatilities) = read_columns(transaction, session, root).await?;
    questions.set_volatilities(&volatilities, columns);
    questions.table = table;
    questions.spell(tree, columns, session.iso);
    Ok(())
}

impl Questions {
    /// Includes the fields of these columns in addition to the fields of partition keys.
    pub(super) fn spell_also<'c>(&mut self, columns: impl Iterator<Item = &'c KeyColumn>) {
        self.also = columns.flat_map(spelled_in).collect();
    }

    pub(super) fn set_volatilities(&mut self, volatilities: &Volatilities, columns: &[String]) {
        let volatility = |name| volatilities.get(name).copied().unwrap_or_default();
        self.volatilities = columns.iter().map(volatility).collect();
    }

    /// Creates the question about spellings again, for the fields that `tree` still needs.
    pub(super) fn spell(&mut self, tree: &Tree, columns: &[String], iso: bool) {
        let fields = self.spelled_fields(tree);
        let Self { table, volatilities, .. } = self;
        let is_read = |field: usize| {
            let is_stable = matches!(
                volatilities.get(field),
                Some(Volatility::Immutable | Volatility::ClockWords)
            );
            let mut named = table.iter().filter(|column| column.name == columns[field]);
            is_stable && named.any(|column| !column.is_unread)
        };
        let fields = fields.into_iter().filter(|&field| is_read(field));
        let fields: Vec<_> = fields.map(|field| (field, &*columns[field])).collect();
        self.spelling = (!fields.is_empty()).then(|| spelling(table, &fields, iso)).flatten();
    }

    /// Returns the fields that are used natively and can have several spellings.
    fn spelled_fields(&self, tree: &Tree) -> BTreeSet<usize> {
        let wanted = wanted_fields(tree);
        let mut native = native_fields(tree);
        // The other fields are neither looked up in the input nor asked about.
        native.retain(|field| wanted.binary_search(field).is_ok());
        native.extend(&self.also);
        native
    }
}

/// Returns the fields of native keys that can have several spellings.
fn native_fields(tree: &Tree) -> BTreeSet<usize> {
    let keys = tree.nodes.iter().filter_map(|node| node.key.as_ref());
    keys.flat_map(|key| &key.columns).flat_map(spelled_in).collect()
}

fn spelled_in(column: &KeyColumn) -> Vec<usize> {
    match column {
        KeyColumn::Native { field, ty, .. } if *ty != KeyType::Text => Vec::from_iter(*field),
        KeyColumn::Expression { expr, .. } => expr.places(),
        _ => Vec::new(),
    }
}
