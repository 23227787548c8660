//! Stretch: many pieces of a payload on their way to the server as one message, without a copy of
//! their own.

use std::ops::Range;
use std::sync::Arc;

use bytes::Buf;
use pgsluice_core::bucket::Payload;

/// Bytes of one message to the server, or a little more.
const MESSAGE_BYTES: usize = 64 << 10;

/// What of a payload is sent as one message: its header and trailer count as pieces, the first and the
/// last.
pub(super) struct Stretch {
    payload: Arc<Payload>,
    pieces: Range<usize>,
    /// The bytes of the first piece that are sent already.
    at: usize,
    left: usize,
}

impl Stretch {
    /// All of a payload.
    pub(super) fn all(payload: &Arc<Payload>) -> impl Iterator<Item = Self> {
        let end = payload.pieces() + 2;
        let mut next = 0;
        std::iter::from_fn(move || {
            let (first, mut left) = (next, 0);
            while next < end && left < MESSAGE_BYTES {
                left += piece(payload, next).len();
                next += 1;
            }
            let payload = Arc::clone(payload);
            (left > 0).then_some(Self { payload, pieces: first..next, at: 0, left })
        })
    }
}

fn piece(payload: &Payload, index: usize) -> &[u8] {
    match index.checked_sub(1) {
        None => payload.header(),
        Some(index) if index < payload.pieces() => payload.piece(index),
        Some(_) => payload.trailer(),
    }
}

impl Buf for Stretch {
    fn remaining(&self) -> usize {
        self.left
    }

    fn chunk(&self) -> &[u8] {
        let mut at = self.at;
        for index in self.pieces.clone() {
            let piece = piece(&self.payload, index);
            if at < piece.len() {
                return &piece[at..];
            }
            at -= piece.len();
        }
        &[]
    }

    fn advance(&mut self, count: usize) {
        self.left -= count;
        self.at += count;
        while self.pieces.start < self.pieces.end {
            let piece = piece(&self.payload, self.pieces.start).len();
            if self.at < piece {
                break;
            }
            self.at -= piece;
            self.pieces.start += 1;
        }
    }
}
