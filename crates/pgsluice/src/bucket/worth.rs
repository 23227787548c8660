//! Worth: how many bytes a payload waits for.

use std::time::Duration;

use pgsluice_core::bucket::{SEALED_BYTES, TOGETHER, Worth};

/// While input comes slowly a payload of this many bytes is sent.
pub(super) const WORTH_A_COPY: usize = 64 << 10;

/// While input comes fast a payload of fewer bytes waits for more rows, until the cost of a COPY is known.
pub(super) const WORTH_WAITING_FOR: usize = 512 << 10;

/// No payload is longer than this, however much memory there is.
const MOST_BYTES: usize = 64 << 20;

/// Nor has one more leaves: the server keeps a lock on each until the payload is committed.
const MOST_TOGETHER: usize = 128;

/// A payload is worth waiting for until its COPY costs an eighth of what its rows take, and one
/// connection takes some 200 MB/s.
const BYTES_A_MICROSECOND: usize = 8 * 200;

/// Returns the most bytes of a payload for which a load has this much memory.
fn most(memory: usize) -> usize {
    (memory / 16).clamp(SEALED_BYTES, MOST_BYTES)
}

/// Payloads that are sorted are as large as the memory allows. The more rows one has, the more of them go
/// to the same page of the index. How many leaves travel together is chosen for each payload.
pub(super) fn worth_sorting(memory: usize, share: usize) -> Worth {
    let most = most(memory);
    Worth { least: share.min(most), most, together: 1 }
}

/// Returns the worth of payloads that are not sorted, by what a COPY without rows costs. On a far server it costs
/// milliseconds: then payloads are larger than the usual 4 MiB, and have more leaves.
pub(super) fn worth_of_cost(cost: Duration, memory: usize, share: usize) -> Worth {
    let micros = usize::try_from(cost.as_micros()).unwrap_or(usize::MAX);
    let wanted = micros.saturating_mul(BYTES_A_MICROSECOND);
    let most = wanted.clamp(SEALED_BYTES, most(memory));
    Worth { least: wanted.clamp(WORTH_A_COPY, share.min(most)), most, together: 1 }
}

/// Returns how many leaves' rows travel together in payloads of at most `most` bytes, if any do.
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
    fn no_payload_waits_for_more_than_the_share_of_a_leaf() {
        for micros in [0, 300, 10_000, u64::MAX] {
            let worth = worth_of_cost(Duration::from_micros(micros), MEMORY, SHARE);
            assert!((WORTH_A_COPY..=SHARE).contains(&worth.least), "{worth:?}");
        }
    }
}
