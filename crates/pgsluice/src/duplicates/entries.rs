//! The entries of all rows, in parts that each contain whole keys, in memory or in temporary files.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use parking_lot::Mutex;
use pgsluice_core::duplicates::{Entry, Rank};

/// The number of parts: enough that one is small if all of them do not fit into memory, and few enough to be
/// files.
const PARTS: usize = 128;

/// The number of entries of a part that a thread gathers before it takes the lock.
const AT_ONCE: usize = 512;

/// The entries of all rows.
pub(super) struct Entries<R> {
    parts: Vec<Mutex<EntryPart<R>>>,
    /// The number of entries in memory, and its maximum.
    held: AtomicUsize,
    max: usize,
}

struct EntryPart<R> {
    held: Vec<Entry<R>>,
    file: Option<File>,
}

impl<R: Rank + Send> Entries<R> {
    /// Creates an empty set. Its entries take at most an eighth of `memory` bytes, because an allocator may
    /// keep that memory while rows are sent. A growing vector takes twice its size.
    pub(super) fn new(memory: usize) -> Self {
        let part = || Mutex::new(EntryPart { held: Vec::new(), file: None });
        let max = memory / 8 / 2 / size_of::<Entry<R>>();
        Self { parts: (0..PARTS).map(|_| part()).collect(), held: AtomicUsize::new(0), max }
    }

    fn add(&self, part: usize, entries: &mut Vec<Entry<R>>) -> io::Result<()> {
        let held = self.held.fetch_add(entries.len(), Relaxed) + entries.len();
        let mut part = self.parts[part].lock();
        part.held.append(entries);
        if held > self.max {
            self.held.fetch_sub(part.held.len(), Relaxed);
            part.write()?;
        }
        Ok(())
    }

    /// Passes the entries of each part to `take`, in `threads` threads.
    pub(super) fn each_part(
        self,
        threads: usize,
        take: impl Fn(&mut [Entry<R>]) + Sync,
    ) -> io::Result<()> {
        let next = AtomicUsize::new(0);
        let taking = || {
            while let Some(part) = self.parts.get(next.fetch_add(1, Relaxed)) {
                take(&mut part.lock().take()?);
            }
            Ok(())
        };
        let ended = thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(taking)).collect();
            threads.into_iter().map(|thread| thread.join()).collect::<Vec<_>>()
        });
        let lost = |_| Err(io::Error::other("a thread ended unexpectedly"));
        ended.into_iter().try_for_each(|ended| ended.unwrap_or_else(lost))
    }
}

impl<R: Rank> EntryPart<R> {
    fn write(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        let mut bytes = Vec::with_capacity(self.held.len() * Entry::<R>::BYTES);
        self.held.drain(..).for_each(|entry| entry.write(&mut bytes));
        self.held.shrink_to(AT_ONCE);
        file.write_all(&bytes)
    }

    fn take(&mut self) -> io::Result<Vec<Entry<R>>> {
        let mut entries = std::mem::take(&mut self.held);
        if let Some(mut file) = self.file.take() {
            let mut bytes = Vec::new();
            file.rewind()?;
            file.read_to_end(&mut bytes)?;
            let read = bytes.chunks_exact(Entry::<R>::BYTES).map(Entry::read);
            let read: Option<Vec<_>> = read.collect();
            entries.extend(read.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?);
        }
        Ok(entries)
    }
}

/// The entries that one thread has found and not passed on.
pub(super) struct ThreadEntries<'e, R> {
    entries: &'e Entries<R>,
    parts: Vec<Vec<Entry<R>>>,
}

impl<'e, R: Rank + Send> ThreadEntries<'e, R> {
    pub(super) fn new(entries: &'e Entries<R>) -> Self {
        Self { entries, parts: (0..PARTS).map(|_| Vec::with_capacity(AT_ONCE)).collect() }
    }

    pub(super) fn add(&mut self, entry: Entry<R>) -> io::Result<()> {
        let at = entry.part(PARTS);
        let part = &mut self.parts[at];
        part.push(entry);
        if part.len() == AT_ONCE { self.entries.add(at, part) } else { Ok(()) }
    }

    /// Passes on the remaining entries.
    pub(super) fn end(mut self) -> io::Result<()> {
        let mut parts = self.parts.iter_mut().enumerate();
        parts.try_for_each(|(at, part)| self.entries.add(at, part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgsluice_core::duplicates::{KeyPart, NoRank, Rule, Secret};
    use pgsluice_core::format::Format;
    use pgsluice_core::parse::{Fields, Parser};
    use pgsluice_core::types::KeyType;

    #[test]
    fn entries_come_back_whether_they_fit_or_not() {
        const ROWS: u64 = 20_000;
        let parser = Parser::new(&Format::csv(), vec![0]);
        let key = [KeyPart { slot: 0, key_type: KeyType::Int8 }];
        let (mut fields, mut scratch) = (Fields::default(), Vec::new());
        for memory in [1 << 30, 10_000] {
            let entries = Entries::<NoRank>::new(memory);
            let mut thread_entries = ThreadEntries::new(&entries);
            for row in 0..ROWS {
                let text = row.to_string();
                parser.parse(text.as_bytes(), &mut fields);
                let row_of = (text.as_bytes(), &fields);
                let print = Secret([7; 16]).print(None, &key, row_of, true, &mut scratch);
                let entry = Entry::new(print.expect("a print"), NoRank, row, Rule::Last);
                thread_entries.add(entry).expect("room");
            }
            thread_entries.end().expect("room");
            let seen = Mutex::new(Vec::new());
            let take = |entries: &mut [Entry<NoRank>]| {
                seen.lock().extend(entries.iter().map(|entry| entry.row(Rule::Last)));
            };
            entries.each_part(3, take).expect("what was written");
            let mut seen = seen.into_inner();
            seen.sort_unstable();
            assert!(seen.iter().copied().eq(0..ROWS));
        }
    }
}
