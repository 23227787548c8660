//! Files of columns: generated, damaged, and decoded.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};

use arrow_array::RecordBatch;

use super::batch;
use crate::choices::Choices;

thread_local! {
    static IS_DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Silences panics of decoders, which pgsluice converts to errors. Call it once.
pub fn let_decoders_panic() {
    let hook = take_hook();
    set_hook(Box::new(move |info| {
        if !IS_DECODING.get() {
            hook(info);
        }
    }));
}

/// Returns the result of `decode`; `None` if it fails or panics.
pub fn try_decode<T, E>(decode: impl FnOnce() -> Result<T, E>) -> Option<T> {
    IS_DECODING.set(true);
    let done = catch_unwind(AssertUnwindSafe(decode));
    IS_DECODING.set(false);
    done.ok()?.ok()
}

/// Replaces a mutated file, for one seed in 128, by a new one that `write` generates from the seed alone.
/// Returns its length.
pub fn replace_file(
    seed: u32,
    data: &mut [u8],
    max: usize,
    write: impl FnOnce(&mut Choices<'_>, &RecordBatch) -> Option<Vec<u8>>,
) -> Option<usize> {
    if seed % 128 != 0 {
        return None;
    }
    // Any pseudo-random sequence will do: xorshift.
    let mut state = u64::from(seed) << 32 | 0x9E37_79B9;
    let bytes: Vec<u8> = (0..600)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 24) as u8
        })
        .collect();
    let mut choices = Choices::new(&bytes);
    let batch = batch(&mut choices);
    let file = write(&mut choices, &batch)?;
    data.get_mut(..max)?.get_mut(..file.len())?.copy_from_slice(&file);
    Some(file.len())
}

/// Checks the rows of batches from `bytes`, until one is damaged or there are too many.
pub fn check_batches<E>(bytes: &[u8], mut batches: impl Iterator<Item = Result<RecordBatch, E>>) {
    let mut choices = Choices::new(&bytes[bytes.len() / 2..]);
    for _ in 0..16 {
        let Some(Some(batch)) = try_decode(|| batches.next().transpose()) else { break };
        super::check(&mut choices, &batch);
    }
}
