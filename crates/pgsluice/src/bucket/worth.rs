//! Worth: how many bytes a payload waits for.

use pgsluice_core::bucket::{SEALED_BYTES, Worth};

/// While input comes slowly a payload of this many bytes is sent.
pub(super) const WORTH_A_COPY: usize = 64 << 10;

/// While input comes fast a payload of fewer bytes waits for more rows, until the cost of a COPY is known.
pub(super) const WORTH_WAITING_FOR: usize = 512 << 10;

/// A payload that is sorted is no longer than this, however much memory there is.
const MOST_SORTED_BYTES: usize = 64 << 20;

/// A payload is worth waiting for until its COPY costs an eighth of what its rows take, and one
/// connection takes some 200 MB/s.
pub(super) const BYTES_A_MICROSECOND: usize = 8 * 200;

/// Payloads that are sorted are as large as the memory allows. The more rows one has, the more of them go
/// to the same page of the index. How many leaves travel together is chosen for each payload.
pub(super) fn worth_sorting(memory: usize, share: usize) -> Worth {
    let most = (memory / 16).clamp(SEALED_BYTES, MOST_SORTED_BYTES);
    Worth { least: share.min(most), most, together: 1 }
}
