//! The batches of one input, made by threads of their own, some batches ahead.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use pgsluice_core::split::Row;

use super::guard::guarded;
use super::relation::CopiedRows;
use super::rewrite::Rewrite;
use super::typed;
use crate::error::{Error, Result};

/// Batches that each thread may be ahead.
const AHEAD: usize = 4;

/// About the bytes of the rows of a batch, once they are written.
pub(super) const BATCH_BYTES: usize = 1 << 20;

/// Rows of a batch.
pub(super) const MOST_ROWS: usize = 16 << 10;

/// Some rows of an input, which stand one behind the other there.
#[derive(Debug)]
pub(crate) enum Batch {
    /// Rows of typed columns.
    #[cfg_attr(not(feature = "arrow"), expect(dead_code))]
    Typed(typed::Batch),
    /// Rows that a server has copied out.
    Copied(CopiedRows),
}

/// Where the rows of a batch are in their input.
pub(super) struct Stretch {
    /// The place of the first.
    pub(super) start: u64,
    /// The distance from there to what follows the last.
    pub(super) length: usize,
}

impl Batch {
    /// Its rows.
    pub(super) fn count(&self) -> usize {
        match self {
            Self::Typed(batch) => batch.count(),
            Self::Copied(rows) => rows.count(),
        }
    }

    /// Appends the places of its rows to `rows`, the first of them being that of the row `number` of the input. A row
    /// of typed columns has its number for a place, and one of a table its ctid.
    pub(super) fn place(&self, number: u64, rows: &mut Vec<Row>) -> Stretch {
        let row = |place: u32, line: usize| Row { start: place, end: place, line: line as u32 };
        match self {
            Self::Copied(copied) => {
                let first = copied.places.first().copied().unwrap_or(0);
                // A batch ends before its places are too far apart.
                let places = copied.places.iter().map(|place| (place - first) as u32);
                rows.extend(places.enumerate().map(|(line, place)| row(place, line)));
                let last = rows.last().map_or(0, |row| row.start);
                Stretch { start: first, length: last as usize + 1 }
            }
            Self::Typed(_) => {
                rows.extend((0..self.count()).map(|line| row(line as u32, line)));
                Stretch { start: number, length: self.count() }
            }
        }
    }
}

/// Writes the keys of rows of a batch as text.
pub(crate) enum KeyText<'b> {
    /// Of typed columns.
    Typed(typed::KeyText<'b>),
    /// Of a table, whose server has written them.
    Copied(&'b CopiedRows),
}

impl<'b> KeyText<'b> {
    /// Makes a writer for the rows of a batch that `rewrite` has encoded.
    pub(super) fn of(rewrite: &'b Rewrite, batch: &'b Batch) -> Option<Self> {
        match (rewrite, batch) {
            (Rewrite::Typed(typed), Batch::Typed(batch)) => typed.key_text(batch).map(Self::Typed),
            (_, Batch::Copied(rows)) => Some(Self::Copied(rows)),
            _ => None,
        }
    }

    /// Returns the row with this number as COPY text has it, with nothing in columns that are not keys;
    /// `None` if a key has no text.
    pub(crate) fn of_row(&mut self, row: usize) -> Option<&[u8]> {
        match self {
            Self::Typed(keys) => keys.of(row),
            Self::Copied(rows) => rows.key_text(row),
        }
    }
}

/// What takes batches, each with the bytes of the input that it stands for; false when no more are wanted.
pub(super) type Give<'g> = &'g mut dyn FnMut(Batch, u64) -> bool;

/// A part of an input that is read by itself, as a row group.
pub(super) trait InputPart {
    /// Hands over all batches of the part.
    fn read(&self, give: Give<'_>) -> Result<()>;

    /// What is said when that panics.
    fn lost(&self) -> Error;
}

/// A batch and its bytes; None behind the last one of a part.
type Read = Result<Option<(Batch, u64)>>;

/// Reads the parts of one input in their order.
pub(crate) struct Batches {
    /// Those that come first.
    ready: VecDeque<(Batch, u64)>,
    lanes: Vec<Receiver<Read>>,
    /// Bytes of parts without rows.
    skipped: u64,
    /// The part whose batches come, of so many.
    part: usize,
    parts: usize,
    /// What is said when a thread has ended before its part has.
    lost: Error,
}

impl Batches {
    /// Begins to read `parts`, by at most `threads` threads.
    pub(super) fn begin<P>(parts: Vec<P>, threads: usize, lost: Error) -> Self
    where
        P: InputPart + Send + 'static,
    {
        let (count, threads) = (parts.len(), threads.min(parts.len()));
        let mut of_thread: Vec<Vec<P>> = (0..threads).map(|_| Vec::new()).collect();
        for (number, part) in parts.into_iter().enumerate() {
            of_thread[number % threads].push(part);
        }
        let begin = |parts: Vec<P>| {
            let (full, batches) = sync_channel(AHEAD);
            thread::spawn(move || parts.iter().all(|part| hand_over(part, &full)));
            batches
        };
        let lanes = of_thread.into_iter().map(begin).collect();
        Self { ready: VecDeque::new(), lanes, skipped: 0, part: 0, parts: count, lost }
    }

    /// Takes batches that are there, each with its bytes.
    #[cfg(feature = "arrow")]
    pub(super) fn of(ready: VecDeque<(Batch, u64)>, lost: Error) -> Self {
        Self { ready, lanes: Vec::new(), skipped: 0, part: 0, parts: 0, lost }
    }

    /// The next batch, and how many bytes of the input it stands for; None at the end.
    pub(super) fn next(&mut self) -> Result<Option<(Batch, u64)>> {
        if let Some(ready) = self.ready.pop_front() {
            return Ok(Some(ready));
        }
        while self.part < self.parts {
            let lane = &self.lanes[self.part % self.lanes.len()];
            match lane.recv().unwrap_or_else(|_| Err(self.lost.clone()))? {
                None => self.part += 1,
                Some((batch, taken)) if batch.count() == 0 => self.skipped += taken,
                Some((batch, taken)) => {
                    return Ok(Some((batch, taken + std::mem::take(&mut self.skipped))));
                }
            }
        }
        Ok(None)
    }
}

/// Reads one part to its end; false if it is not whole, or nobody takes its batches any more.
fn hand_over(part: &impl InputPart, full: &SyncSender<Read>) -> bool {
    let mut is_taken = true;
    let mut give = |batch: Batch, taken| {
        is_taken = full.send(Ok(Some((batch, taken)))).is_ok();
        is_taken
    };
    let read = guarded(|| part.read(&mut give), || part.lost());
    let is_whole = read.is_ok();
    is_taken && full.send(read.map(|()| None)).is_ok() && is_whole
}
