//! The messages that carry a payload to the server.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Buf;
use futures_util::SinkExt;
use pgsluice_core::bucket::{Payload, Wire};
use tokio_postgres::{CopyInSink, Error};

/// Maximum size of a message, or the size at which it ends after the current short slice.
const MESSAGE_BYTES: usize = 64 << 10;

/// A message: a range of a long slice, without a copy, or several short slices, which are copied because
/// sending each of them separately would take longer.
pub(crate) struct Message {
    bytes: MessageBytes,
    at: usize,
    end: usize,
}

enum MessageBytes {
    Slice(Arc<Payload>, usize),
    Together(Vec<u8>),
}

impl Message {
    /// Returns the messages of a whole payload, including its header and trailer.
    pub(crate) fn all(payload: &Arc<Payload>) -> impl Iterator<Item = Self> {
        // The next slice, and the number of its bytes that were returned.
        let (mut next, mut gone) = (0, 0);
        let mut header = Some(payload.wire().header());
        let mut trailer = Some(payload.wire().trailer());
        std::iter::from_fn(move || {
            let mut together = Vec::new();
            together.extend_from_slice(header.take().unwrap_or_default());
            while next < payload.slices() && together.len() < MESSAGE_BYTES {
                let slice = payload.slice(next);
                if slice.len() < MESSAGE_BYTES / 2 {
                    if together.capacity() < MESSAGE_BYTES {
                        together.reserve_exact(MESSAGE_BYTES + MESSAGE_BYTES / 2);
                    }
                    together.extend_from_slice(slice);
                    next += 1;
                    continue;
                }
                if !together.is_empty() {
                    break;
                }
                let (at, end) = (gone, slice.len().min(gone + MESSAGE_BYTES));
                let bytes = MessageBytes::Slice(Arc::clone(payload), next);
                (next, gone) = if end == slice.len() { (next + 1, 0) } else { (next, end) };
                return Some(Self { bytes, at, end });
            }
            if next == payload.slices() {
                together.extend_from_slice(trailer.take().unwrap_or_default());
            }
            let end = together.len();
            (end > 0).then_some(Self { bytes: MessageBytes::Together(together), at: 0, end })
        })
    }
}

impl Message {
    /// Sends some rows of a payload, which are copied.
    pub(crate) async fn feed<'r>(
        mut sink: Pin<&mut CopyInSink<Self>>,
        wire: Wire,
        rows: impl Iterator<Item = &'r [u8]>,
    ) -> Result<(), Error> {
        let mut together = wire.header().to_vec();
        for row in rows {
            together.extend_from_slice(row);
            if together.len() >= MESSAGE_BYTES {
                sink.feed(Self::new(std::mem::take(&mut together))).await?;
            }
        }
        together.extend_from_slice(wire.trailer());
        sink.feed(Self::new(together)).await
    }

    fn new(bytes: Vec<u8>) -> Self {
        Self { at: 0, end: bytes.len(), bytes: MessageBytes::Together(bytes) }
    }
}

impl Buf for Message {
    fn remaining(&self) -> usize {
        self.end - self.at
    }

    fn chunk(&self) -> &[u8] {
        let bytes = match &self.bytes {
            MessageBytes::Slice(payload, index) => payload.slice(*index),
            MessageBytes::Together(bytes) => bytes,
        };
        &bytes[self.at..self.end]
    }

    fn advance(&mut self, count: usize) {
        self.at += count;
    }
}

#[cfg(test)]
mod tests {
    use pgsluice_core::bucket::{Block, BlockRow, PayloadSize, Scheduler, Shard, Wire};

    use super::*;

    /// Returns a payload with one slice per row.
    fn payload(wire: Wire, rows: &[usize]) -> Arc<Payload> {
        let mut shard = Shard::new(Scheduler::count(1));
        for (split, bytes) in rows.iter().enumerate() {
            let room = shard.add_block(Scheduler::choose_bucket(1, 0, wire), Block::new(*bytes));
            let pushed: Result<(), ()> = room.push(BlockRow::new(split as u32, 0, 0), |block| {
                block.extend((0..*bytes).map(|at| (at + split) as u8));
                Ok(())
            });
            assert_eq!(pushed, Ok(()));
        }
        let size = PayloadSize { min: 0, max: usize::MAX, together: 1 };
        Arc::new(Scheduler::new(vec![true], 0).take(size, &mut [&mut shard]).expect("rows"))
    }

    #[test]
    fn all_bytes_are_sent_once_and_in_order() {
        for rows in [&[1][..], &[70_000], &[10, 40_000, 7, 200_000, 3, 3, 65_536], &[900; 300]] {
            for wire in [Wire::Text, Wire::Binary] {
                let payload = payload(wire, rows);
                let slices = (0..payload.slices()).map(|index| payload.slice(index));
                let slices: Vec<&[u8]> = slices.collect();
                let all =
                    [payload.wire().header(), &slices.concat(), payload.wire().trailer()].concat();
                let mut sent = Vec::new();
                for mut message in Message::all(&payload) {
                    assert!((1..=MESSAGE_BYTES * 3 / 2).contains(&message.remaining()));
                    while message.has_remaining() {
                        let count = message.chunk().len().min(1000);
                        sent.extend_from_slice(&message.chunk()[..count]);
                        message.advance(count);
                    }
                }
                assert!(sent == all, "{wire:?} {rows:?}");
            }
        }
    }
}
