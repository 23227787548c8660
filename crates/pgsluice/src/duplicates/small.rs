//! Duplicates among the rows of a small input, in one thread, because starting threads would take longer.

use pgsluice_core::duplicates::{Entry, RankedValue, find_duplicates};
use roaring::RoaringTreemap;

use super::key_scan::KeyScan;
use super::{DuplicateRows, no_room, secret};
use crate::error::Result;
use crate::plan::Plan;
use crate::plan::changes::Changes;
use crate::source::Split;

/// Finds the rows of `splits` that lose to another row with their key. Returns `None` if the keys alone do
/// not suffice, or if there are duplicates in an input that must have none; then [`super::find`] must decide.
pub(crate) fn find_small(
    plan: &Plan,
    changes: &Changes,
    splits: &[Split],
) -> Result<Option<DuplicateRows>> {
    let Some(mut keys) = KeyScan::new(plan, changes).filter(|_| changes.in_order.is_none()) else {
        return Ok(None);
    };
    let secret = secret();
    let (mut entries, mut unread) = (Vec::<Entry<RankedValue>>::new(), Vec::new());
    for split in splits {
        let read = keys.read(split, changes, &secret, &mut unread, |entry| {
            entries.push(entry);
            Ok(())
        });
        read.map_err(|error| no_room(&error))?;
        if !unread.is_empty() {
            return Ok(None);
        }
    }
    let mut rows = RoaringTreemap::new();
    find_duplicates(&mut entries, changes.rule, |row, _| _ = rows.insert(row));
    let must_be_none = changes.refuses_duplicates && !rows.is_empty();
    Ok((!must_be_none).then_some(DuplicateRows { rows }))
}
