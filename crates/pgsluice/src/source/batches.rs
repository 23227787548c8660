//! Batches of one input, read ahead by dedicated threads.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use pgsluice_core::split::Row;

use super::guard::guarded;
use super::relation::CopiedRows;
use super::rewrite::Rewrite;
use super::typed;
use crate::error::{Error, Result};

/// Maximum number of batches that each thread reads ahead.
const AHEAD: usize = 4;

/// Approximate size of a batch in bytes, once its rows are written.
pub(super) const BATCH_BYTES: usize = 1 << 20;

/// Maximum number of rows in a batch.
pub(super) const MOST_ROWS: usize = 16 << 10;

/// Consecutive rows of an input.
#[derive(Debug)]
pub(crate) enum Batch {
    /// Rows of typed columns.
    #[cfg_attr(not(feature = "arrow"), expect(dead_code))]
    Typed(typed::Batch),
    /// Rows that a server has copied out.
    Copied(CopiedRows),
}

/// The range of an input that a batch covers.
pub(super) struct Stretch {
    /// The place of the first row.
    pub(super) start: u64,
    /// The distance from there to the end of the last row.
    pub(super) length: usize,
}

impl Batch {
    /// Returns the number of rows.
    pub(super) fn count(&self) -> usize {
        match self {
            Self::Typed(batch) => batch.count(),
            Self::Copied(rows) => rows.count(),
        }
    }

    /// Appends the rows to `rows`, with places relative to the start of the returned range. The place of a row of typed
    /// columns is its number in the input, which is `number` for the first one; the place of a row of a table is its
    /// ctid.
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
    /// Keys of typed columns, converted on request.
    Typed(typed::KeyText<'b>),
    /// Keys of a table's rows, sent as text by its server.
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

    /// Returns the row with this number as COPY text that contains only its keys; `None` if a key has no text.
    pub(crate) fn of_row(&mut self, row: usize) -> Option<&[u8]> {
        match self {
            Self::Typed(keys) => keys.of(row),
            Self::Copied(rows) => rows.key_text(row),
        }
    }
}

/// A callback that receives each batch with the number of input bytes that it covers, and returns false to stop.
pub(super) type Give<'g> = &'g mut dyn FnMut(Batch, u64) -> bool;

/// A part of an input that can be read independently, such as a row group.
pub(super) trait InputPart {
    /// Passes each batch of the part to `give`.
    fn read(&self, give: Give<'_>) -> Result<()>;

    /// Returns the error for a panic in `read`.
    fn lost(&self) -> Error;
}

/// A batch and its bytes; `None` at the end of a part.
type Read = Result<Option<(Batch, u64)>>;

/// A reader of the parts of one input, in order.
pub(crate) struct Batches {
    /// Batches to return first.
    ready: VecDeque<(Batch, u64)>,
    lanes: Vec<Receiver<Read>>,
    /// Bytes of empty batches, which count with the next batch.
    skipped: u64,
    /// The number of the part whose batches come next.
    part: usize,
    /// The number of parts.
    parts: usize,
    /// The error if a thread ends before its part is complete.
    lost: Error,
}

impl Batches {
    /// Starts reading `parts` with at most `threads` threads.
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

    /// Returns a reader of batches that are already in memory, each with its bytes.
    #[cfg(feature = "arrow")]
    pub(super) fn of(ready: VecDeque<(Batch, u64)>, lost: Error) -> Self {
        Self { ready, lanes: Vec::new(), skipped: 0, part: 0, parts: 0, lost }
    }

    /// Returns the next batch and the number of input bytes that it covers; `None` at the end.
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

/// Sends the batches of one part. Returns false if the part could not be read to its end, or the receiver is gone.
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
