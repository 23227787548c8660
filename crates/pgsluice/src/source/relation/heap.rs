//! A table that is open: its columns, its heaps, and where a row is in them.

use std::ops::Range;

use pgsluice_core::catalog::label;

use super::session::Sessions;
use crate::error::Unit;

/// The most heaps of one table: a place has room for so many.
pub(super) const MOST_HEAPS: usize = 1 << 15;

/// About the bytes of a heap that are read by one statement.
const PART_BYTES: u64 = 4 << 20;

/// Bits of a place for the page and the number of a row.
const CTID_BITS: u32 = 48;

/// The bits of a place that say where a row is in its heap.
pub(crate) const PLACE_IN_HEAP: u64 = (1 << CTID_BITS) - 1;

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
    /// The name by which the condition knows the table.
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
            label(&self.alias)
        )
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

    /// Whether one of its heaps has this name for people.
    pub(in crate::source) fn has(&self, label: &str) -> bool {
        self.heaps.iter().any(|heap| heap.label == label)
    }

    /// Returns the heap of a row by its place, and where the row is in it.
    pub(in crate::source) fn locate(&self, place: u64) -> (&str, Unit) {
        let heap = (place >> CTID_BITS) as usize;
        match self.heaps.get(heap) {
            Some(heap) if heap.has_pages => (&heap.label, Unit::Tuple),
            Some(heap) => (&heap.label, Unit::Rows),
            None => ("", Unit::Rows),
        }
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
