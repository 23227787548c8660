//! A table that is open: its columns, its heaps, and where a row is in them.

use std::ops::Range;

use pgsluice_core::position::Position;

use super::session::Sessions;
use crate::error::{Location, Unit};

/// The most heaps of one table: a place has room for so many.
pub(super) const MOST_HEAPS: usize = 1 << 15;

/// About the bytes of a heap that are read by one statement.
const PART_BYTES: u64 = 4 << 20;

/// Bits of a place for the page and the number of a row.
const CTID_BITS: u32 = 48;

/// A column that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceColumn {
    pub(crate) name: String,
    /// The object id of its type.
    pub(crate) ty: u32,
    /// Its type, as the server spells it.
    pub(crate) spelled: String,
}

/// A table that has rows of its own.
#[derive(Debug)]
pub(super) struct Heap {
    /// Its name for people.
    pub(super) label: String,
    /// Its name for the server, qualified and quoted.
    pub(super) sql: String,
    /// Its bytes; 0 where that is not known.
    pub(super) bytes: u64,
    /// Whether its rows have a place in pages; those of a view have none.
    pub(super) has_pages: bool,
}

/// A table, under the snapshot by which it is read.
#[derive(Debug)]
pub(crate) struct OpenRelation {
    pub(super) sessions: Sessions,
    /// Its name for people.
    pub(super) label: String,
    /// The name by which the condition knows it.
    pub(super) alias: String,
    pub(super) filter: Option<String>,
    pub(super) columns: Vec<SourceColumn>,
    pub(super) heaps: Vec<Heap>,
    /// The bytes of a page.
    pub(super) page: u64,
    /// The server's version.
    pub(super) version: u32,
}

/// Pages of a heap that are read by one statement.
pub(super) struct Pages {
    pub(super) heap: usize,
    /// The pages; None for all.
    pub(super) range: Option<Range<u64>>,
    /// Their bytes.
    pub(super) bytes: u64,
}

impl OpenRelation {
    /// Says what reading costs the server.
    pub(crate) fn note(&self) -> String {
        format!(
            "table {} is read under one snapshot: until the load ends, vacuum keeps rows of its server that are deleted or \
             updated meanwhile",
            self.label
        )
    }

    /// Its name for people.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// The columns that are read.
    pub(crate) fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    /// The server's version.
    pub(crate) fn version(&self) -> u32 {
        self.version
    }

    /// The condition for rows, if there is one.
    pub(crate) fn filter(&self) -> Option<&str> {
        self.filter.as_deref()
    }

    /// The bytes of all heaps.
    pub(in crate::source) fn size(&self) -> u64 {
        self.heaps.iter().map(|heap| heap.bytes).sum()
    }

    /// Returns the place of the row that is at `offset` of the heap with this name for people.
    pub(in crate::source) fn place_of(&self, label: &str, offset: u64) -> Option<u64> {
        let heap = self.heaps.iter().position(|heap| heap.label == label)?;
        Some(numbered(heap, offset))
    }

    /// Returns where a row is, for people.
    pub(in crate::source) fn locate(&self, Position { origin, line }: Position) -> Location {
        let heap = self.heaps.get((origin.at >> CTID_BITS) as usize);
        let source = heap.map_or_else(String::new, |heap| heap.label.clone());
        let unit = if heap.is_some_and(|heap| heap.has_pages) { Unit::Tuple } else { Unit::Rows };
        let offset = origin.at & ((1 << CTID_BITS) - 1);
        Location { source, line, offset, input: origin.input, unit }
    }

    /// Cuts all heaps into parts.
    ///
    /// Before 14 the server has no way to read a range of pages but to look at all others.
    pub(super) fn parts(&self) -> Vec<Pages> {
        let has_ranges = self.version >= 140_000;
        let step = (PART_BYTES / self.page).max(1);
        let mut parts = Vec::new();
        for (number, heap) in self.heaps.iter().enumerate() {
            if !has_ranges || !heap.has_pages {
                parts.push(Pages { heap: number, range: None, bytes: heap.bytes });
                continue;
            }
            let pages = heap.bytes / self.page;
            let starts = (0..=pages.saturating_sub(1) / step).map(|part| part * step);
            parts.extend(starts.map(|start| {
                // No row is behind the last page, but if there were one, it would be read.
                let is_last = start + step >= pages;
                let end = if is_last { u64::from(u32::MAX) } else { start + step };
                let bytes = pages.min(end).saturating_sub(start) * self.page;
                Pages { heap: number, range: Some(start..end), bytes }
            }));
        }
        parts
    }
}

/// Returns the place of the row `number` of a page in the heap with this number.
pub(super) fn place_of(heap: usize, page: u32, number: u16) -> u64 {
    (heap as u64) << CTID_BITS | u64::from(page) << 16 | u64::from(number)
}

/// Returns the place of a row that has only its number in a heap.
pub(super) fn numbered(heap: usize, row: u64) -> u64 {
    (heap as u64) << CTID_BITS | row
}
