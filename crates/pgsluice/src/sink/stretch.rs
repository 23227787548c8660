//! Stretch: what of a payload is sent to the server as one message.

use std::sync::Arc;

use bytes::Buf;
use pgsluice_core::bucket::Payload;

/// Bytes of one message at most, but for the last of many short pieces.
const MESSAGE_BYTES: usize = 64 << 10;

/// A part of a long piece, where it lies; or short pieces that are put together, because to hand over
/// each takes longer than to copy it.
pub(super) struct Stretch {
    bytes: Bytes,
    at: usize,
    end: usize,
}

enum Bytes {
    OfPiece(Arc<Payload>, usize),
    Together(Vec<u8>),
}

impl Stretch {
    /// All of a payload, its header and trailer included.
    pub(super) fn all(payload: &Arc<Payload>) -> impl Iterator<Item = Self> {
        // The piece that is next, and what of it has gone.
        let (mut next, mut gone) = (0, 0);
        let mut header = Some(payload.header());
        let mut trailer = Some(payload.trailer());
        std::iter::from_fn(move || {
            let mut together = Vec::new();
            together.extend_from_slice(header.take().unwrap_or_default());
            while next < payload.pieces() && together.len() < MESSAGE_BYTES {
                let piece = payload.piece(next);
                if piece.len() < MESSAGE_BYTES / 2 {
                    if together.capacity() < MESSAGE_BYTES {
                        together.reserve_exact(MESSAGE_BYTES + MESSAGE_BYTES / 2);
                    }
                    together.extend_from_slice(piece);
                    next += 1;
                    continue;
                }
                if !together.is_empty() {
                    break;
                }
                let (at, end) = (gone, piece.len().min(gone + MESSAGE_BYTES));
                let bytes = Bytes::OfPiece(Arc::clone(payload), next);
                (next, gone) = if end == piece.len() { (next + 1, 0) } else { (next, end) };
                return Some(Self { bytes, at, end });
            }
            if next == payload.pieces() {
                together.extend_from_slice(trailer.take().unwrap_or_default());
            }
            let end = together.len();
            (end > 0).then_some(Self { bytes: Bytes::Together(together), at: 0, end })
        })
    }
}

impl Buf for Stretch {
    fn remaining(&self) -> usize {
        self.end - self.at
    }

    fn chunk(&self) -> &[u8] {
        let bytes = match &self.bytes {
            Bytes::OfPiece(payload, index) => payload.piece(*index),
            Bytes::Together(bytes) => bytes,
        };
        &bytes[self.at..self.end]
    }

    fn advance(&mut self, count: usize) {
        self.at += count;
    }
}

#[cfg(test)]
mod tests {
    use pgsluice_core::bucket::{Buckets, Part, RowAt, Shelf, Wire, Worth};

    use super::*;

    /// A payload with a piece for each row.
    fn payload(wire: Wire, rows: &[usize]) -> Arc<Payload> {
        let mut shelf = Shelf::new(Buckets::count(1));
        for (split, bytes) in rows.iter().enumerate() {
            let room = shelf.supply(Buckets::of(1, 0, wire), Part::new(*bytes));
            let pushed: Result<(), ()> = room.push(RowAt::new(split as u32, 0, 0), |block| {
                block.extend((0..*bytes).map(|at| (at + split) as u8));
                Ok(())
            });
            assert_eq!(pushed, Ok(()));
        }
        let worth = Worth { least: 0, most: usize::MAX };
        Arc::new(Buckets::new(1, 0).take(worth, &mut [&mut shelf]).expect("rows"))
    }

    #[test]
    fn all_bytes_are_sent_once_and_in_order() {
        for rows in [&[1][..], &[70_000], &[10, 40_000, 7, 200_000, 3, 3, 65_536], &[900; 300]] {
            for wire in [Wire::Text, Wire::Binary] {
                let payload = payload(wire, rows);
                let pieces = (0..payload.pieces()).map(|index| payload.piece(index));
                let pieces: Vec<&[u8]> = pieces.collect();
                let all = [payload.header(), &pieces.concat(), payload.trailer()].concat();
                let mut sent = Vec::new();
                for mut stretch in Stretch::all(&payload) {
                    assert!((1..=MESSAGE_BYTES * 3 / 2).contains(&stretch.remaining()));
                    while stretch.has_remaining() {
                        let count = stretch.chunk().len().min(1000);
                        sent.extend_from_slice(&stretch.chunk()[..count]);
                        stretch.advance(count);
                    }
                }
                assert!(sent == all, "{wire:?} {rows:?}");
            }
        }
    }
}
