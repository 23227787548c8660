//! Reads one input ahead: separate threads make batches from its parts, which are returned in order.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::guard::catch_panic;
use crate::error::{Error, Result};

/// Maximum number of batches that each thread reads ahead.
const AHEAD: usize = 4;

/// Approximate size of a batch in bytes, once its rows are written.
pub(super) const BATCH_BYTES: usize = 1 << 20;

/// Maximum number of rows in a batch.
pub(super) const MAX_ROWS: usize = 16 << 10;

/// Consecutive rows of an input.
pub(super) trait Counted {
    /// Returns the number of rows.
    fn count(&self) -> usize;
}

/// A callback that receives each batch with the number of input bytes that it covers, and returns false to stop.
pub(super) type Give<'g, B> = &'g mut dyn FnMut(B, u64) -> bool;

/// A part of an input that can be read independently, such as a row group.
pub(super) trait InputPart<B> {
    /// Requests the data of a part that is read soon, if that takes time.
    fn prepare(&self) {}

    /// Passes each batch of the part to `give`.
    fn read(&self, give: Give<'_, B>) -> Result<()>;

    /// Returns the error for a panic in `read`.
    fn lost(&self) -> Error;
}

/// A batch and its bytes; `None` at the end of a part.
type NextBatch<B> = Result<Option<(B, u64)>>;

/// A reader of the parts of one input, in order.
pub(super) struct ParallelReader<B> {
    /// Batches to return first.
    ready: VecDeque<(B, u64)>,
    receivers: Vec<Receiver<NextBatch<B>>>,
    /// Bytes of empty batches, which count with the next batch.
    skipped: u64,
    /// The number of the part whose batches come next.
    part: usize,
    /// The number of parts.
    parts: usize,
    /// The error if a thread ends before its part is complete.
    lost: Error,
}

impl<B: Counted + Send + 'static> ParallelReader<B> {
    /// Starts reading `parts` with at most `threads` threads.
    pub(super) fn begin<P>(parts: Vec<P>, threads: usize, lost: Error) -> Self
    where
        P: InputPart<B> + Send + 'static,
    {
        let (count, threads) = (parts.len(), threads.min(parts.len()));
        let mut of_thread: Vec<Vec<P>> = (0..threads).map(|_| Vec::new()).collect();
        for (number, part) in parts.into_iter().enumerate() {
            of_thread[number % threads].push(part);
        }
        let begin = |parts: Vec<P>| {
            let (full, batches) = sync_channel(AHEAD);
            thread::spawn(move || {
                let following = parts.iter().skip(1).map(Some).chain([None]);
                parts.iter().zip(following).all(|(part, following)| {
                    // Its own data comes first.
                    [Some(part), following].into_iter().flatten().for_each(prepare);
                    hand_over(part, &full)
                })
            });
            batches
        };
        let receivers = of_thread.into_iter().map(begin).collect();
        Self { ready: VecDeque::new(), receivers, skipped: 0, part: 0, parts: count, lost }
    }

    /// Returns a reader of batches that are already in memory, each with its bytes.
    #[cfg(feature = "arrow")]
    pub(super) fn from_memory(ready: VecDeque<(B, u64)>, lost: Error) -> Self {
        Self { ready, receivers: Vec::new(), skipped: 0, part: 0, parts: 0, lost }
    }

    /// Returns the next batch and the number of input bytes that it covers; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(B, u64)>> {
        if let Some(ready) = self.ready.pop_front() {
            return Ok(Some(ready));
        }
        while self.part < self.parts {
            let receiver = &self.receivers[self.part % self.receivers.len()];
            match receiver.recv().unwrap_or_else(|_| Err(self.lost.clone()))? {
                None => self.part += 1,
                Some((batch, raw_bytes)) if batch.count() == 0 => self.skipped += raw_bytes,
                Some((batch, raw_bytes)) => {
                    return Ok(Some((batch, raw_bytes + std::mem::take(&mut self.skipped))));
                }
            }
        }
        Ok(None)
    }
}

/// Requests the data of a part. A panic is reported when the part is read.
fn prepare<B>(part: &impl InputPart<B>) {
    let prepare = || {
        part.prepare();
        Ok(())
    };
    let _ = catch_panic(prepare, || part.lost());
}

/// Sends the batches of one part. Returns false if the part could not be read to its end, or the receiver is
/// gone.
fn hand_over<B>(part: &impl InputPart<B>, full: &SyncSender<NextBatch<B>>) -> bool {
    let mut is_taken = true;
    let mut give = |batch: B, raw_bytes| {
        is_taken = full.send(Ok(Some((batch, raw_bytes)))).is_ok();
        is_taken
    };
    let read = catch_panic(|| part.read(&mut give), || part.lost());
    let is_whole = read.is_ok();
    is_taken && full.send(read.map(|()| None)).is_ok() && is_whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::kind::Kind;

    impl Counted for usize {
        fn count(&self) -> usize {
            *self
        }
    }

    /// A part with this number of rows, which panics if it is requested ahead.
    struct Unprepared(usize);

    impl InputPart<usize> for Unprepared {
        fn prepare(&self) {
            panic!("no place of {} rows", self.0);
        }

        fn read(&self, give: Give<'_, usize>) -> Result<()> {
            give(self.0, 1);
            Ok(())
        }

        fn lost(&self) -> Error {
            Error::new(Kind::Input, "damaged")
        }
    }

    #[test]
    fn parts_that_cannot_be_requested_ahead_are_read() {
        let lost = Error::new(Kind::Input, "lost");
        let mut reader = ParallelReader::begin((1..6).map(Unprepared).collect(), 2, lost);
        let mut rows = Vec::new();
        while let Some((batch, _)) = reader.next().expect("a batch") {
            rows.push(batch);
        }
        assert_eq!(rows, [1, 2, 3, 4, 5]);
    }
}
