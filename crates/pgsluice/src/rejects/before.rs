//! The contents of the reject files from an earlier run of a load. The ledger says which rejected rows were
//! committed.

use std::collections::HashSet;

use pgsluice_core::split::Splitter;
use serde::Deserialize;

use super::files::RejectBatch;
use crate::source::Input;
use pgsluice_core::origin::Origin;

/// An earlier run of the load.
pub(super) struct Before<'b> {
    pub inputs: &'b [Input],
    pub splitter: Splitter,
    pub header_rows: usize,
    /// The rows that are rejected according to the ledger: source and first byte.
    pub rejected: &'b HashSet<Origin>,
}

/// The fields of a line of the log that are needed here.
#[derive(Deserialize)]
struct KnownRejects {
    load: String,
    source: String,
    offset: u64,
}

impl Before<'_> {
    /// Pairs each row with its reason as long as both are complete: the last one written may be torn. Returns
    /// `None` if the files do not belong to the load `id`.
    pub(super) fn batches(&self, id: &str, rows: &[u8], log: &[u8]) -> Option<Vec<RejectBatch>> {
        let mut found = Vec::new();
        // Anything after a torn row is ignored.
        let _ = self.splitter.clone().scan(rows, true, &mut found);
        let found = found.iter().skip(self.header_rows);
        let mut whole = found
            .map(|row| u64::from(row.start)..u64::from(row.end) + 1)
            .take_while(|row| row.end <= rows.len() as u64);
        let (mut batches, mut left, mut begin) = (Vec::new(), self.rejected.clone(), 0);
        for line in log.split_inclusive(|&byte| byte == b'\n') {
            let log = begin..begin + line.len() as u64;
            begin = log.end;
            let Some(line) = line.strip_suffix(b"\n") else { break };
            let KnownRejects { load, source, offset } = serde_json::from_slice(line).ok()?;
            if load != id {
                return None;
            }
            let of_input = |(number, input): (u32, &Input)| {
                Some(Origin { input: number, at: input.place_of(&source, offset)? })
            };
            let origin = (0..).zip(self.inputs).find_map(of_input);
            let is_kept = origin.is_some_and(|origin| left.remove(&origin));
            let Some(rows) = whole.next() else { break };
            batches.push(RejectBatch { rows, log, is_kept });
        }
        // Reasons are written first, so rows without any reason belong to another load.
        (!log.is_empty() || rows.is_empty()).then_some(batches)
    }
}
