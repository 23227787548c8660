//! The worth of a payload: the number of bytes that it waits for.

use std::time::Duration;

use pgsluice_core::bucket::{SEALED_BYTES, TOGETHER, Worth};

/// Size at which a payload is sent while input comes slowly.
pub(super) const WORTH_A_COPY: usize = 64 << 10;

/// Size below which a payload waits for more rows while input comes fast, until the cost of a COPY is known.
pub(super) const WORTH_WAITING_FOR: usize = 512 << 10;

/// Maximum size of a payload, however much memory there is.
const MOST_BYTES: usize = 64 << 20;

/// Maximum number of leaves in a payload: the server keeps a lock on each until the payload is committed.
const MOST_TOGETHER: usize = 128;

/// Bytes per microsecond of COPY cost that a payload waits for. A payload is worth waiting for until its COPY
/// costs an eighth of the time for its rows, where one connection takes about 200 MB/s.
const BYTES_A_MICROSECOND: usize = 8 * 200;

/// Returns the maximum size of a payload in a load with this much memory.
fn most(memory: usize) -> usize {
    (memory / 16).clamp(SEALED_BYTES, MOST_BYTES)
}

/// Returns the worth of sorted payloads. The more rows a payload has in relation to the rows already in its
/// leaf, the more of them go to the same page of the index. So a payload waits until it has as many bytes as
/// a leaf of `leaf_bytes`, and as many as the cost of a COPY is worth, within the limits of memory. The
/// number of leaves that go together is chosen for each payload.
pub(super) fn worth_sorting(
    cost: Duration,
    memory: usize,
    share: usize,
    leaf_bytes: usize,
) -> Worth {
    let most = most(memory);
    let wanted = leaf_bytes.max(worth_bytes(cost)).clamp(SEALED_BYTES, most);
    Worth { least: share.min(wanted), most, together: 1 }
}

/// Returns the worth of unsorted payloads, by the cost of an empty COPY. On a distant server it costs
/// milliseconds; payloads are then larger than the usual 4 MiB, and have more leaves.
pub(super) fn worth_of_cost(cost: Duration, memory: usize, share: usize) -> Worth {
    let wanted = worth_bytes(cost);
    let most = wanted.clamp(SEALED_BYTES, most(memory));
    Worth { least: wanted.clamp(WORTH_A_COPY, share.min(most)), most, together: 1 }
}

/// Returns the number of bytes that a COPY of this cost is worth.
fn worth_bytes(cost: Duration) -> usize {
    let micros = usize::try_from(cost.as_micros()).unwrap_or(usize::MAX);
    micros.saturating_mul(BYTES_A_MICROSECOND)
}

/// Returns the maximum number of leaves in payloads of at most `most` bytes, if leaves go together.
pub(super) fn together(most: usize) -> usize {
    (TOGETHER * most / SEALED_BYTES).clamp(TOGETHER, MOST_TOGETHER)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: usize = 512 << 20;
    const SHARE: usize = 1 << 20;

    #[test]
    fn payloads_grow_with_the_cost_of_a_copy() {
        let most = |micros| worth_of_cost(Duration::from_micros(micros), MEMORY, SHARE).most;
        assert_eq!([0, 300, 2_000].map(most), [SEALED_BYTES; 3]);
        assert_eq!(most(10_000), 16_000_000);
        assert_eq!([40_000, u64::MAX].map(most), [MEMORY / 16; 2]);
    }

    #[test]
    fn so_does_the_number_of_leaves() {
        assert_eq!([SEALED_BYTES, 2 * SEALED_BYTES, MEMORY / 16].map(together), [8, 16, 64]);
        assert_eq!(together(usize::MAX / TOGETHER), MOST_TOGETHER);
    }

    #[test]
    fn sorted_payloads_grow_with_their_leaves() {
        let near = Duration::from_micros(300);
        let least = |leaf_bytes, share| worth_sorting(near, MEMORY, share, leaf_bytes).least;
        assert_eq!(least(0, MEMORY), SEALED_BYTES);
        assert_eq!(least(20 << 20, MEMORY), 20 << 20);
        assert_eq!(least(usize::MAX, MEMORY), MEMORY / 16);
        assert_eq!([0, usize::MAX].map(|leaf_bytes| least(leaf_bytes, SHARE)), [SHARE; 2]);
        let far = worth_sorting(Duration::from_millis(10), MEMORY, MEMORY, 0);
        assert_eq!(far.least, 16_000_000);
    }

    #[test]
    fn no_payload_waits_for_more_than_the_share_of_a_leaf() {
        for micros in [0, 300, 10_000, u64::MAX] {
            let worth = worth_of_cost(Duration::from_micros(micros), MEMORY, SHARE);
            assert!((WORTH_A_COPY..=SHARE).contains(&worth.least), "{worth:?}");
        }
    }
}
