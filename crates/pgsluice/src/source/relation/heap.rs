//! An open table: its columns, its heaps, and the places of its rows.

use std::ops::Range;

use pgsluice_core::origin::Origin;

use super::Snapshots;
use super::session::Sessions;
use crate::error::{Location, Unit};

/// Maximum number of heaps of one table, limited by the bits of a place that are left for it.
pub(super) const MAX_HEAPS: usize = 1 << 15;

/// Approximate number of bytes of a heap that one statement reads.
const PART_BYTES: u64 = 4 << 20;

/// Maximum of these bytes if each statement has a snapshot of its own: the condition of a move then reads the
/// log each time.
const LARGEST_PART: u64 = 256 << 20;

/// The number of such statements that a large table is read by, unless they would read more than
/// [`LARGEST_PART`].
const LARGE_TABLE_PARTS: u64 = 64;

/// Number of bits of a place that hold a row's page and its number in that page.
const CTID_BITS: u32 = 48;

/// A column that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceColumn {
    pub(crate) name: String,
    /// The OID of its type.
    pub(crate) ty: u32,
    /// Its type, as the server spells it.
    pub(crate) spelled: String,
}

/// One relation to read: a plain table, a leaf, a view or a foreign table.
#[derive(Debug)]
pub(super) struct Heap {
    /// The name for messages.
    pub(super) label: String,
    /// The name for SQL, qualified and quoted.
    pub(super) sql: String,
    /// Its size in bytes; 0 if unknown.
    pub(super) bytes: u64,
    /// Whether its rows have a ctid. Rows of views and foreign tables have none.
    pub(super) has_pages: bool,
}

/// A table and the snapshot under which it is read.
#[derive(Debug)]
pub(crate) struct OpenRelation {
    pub(super) sessions: Sessions,
    /// The name for messages.
    pub(super) label: String,
    /// The alias by which the condition refers to the table.
    pub(super) alias: String,
    pub(super) filter: Option<String>,
    pub(super) columns: Vec<SourceColumn>,
    pub(super) heaps: Vec<Heap>,
    /// The size of a page in bytes.
    pub(super) page: u64,
    /// The server's version.
    pub(super) version: u32,
}

/// The pages of a heap that one statement reads.
pub(super) struct Pages {
    pub(super) heap: usize,
    /// The range of pages; `None` for all.
    pub(super) range: Option<Range<u64>>,
    /// Their size in bytes.
    pub(super) bytes: u64,
}

impl OpenRelation {
    /// Returns the note about what the snapshot costs the server, if one is held.
    pub(crate) fn note(&self) -> Option<String> {
        let note = || {
            format!(
                "table {} is read under one snapshot: until the load ends, VACUUM cannot remove rows that are deleted \
                 or updated in its database",
                self.label
            )
        };
        (self.snapshots() == Snapshots::One).then(note)
    }

    /// Returns the snapshots under which it is read.
    pub(in crate::source) fn snapshots(&self) -> Snapshots {
        self.sessions.snapshots()
    }

    /// Returns the name for messages.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// Returns the columns to read.
    pub(crate) fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    /// Returns the server's version.
    pub(crate) fn version(&self) -> u32 {
        self.version
    }

    /// Returns the condition that rows must meet, if any.
    pub(crate) fn filter(&self) -> Option<&str> {
        self.filter.as_deref()
    }

    /// Returns the total size of the heaps in bytes.
    pub(in crate::source) fn size(&self) -> u64 {
        self.heaps.iter().map(|heap| heap.bytes).sum()
    }

    /// Returns the place of the row at `offset` in the heap that messages call `label`.
    pub(in crate::source) fn place_of(&self, label: &str, offset: u64) -> Option<u64> {
        let heap = self.heaps.iter().position(|heap| heap.label == label)?;
        Some(numbered(heap, offset))
    }

    /// Returns the location of a row for messages.
    pub(in crate::source) fn locate(&self, origin: Origin, line: u64) -> Location {
        let heap = self.heaps.get((origin.at >> CTID_BITS) as usize);
        let source = heap.map_or_else(String::new, |heap| heap.label.clone());
        let unit = if heap.is_some_and(|heap| heap.has_pages) { Unit::Tuple } else { Unit::Rows };
        let offset = origin.at & ((1 << CTID_BITS) - 1);
        Location { source, line, offset, input: origin.input, unit }
    }

    /// Divides the heaps into parts that are read by one statement each.
    ///
    /// Servers before 14 have no TID range scan, and would scan the whole heap for each range of pages.
    pub(super) fn parts(&self) -> Vec<Pages> {
        let has_ranges = self.version >= 140_000;
        let bytes = match self.snapshots() {
            Snapshots::One => PART_BYTES,
            Snapshots::Each => (self.size() / LARGE_TABLE_PARTS).clamp(PART_BYTES, LARGEST_PART),
        };
        let step = (bytes / self.page).max(1);
        let mut parts = Vec::new();
        for (number, heap) in self.heaps.iter().enumerate() {
            if !has_ranges || !heap.has_pages {
                parts.push(Pages { heap: number, range: None, bytes: heap.bytes });
                continue;
            }
            let pages = heap.bytes / self.page;
            let starts = (0..=pages.saturating_sub(1) / step).map(|part| part * step);
            parts.extend(starts.map(|start| {
                // The last part is open-ended, so that no row can be missed.
                let is_last = start + step >= pages;
                let end = if is_last { u64::from(u32::MAX) } else { start + step };
                let bytes = pages.min(end).saturating_sub(start) * self.page;
                Pages { heap: number, range: Some(start..end), bytes }
            }));
        }
        parts
    }
}

/// Returns the place of row `number` of `page` in a heap.
pub(super) fn place_of(heap: usize, page: u32, number: u16) -> u64 {
    (heap as u64) << CTID_BITS | u64::from(page) << 16 | u64::from(number)
}

/// Returns the place of a row without a ctid: its number in the heap.
pub(super) fn numbered(heap: usize, row: u64) -> u64 {
    (heap as u64) << CTID_BITS | row
}
