//! The size of payloads: the number of bytes that they wait for, and their limits.

use std::time::Duration;

use pgsluice_core::bucket::{PayloadSize, SEALED_BYTES, TOGETHER};

use crate::plan::Plan;

/// Size at which a payload is sent while input comes slowly.
pub(super) const MIN_BYTES: usize = 64 << 10;

/// Size below which a payload waits for more rows while input comes fast, until the cost of a COPY is known.
const MIN_BYTES_AT_FIRST: usize = 512 << 10;

/// Maximum size of a payload, however much memory there is.
const MAX_BYTES: usize = 64 << 20;

/// Maximum number of leaves in a payload: the server keeps a lock on each until the payload is committed.
const MAX_TOGETHER: usize = 128;

/// Bytes per microsecond of COPY cost that a payload waits for. A payload is worth waiting for until its COPY
/// costs an eighth of the time for its rows, where one connection takes about 200 MB/s.
const BYTES_A_MICROSECOND: usize = 8 * 200;

/// Returns the size of payloads, by the cost of an empty COPY if that is known.
pub(super) fn size_for(
    plan: &Plan,
    cost: Option<Duration>,
    memory: usize,
    share: usize,
) -> PayloadSize {
    match (plan.sorts(), cost) {
        (true, cost) => {
            sorted_size(cost.unwrap_or_default(), memory, share, plan.estimated_leaf_bytes())
        }
        (false, Some(cost)) => unsorted_size(cost, memory, share),
        (false, None) => {
            let min = share.min(MIN_BYTES_AT_FIRST);
            PayloadSize { min, max: SEALED_BYTES, together: 1 }
        }
    }
}

/// Returns the maximum size of a payload in a load with this much memory.
fn max(memory: usize) -> usize {
    (memory / 16).clamp(SEALED_BYTES, MAX_BYTES)
}

/// Returns the size of sorted payloads. The more rows a payload has in relation to the rows already in its
/// leaf, the more of them go to the same page of the index. So a payload waits until it has as many bytes as
/// a leaf of `leaf_bytes`, and as many as justify the cost of a COPY, within the limits of memory. The
/// number of leaves that go together is chosen for each payload.
fn sorted_size(cost: Duration, memory: usize, share: usize, leaf_bytes: usize) -> PayloadSize {
    let max = max(memory);
    let wanted = leaf_bytes.max(bytes_for_cost(cost)).clamp(SEALED_BYTES, max);
    PayloadSize { min: share.min(wanted), max, together: 1 }
}

/// Returns the size of unsorted payloads, by the cost of an empty COPY. On a distant server it costs
/// milliseconds; payloads are then larger than the usual 4 MiB, and have more leaves.
fn unsorted_size(cost: Duration, memory: usize, share: usize) -> PayloadSize {
    let wanted = bytes_for_cost(cost);
    let max = wanted.clamp(SEALED_BYTES, max(memory));
    PayloadSize { min: wanted.clamp(MIN_BYTES, share.min(max)), max, together: 1 }
}

/// Returns the number of bytes at which a payload justifies a COPY of this cost.
fn bytes_for_cost(cost: Duration) -> usize {
    let micros = usize::try_from(cost.as_micros()).unwrap_or(usize::MAX);
    micros.saturating_mul(BYTES_A_MICROSECOND)
}

/// Returns the maximum number of leaves in payloads of at most `max` bytes, if leaves go together.
pub(super) fn together(max: usize) -> usize {
    (TOGETHER * max / SEALED_BYTES).clamp(TOGETHER, MAX_TOGETHER)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: usize = 512 << 20;
    const SHARE: usize = 1 << 20;

    #[test]
    fn payloads_grow_with_the_cost_of_a_copy() {
        let max = |micros| unsorted_size(Duration::from_micros(micros), MEMORY, SHARE).max;
        assert_eq!([0, 300, 2_000].map(max), [SEALED_BYTES; 3]);
        assert_eq!(max(10_000), 16_000_000);
        assert_eq!([40_000, u64::MAX].map(max), [MEMORY / 16; 2]);
    }

    #[test]
    fn the_number_of_leaves_grows_with_the_memory() {
        assert_eq!([SEALED_BYTES, 2 * SEALED_BYTES, MEMORY / 16].map(together), [8, 16, 64]);
        assert_eq!(together(usize::MAX / TOGETHER), MAX_TOGETHER);
    }

    #[test]
    fn sorted_payloads_grow_with_their_leaves() {
        let near = Duration::from_micros(300);
        let min = |leaf_bytes, share| sorted_size(near, MEMORY, share, leaf_bytes).min;
        assert_eq!(min(0, MEMORY), SEALED_BYTES);
        assert_eq!(min(20 << 20, MEMORY), 20 << 20);
        assert_eq!(min(usize::MAX, MEMORY), MEMORY / 16);
        assert_eq!([0, usize::MAX].map(|leaf_bytes| min(leaf_bytes, SHARE)), [SHARE; 2]);
        let far = sorted_size(Duration::from_millis(10), MEMORY, MEMORY, 0);
        assert_eq!(far.min, 16_000_000);
    }

    #[test]
    fn no_payload_waits_for_more_than_the_share_of_a_leaf() {
        for micros in [0, 300, 10_000, u64::MAX] {
            let size = unsorted_size(Duration::from_micros(micros), MEMORY, SHARE);
            assert!((MIN_BYTES..=SHARE).contains(&size.min), "{size:?}");
        }
    }
}
