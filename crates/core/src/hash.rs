//! PostgreSQL's 64-bit hash, bit for bit, and the combination of a row's key hashes: Bob Jenkins' lookup3 as in
//! `src/common/hashfn.c` (unchanged from version 13 to 18).
//!
//! It has a module of its own because every type's hash uses it. The word order is that of a little-endian
//! server (x86, ARM); a big-endian server hashes bytes to other values.

/// The seed of every partition key hash: `HASH_PARTITION_SEED`,
/// `src/include/catalog/partition.h`, PostgreSQL 13 to 18.
pub const PARTITION_SEED: u64 = 0x7A5B_2236_7996_DCFD;

/// Hashes bytes like `hash_bytes_extended` (`src/common/hashfn.c`, PostgreSQL 13 to 18).
#[inline]
#[must_use]
pub fn bytes_extended(k: &[u8], seed: u64) -> u64 {
    // The server's lengths are 32 bits wide (a value has at most 1 GB).
    let mut state = HashState::new(k.len() as u32, seed);
    let (blocks, rest) = k.as_chunks::<12>();
    for block in blocks {
        let [a, b, c] = words(block);
        state.add(a, b, c);
        state.mix();
    }
    let mut last = [0; 12];
    last[..rest.len()].copy_from_slice(rest);
    let [a, b, c] = words(&last);
    // The lowest byte of c is reserved for the length.
    state.add(a, b, c << 8);
    state.finish()
}

/// Hashes a word like `hash_bytes_uint32_extended` (`src/common/hashfn.c`, PostgreSQL 13 to 18).
#[inline]
#[must_use]
pub fn uint32_extended(k: u32, seed: u64) -> u64 {
    let mut state = HashState::new(4, seed);
    state.add(k, 0, 0);
    state.finish()
}

/// Combines two hashes like `hash_combine64` (`src/include/common/hashfn.h`, PostgreSQL 13 to 18).
///
/// A row's hash begins at 0 and combines the hash of each key that is not null, in the order of the keys, like
/// `compute_partition_hash_value` (`src/backend/partitioning/partbounds.c`).
#[inline]
#[must_use]
pub fn combine64(a: u64, b: u64) -> u64 {
    a ^ b.wrapping_add(0x49a0_f4dd_15e5_a8e3).wrapping_add(a << 54).wrapping_add(a >> 7)
}

/// Rotates each half by one bit, like `ROTATE_HIGH_AND_LOW_32BITS` (`src/include/common/hashfn.h`; before
/// version 14 `src/include/utils/hashutils.h`).
pub(crate) fn rotate_halves(hash: u64) -> u64 {
    let (high, low) = ((hash >> 32) as u32, hash as u32);
    u64::from(high.rotate_left(1)) << 32 | u64::from(low.rotate_left(1))
}

struct HashState {
    a: u32,
    b: u32,
    c: u32,
}

impl HashState {
    fn new(len: u32, seed: u64) -> Self {
        let start = 0x9e37_79b9_u32.wrapping_add(len).wrapping_add(3_923_095);
        let mut state = Self { a: start, b: start, c: start };
        if seed != 0 {
            state.add((seed >> 32) as u32, seed as u32, 0);
            state.mix();
        }
        state
    }

    fn add(&mut self, a: u32, b: u32, c: u32) {
        self.a = self.a.wrapping_add(a);
        self.b = self.b.wrapping_add(b);
        self.c = self.c.wrapping_add(c);
    }

    fn mix(&mut self) {
        let Self { mut a, mut b, mut c } = *self;
        (a, c) = mix_step(a, b, c, 4);
        (b, a) = mix_step(b, c, a, 6);
        (c, b) = mix_step(c, a, b, 8);
        (a, c) = mix_step(a, b, c, 16);
        (b, a) = mix_step(b, c, a, 19);
        (c, b) = mix_step(c, a, b, 4);
        *self = Self { a, b, c };
    }

    fn finish(self) -> u64 {
        let Self { mut a, mut b, mut c } = self;
        c = (c ^ b).wrapping_sub(b.rotate_left(14));
        a = (a ^ c).wrapping_sub(c.rotate_left(11));
        b = (b ^ a).wrapping_sub(a.rotate_left(25));
        c = (c ^ b).wrapping_sub(b.rotate_left(16));
        a = (a ^ c).wrapping_sub(c.rotate_left(4));
        b = (b ^ a).wrapping_sub(a.rotate_left(14));
        c = (c ^ b).wrapping_sub(b.rotate_left(24));
        u64::from(b) << 32 | u64::from(c)
    }
}

/// Computes one line of C's `mix`, `x -= z; x ^= rot(z, k); z += y`, and returns the new `(x, z)`.
fn mix_step(x: u32, y: u32, z: u32, k: u32) -> (u32, u32) {
    (x.wrapping_sub(z) ^ z.rotate_left(k), z.wrapping_add(y))
}

fn words(block: &[u8; 12]) -> [u32; 3] {
    let [a, b, c, d, e, f, g, h, i, j, k, l] = *block;
    [[a, b, c, d], [e, f, g, h], [i, j, k, l]].map(u32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::{PARTITION_SEED, bytes_extended, uint32_extended};

    #[test]
    fn a_word_hashes_as_its_bytes() {
        for seed in [0, 1, PARTITION_SEED] {
            for k in [0, 1, 255, 256, 0x8000_0000, u32::MAX] {
                assert_eq!(uint32_extended(k, seed), bytes_extended(&k.to_le_bytes(), seed));
            }
        }
    }
}
