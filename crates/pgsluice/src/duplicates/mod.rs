//! Duplicates: a search, before the first row is sent, for rows whose key occurs again in the input.
//!
//! So each key is sent at most once, and nothing depends on the order in which payloads are committed. The
//! input is read, parsed and routed as in the load itself. [`pgsluice_core::duplicates`] describes how keys
//! are compared.

mod entries;
mod key_scan;
mod refused;
mod small;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;
use pgsluice_core::catalog::label;
use pgsluice_core::duplicates::{
    Entry, KeyPart, NoPrint, NoRank, Rank, RankedValue, Secret, find_duplicates,
};
use pgsluice_core::parse::Fields;
use roaring::RoaringTreemap;

use self::entries::{Entries, ThreadEntries};
use self::key_scan::KeyScan;
pub(crate) use self::small::find_small;
use crate::control::{Control, WaitReason};
use crate::counts::words::count;
use crate::error::kind::Kind;
use crate::error::{Error, Result, option};
use crate::job::Job;
use crate::pg::conninfo::Target;
use crate::plan::Plan;
use crate::plan::changes::{Changes, MatchKey};
use crate::route::routing::Routing;
use crate::route::row::Routed;
use crate::source::reading::Reading;
use crate::source::{Inputs, Reader, Split};

/// The rows that are left out because another row of the input with their key wins.
#[derive(Debug, Default)]
pub(crate) struct DuplicateRows {
    rows: RoaringTreemap,
}

impl DuplicateRows {
    /// Whether row number `row` of the input is left out.
    #[inline]
    pub(crate) fn contains(&self, row: u64) -> bool {
        !self.rows.is_empty() && self.rows.contains(row)
    }
}

/// The state that all threads share.
struct DuplicateFinding<'a> {
    job: &'a Job,
    plan: &'a Plan,
    changes: &'a Changes,
    inputs: &'a Inputs,
    target: &'a Target,
    control: &'a Arc<Control>,
    secret: Secret,
    /// The number of rows with NULL in their key.
    unkeyed: AtomicU64,
}

/// Returns random bits from the standard library's source of keys for hash maps.
fn secret() -> Secret {
    let word = || RandomState::new().build_hasher().finish();
    Secret((u128::from(word()) << 64 | u128::from(word())).to_le_bytes())
}

/// Finds the rows that lose to another row with their key. If rows are sent in input order, there are none.
///
/// # Errors
///
/// Fails if there are duplicates in an input that must have none.
pub(crate) fn find(
    job: &Job,
    plan: &Plan,
    changes: &Changes,
    inputs: &Inputs,
    target: &Target,
    control: &Arc<Control>,
) -> Result<DuplicateRows> {
    if let Some(why) = &changes.in_order {
        control.warn(&format!(
            "all rows are sent in input order, one payload of a leaf at a time, because {why}"
        ));
        return Ok(DuplicateRows::default());
    }
    let what = "looking for duplicate keys in the input";
    control.wait_for(WaitReason::Work, what);
    let secret = secret();
    let unkeyed = AtomicU64::new(0);
    let finding = DuplicateFinding { job, plan, changes, inputs, target, control, secret, unkeyed };
    let found = match &changes.newer {
        Some(_) => finding.find::<RankedValue>(),
        None => finding.find::<NoRank>(),
    };
    control.resume(WaitReason::Work);
    let unkeyed = finding.unkeyed.into_inner();
    if unkeyed > 0 && found.is_ok() {
        let rows = count(unkeyed, "row has", "rows have");
        let key = changes.key.columns.join(", ");
        control.warn(&format!("{rows} NULL in the key ({key}), which matches no other key"));
    }
    found
}

impl DuplicateFinding<'_> {
    fn find<R: Ranked>(&self) -> Result<DuplicateRows> {
        let entries = self.gather::<R>()?;
        let rows = Mutex::new((RoaringTreemap::new(), None));
        let rule = self.changes.rule;
        let sorting = entries.each_part(self.plan.routers(self.job), |entries| {
            find_duplicates(entries, rule, |row, counts| {
                let mut rows = rows.lock();
                rows.0.insert(row);
                let pair = [row.min(counts), row.max(counts)];
                rows.1 = Some(rows.1.map_or(pair, |first: [u64; 2]| first.min(pair)));
            });
        });
        sorting.map_err(|error| no_room(&error))?;
        let (rows, first) = rows.into_inner();
        match first.filter(|_| self.changes.refuses_duplicates) {
            Some(pair) => Err(self.refused(pair)),
            None => Ok(DuplicateRows { rows }),
        }
    }

    /// Returns the entries of all rows that have a key.
    fn gather<R: Ranked>(&self) -> Result<Entries<R>> {
        let entries = Entries::new(self.job.speed.memory);
        self.look_through(|reading| self.look(reading, &entries))?;
        Ok(entries)
    }

    /// Runs `look` in all threads.
    fn look_through(&self, look: impl Fn(&Reading) -> Result<()> + Sync) -> Result<()> {
        let Self { job, plan, inputs, control, .. } = self;
        let reader = Reader::new((*inputs).clone(), &plan.shape);
        let routers = plan.routers(job);
        let reading = Reading::begin(reader, control, routers, |_| true);
        reading.look_through(routers, control, look)?;
        Ok(())
    }

    /// Gathers entries in one thread.
    fn look<R: Ranked>(&self, reading: &Reading, entries: &Entries<R>) -> Result<()> {
        let Self { plan, changes, target, control, .. } = self;
        let mut routing =
            Routing::new(plan, control, target).reading(changes.compared_parts().cloned());
        let mut keys = KeyScan::new(plan, changes);
        let mut thread_entries = ThreadEntries::new(entries);
        let (mut scratch, mut unread) = (Vec::new(), Vec::new());
        while let Some(split) = reading.next(control) {
            if let Some(keys) = &mut keys {
                unread.clear();
                let unkeyed = keys.read(&split, changes, &self.secret, &mut unread, |entry| {
                    thread_entries.add(entry)
                });
                let unkeyed = unkeyed.map_err(|error| no_room(&error))?;
                self.unkeyed.fetch_add(unkeyed, Relaxed);
                if unread.is_empty() {
                    reading.give_back(split);
                    continue;
                }
            }
            let mut refused = None;
            routing.route_all(&split, |routed| {
                if keys.is_some() && unread.binary_search(&routed.index).is_err() {
                    return;
                }
                match self.entry(&split, &routed, &mut scratch) {
                    Ok(Some(entry)) => {
                        if let Err(error) = thread_entries.add(entry) {
                            refused = Some(no_room(&error));
                        }
                    }
                    Ok(None) => {}
                    Err(error) => refused = Some(error),
                }
            })?;
            refused.map_or(Ok(()), Err)?;
            reading.give_back(split);
        }
        thread_entries.end().map_err(|error| no_room(&error))
    }

    /// Returns the entry of a row, or `None` if its key equals no other.
    fn entry<R: Ranked>(
        &self,
        split: &Split,
        routed: &Routed<'_>,
        scratch: &mut Vec<u8>,
    ) -> Result<Option<Entry<R>>> {
        let MatchKey { parts, joins_nulls, is_of_root, columns, .. } = &self.changes.key;
        // A row that the server refuses is not a duplicate.
        if routed.refused {
            return Ok(None);
        }
        let leaf = match routed.at {
            Ok(leaf) => (!is_of_root).then_some(leaf),
            Err((_, cause)) if cause.is_likely_refused() && !is_of_root => return Ok(None),
            Err((_, cause)) if cause.is_likely_refused() || self.changes.through_root => None,
            Err((node, cause)) => return Err(self.refused_place(split, routed, node, cause)),
        };
        let row = (routed.row, routed.keys);
        let print = match self.secret.print(leaf, parts, row, !joins_nulls, scratch) {
            Ok(print) => print,
            Err(NoPrint::Null) => {
                self.unkeyed.fetch_add(1, Relaxed);
                return Ok(None);
            }
            Err(NoPrint::Missing(_)) => return Ok(None),
            Err(NoPrint::Spelling(place)) => {
                return Err(self.refused_spelling(split, routed, &columns[place]));
            }
        };
        let newer = self.changes.newer.as_ref();
        let rank = match R::rank(newer, (routed.row, routed.keys), scratch) {
            Ok(rank) => rank,
            Err(why) => {
                let newer = self.changes.newer_column.as_deref().unwrap_or_default();
                let why = format!("the value of column {} {why}", label(newer));
                return Err(self.refused_at(split, routed, &why));
            }
        };
        let number = split.first_row + routed.index as u64;
        Ok(Some(Entry::new(print, rank, number, self.changes.rule)))
    }
}

/// A rank by which rows of one key are compared.
trait Ranked: Rank + Send {
    /// Returns the rank of a row, or the reason why it has none.
    fn rank(
        newer: Option<&KeyPart>,
        row: (&[u8], &Fields),
        scratch: &mut Vec<u8>,
    ) -> std::result::Result<Self, &'static str>;
}

impl Ranked for NoRank {
    fn rank(
        _: Option<&KeyPart>,
        _: (&[u8], &Fields),
        _: &mut Vec<u8>,
    ) -> std::result::Result<Self, &'static str> {
        Ok(Self)
    }
}

impl Ranked for RankedValue {
    fn rank(
        newer: Option<&KeyPart>,
        (row, fields): (&[u8], &Fields),
        scratch: &mut Vec<u8>,
    ) -> std::result::Result<Self, &'static str> {
        use pgsluice_core::parse::Value as Field;
        let Some(newer) = newer else { return Ok(Self::default()) };
        let value = match fields.get(newer.slot, row) {
            Field::Missing | Field::Null => return Ok(Self::default()),
            value => value,
        };
        let datum = value.read(&newer.key_type, scratch).ok_or("can be read only by the server")?;
        Self::from_datum(datum).map_err(|_| "is too long")
    }
}

fn no_room(error: &std::io::Error) -> Error {
    let message = format!("could not keep the keys of the input in a temporary file: {error}");
    Error::new(Kind::Input, message).with_hint(
        "Increase " + option("memory") + ", or set TMPDIR to a directory with enough free space.",
    )
}
