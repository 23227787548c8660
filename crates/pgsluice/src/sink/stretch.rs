//! Stretch: what of a payload is sent to the server as one message.

use std::sync::Arc;

use bytes::Buf;
use pgsluice_core::bucket::Payload;

/// Bytes of one message, or a little more.
const MESSAGE_BYTES: usize = 64 << 10;

/// A piece that is long enough for a message of its own, where it lies; or several that are put
/// together, because to hand over each takes longer than to copy it.
pub(super) struct Stretch {
    bytes: Bytes,
    at: usize,
}

enum Bytes {
    Piece(Arc<Payload>, usize),
    Together(Vec<u8>),
}

impl Stretch {
    /// All of a payload, its header and trailer included.
    pub(super) fn all(payload: &Arc<Payload>) -> impl Iterator<Item = Self> {
        let mut next = 0;
        let mut header = Some(payload.header());
        let mut trailer = Some(payload.trailer());
        std::iter::from_fn(move || {
            let mut together = Vec::new();
            together.extend_from_slice(header.take().unwrap_or_default());
            while next < payload.pieces() && together.len() < MESSAGE_BYTES {
                let piece = payload.piece(next);
                if piece.len() >= MESSAGE_BYTES / 2 {
                    if !together.is_empty() {
                        break;
                    }
                    next += 1;
                    return Some(Self::of(Bytes::Piece(Arc::clone(payload), next - 1)));
                }
                if together.capacity() == 0 {
                    together.reserve_exact(MESSAGE_BYTES + MESSAGE_BYTES / 2);
                }
                together.extend_from_slice(piece);
                next += 1;
            }
            if next == payload.pieces() {
                together.extend_from_slice(trailer.take().unwrap_or_default());
            }
            (!together.is_empty()).then(|| Self::of(Bytes::Together(together)))
        })
    }

    fn of(bytes: Bytes) -> Self {
        Self { bytes, at: 0 }
    }

    fn all_bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Piece(payload, index) => payload.piece(*index),
            Bytes::Together(bytes) => bytes,
        }
    }
}

impl Buf for Stretch {
    fn remaining(&self) -> usize {
        self.all_bytes().len() - self.at
    }

    fn chunk(&self) -> &[u8] {
        &self.all_bytes()[self.at..]
    }

    fn advance(&mut self, count: usize) {
        self.at += count;
    }
}
