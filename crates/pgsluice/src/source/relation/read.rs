//! Reading a table in parts: each part is one COPY, whose rows become batches.

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use pgsluice_session::connect::Link;

use super::heap::{Heap, OpenRelation, Pages};
use super::open::refused;
use super::rows::{CopiedRows, MalformedRow, RowLayout, skip_header};
use super::{Copied, Snapshots};
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::source::key_form::KeyForm;
use crate::source::parallel::{Give, InputPart, ParallelReader};
use crate::source::row_form::RowForm;
use crate::source::sql::relation::{HeapQuery, column, text_of};

/// One part of a table.
struct TablePart {
    relation: Arc<OpenRelation>,
    pages: Pages,
    statement: String,
    layout: RowLayout,
    is_binary: bool,
}

/// Starts reading a table.
pub(super) fn begin(copied: &Copied, relation: &Arc<OpenRelation>) -> ParallelReader<CopiedRows> {
    let parts = relation.parts().into_iter().enumerate();
    // Samples are taken from the first rows, and the server is asked about their keys as text.
    let parts = parts.map(|(number, pages)| TablePart::new(relation, copied, pages, number == 0));
    let parts: Vec<TablePart> = parts.collect();
    ParallelReader::begin(parts, relation.sessions.readers, lost(&relation.label))
}

fn lost(name: &str) -> Error {
    Error::new(Kind::Internal, format!("the thread that reads {name} ended unexpectedly"))
        .with_sqlstate("XX000")
}

impl TablePart {
    fn new(relation: &Arc<OpenRelation>, copied: &Copied, pages: Pages, is_first: bool) -> Self {
        let OpenRelation { alias, filter, heaps, .. } = &**relation;
        let heap = &heaps[pages.heap];
        let (items, texts) = items(alias, copied, is_first);
        let is_binary = matches!(copied.form(), RowForm::Encoded(..));
        let query = HeapQuery {
            heap: &heap.sql,
            alias,
            has_ctid: heap.has_pages,
            pages: pages.range.as_ref(),
            filter: filter.as_deref(),
            sorts: relation.snapshots() == Snapshots::One,
        };
        let statement = query.copy_out(&items, is_binary);
        let (columns, has_ctid) = (copied.columns(), heap.has_pages);
        let layout = RowLayout { heap: pages.heap, has_ctid, columns, texts };
        Self { relation: Arc::clone(relation), pages, statement, layout, is_binary }
    }

    fn heap(&self) -> &Heap {
        &self.relation.heaps[self.pages.heap]
    }

    /// Copies out all rows. Returns false if the receiver wants no more.
    async fn copy(&self, link: &Link, give: Give<'_, CopiedRows>) -> Result<bool> {
        let rows = link.client.copy_out(&self.statement).await?;
        let mut rows = pin!(rows);
        let (mut batch, mut is_begun) = (CopiedRows::default(), !self.is_binary);
        let mut left = self.pages.bytes;
        while let Some(row) = rows.next().await {
            let row: Bytes = row?;
            let mut bytes = &row[..];
            if !is_begun {
                (bytes, is_begun) =
                    (skip_header(bytes).map_err(|error| self.malformed(error))?, true);
            }
            if self.is_binary && (bytes.is_empty() || *bytes == [0xff, 0xff]) {
                continue;
            }
            let put = match self.is_binary {
                true => batch.put_binary(bytes, &self.layout),
                false => batch.put_text(bytes, &self.layout),
            };
            put.map_err(|error| self.malformed(error))?;
            if batch.are_enough() {
                let full = batch.take();
                if !give(full, std::mem::take(&mut left)) {
                    return Ok(false);
                }
            }
        }
        Ok(give(batch, left))
    }

    fn malformed(&self, _: MalformedRow) -> Error {
        let message = format!("the server sent a malformed row of {}", self.heap().label);
        Error::new(Kind::Server, message).with_sqlstate("08P01").permanent()
    }
}

impl InputPart<CopiedRows> for TablePart {
    fn read(&self, give: Give<'_, CopiedRows>) -> Result<()> {
        let sessions = &self.relation.sessions;
        let session = sessions.take()?;
        let copied = session.run(sessions.control(), async |link| self.copy(link, give).await);
        // A session with an unfinished COPY cannot be reused.
        if copied.map_err(|error| refused(error, &self.heap().label))? {
            sessions.give_back(session);
        }
        Ok(())
    }

    fn lost(&self) -> Error {
        lost(&self.relation.label)
    }
}

/// Returns the select list, and the columns that it also contains as text.
fn items(alias: &str, copied: &Copied, is_first: bool) -> (Vec<String>, Vec<usize>) {
    let names = copied.names.iter();
    match copied.form() {
        RowForm::Text => (names.map(|name| column(alias, name)).collect(), Vec::new()),
        RowForm::Keys(keys) => {
            let item = |(name, is_key): (&String, &bool)| match is_key {
                true => column(alias, name),
                false => "NULL".to_owned(),
            };
            (names.zip(keys.iter()).map(item).collect(), Vec::new())
        }
        RowForm::Encoded(keys, form) => {
            let wants_text = is_first || *form == KeyForm::Text;
            let of_keys = keys.iter().enumerate().filter(|(_, is_key)| wants_text && **is_key);
            let texts: Vec<usize> = of_keys.map(|(place, _)| place).collect();
            let text = |place: &usize| text_of(alias, &copied.names[*place]);
            let items = names.map(|name| column(alias, name)).chain(texts.iter().map(text));
            (items.collect(), texts)
        }
    }
}
