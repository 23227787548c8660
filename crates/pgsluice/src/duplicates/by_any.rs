//! ByAny constraints say which rows are the same.
//!
//! Of rows that have all keys in common the first one counts: if it is inserted, it keeps the others out, and if it is
//! not, what keeps it out keeps them out as well. Of rows that have some in common it depends on what is in the table
//! which are inserted: these are sent in the order of the input, and the server decides.

use std::sync::atomic::Ordering::Relaxed;

use parking_lot::Mutex;
use pgsluice_core::duplicates::{Entry, NoPrint, NoRank, Print, Rule, shared, superseded};
use roaring::RoaringTreemap;

use super::entries::{Entries, Gathered};
use super::{Finding, InTurn, Superseded, no_room};
use crate::error::Result;
use crate::plan::changes::{ByAny, Key};
use crate::route::routing::{Reached, Routing};
use crate::source::Split;
use crate::source::reading::Reading;

/// What is gathered of all rows.
struct Prints {
    /// Of all keys of a row together, if each leaf keeps one of them.
    all: Entries<NoRank>,
    /// Of each key.
    each: Entries<NoRank>,
}

/// What one thread gathers.
struct Look<'p> {
    all: Gathered<'p, NoRank>,
    each: Gathered<'p, NoRank>,
    prints: Vec<Option<Print>>,
    scratch: Vec<u8>,
}

impl Finding<'_> {
    /// Finds the rows that do not count, and those that are to be sent in the order of the input.
    pub(super) fn find_by_any(&self, by_any: &ByAny) -> Result<Superseded> {
        let memory = self.job.speed.memory / 2;
        let prints = Prints { all: Entries::new(memory), each: Entries::new(memory) };
        self.look_through(|reading| self.look_by_any(reading, &prints, by_any))?;
        if let Some(why) = &by_any.unread {
            self.control.progress.warn(format!(
                "all rows are sent in input order, one payload of a leaf at a time, because {why}"
            ));
            return Ok(Superseded { in_turn: InTurn::All, ..Superseded::default() });
        }
        let threads = self.plan.routers(self.job);
        let rows = Mutex::new(RoaringTreemap::new());
        let sorting = prints.all.each_part(threads, |entries| {
            superseded(entries, Rule::First, |row, _| _ = rows.lock().insert(row));
        });
        sorting.map_err(|error| no_room(&error))?;
        let rows = rows.into_inner();
        let are_out = |row| !self.changes.refuses_duplicates && rows.contains(row);
        let in_turn = Mutex::new((RoaringTreemap::new(), None));
        let sorting = prints.each.each_part(threads, |entries| {
            shared(entries, Rule::First, are_out, |rows| {
                let mut in_turn = in_turn.lock();
                in_turn.0.extend(rows.iter().copied());
                let pair = [rows[0], rows[1]];
                in_turn.1 = Some(in_turn.1.map_or(pair, |first: [u64; 2]| first.min(pair)));
            });
        });
        sorting.map_err(|error| no_room(&error))?;
        match in_turn.into_inner() {
            (_, Some(pair)) if self.changes.refuses_duplicates => Err(self.refused(pair)),
            (_, None) => Ok(Superseded { rows, in_turn: InTurn::None }),
            (in_turn, Some(_)) => Ok(Superseded { rows, in_turn: InTurn::These(in_turn) }),
        }
    }

    /// One thread.
    fn look_by_any(&self, reading: &Reading, prints: &Prints, by_any: &ByAny) -> Result<()> {
        let Self { plan, changes, target, control, .. } = self;
        let mut routing = Routing::new(plan, control, target).reading(changes.compared().cloned());
        let [all, each] = [&prints.all, &prints.each].map(Gathered::new);
        let mut look = Look { all, each, prints: Vec::new(), scratch: Vec::new() };
        while let Some(split) = reading.next(control) {
            let mut looked = Ok(());
            routing.route_all(&split, |reached| {
                if looked.is_ok() {
                    looked = self.gather_by_any(&split, &reached, by_any, &mut look);
                }
            })?;
            looked?;
            reading.give_back(split);
        }
        let ended = look.all.end().and_then(|()| look.each.end());
        ended.map_err(|error| no_room(&error))
    }

    fn gather_by_any(
        &self,
        split: &Split,
        reached: &Reached<'_>,
        by_any: &ByAny,
        look: &mut Look<'_>,
    ) -> Result<()> {
        // What the server refuses keeps no other row out.
        let leaf = match reached.at {
            _ if reached.refused => return Ok(()),
            Ok(leaf) => leaf,
            Err((_, cause)) if cause.is_likely_refused() => return Ok(()),
            Err((node, cause)) => return Err(self.refused_place(split, reached, (node, cause))),
        };
        if by_any.unread.is_some() {
            return Ok(());
        }
        let number = split.first_row + reached.index as u64;
        look.prints.clear();
        for (place, key) in by_any.keys.iter().enumerate() {
            let Key { parts, joins_nulls, .. } = key;
            // Keys of several leaves, or of several constraints, are not the same.
            let of = leaf * by_any.keys.len() + place;
            let row = (reached.row, reached.keys);
            match self.secret.print(Some(of), parts, row, !joins_nulls, &mut look.scratch) {
                Ok(print) => look.prints.push(Some(print)),
                Err(NoPrint::Null) => look.prints.push(None),
                Err(NoPrint::Missing(_)) => return Ok(()),
                Err(NoPrint::Spelling(place)) => {
                    return Err(self.refused_spelling(split, reached, &key.columns[place]));
                }
            }
        }
        let entry = |print| Entry::new(print, NoRank, number, Rule::First);
        let printed = look.prints.iter().zip(&by_any.keys);
        let is_kept = printed.clone().any(|(print, key)| print.is_some() && key.is_everywhere);
        if look.prints.iter().all(Option::is_none) {
            self.unkeyed.fetch_add(1, Relaxed);
        }
        if is_kept {
            let all = self.secret.of_all(&look.prints);
            look.all.add(entry(all)).map_err(|error| no_room(&error))?;
        }
        for print in look.prints.iter().flatten() {
            look.each.add(entry(*print)).map_err(|error| no_room(&error))?;
        }
        Ok(())
    }
}
