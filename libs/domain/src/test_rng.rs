//! Random numbers from a seed, so that a test or a simulated run can be repeated.

use std::cell::Cell;

thread_local! {
    /// The state of this thread's generator; `None` when random numbers come from the operating
    /// system.
    static SEEDED: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Seeds the random numbers of this thread, so that a run can be repeated. `None` restores those of
/// the operating system.
pub fn seed_randomness(seed: impl Into<Option<u64>>) {
    SEEDED.set(seed.into());
}

/// Fills `bytes` when this thread has a seed, and returns whether it has.
pub(crate) fn fill_seeded(bytes: &mut [u8]) -> bool {
    let Some(mut state) = SEEDED.get() else { return false };
    for chunk in bytes.chunks_mut(8) {
        // SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        chunk.copy_from_slice(&mixed.to_le_bytes()[..chunk.len()]);
    }
    SEEDED.set(Some(state));
    true
}
