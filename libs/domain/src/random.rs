//! Random numbers for decisions and steps of protocols: jitter, ids of writes and permits, and the
//! tails of ids. Secrets come from [`crate::token`].

#[cfg(any(test, feature = "testing"))]
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use crate::token::random_bytes;

/// A source of random numbers, passed to its users as the clock is.
#[derive(Clone, Debug)]
pub enum Random {
    /// The operating system's. The only variant in deployed code.
    Os,
    /// The state of a generator, shared by all clones.
    #[cfg(any(test, feature = "testing"))]
    Seeded(Arc<AtomicU64>),
}

impl Random {
    /// A source that returns the same numbers for the same seed, so that a run can be repeated.
    #[cfg(any(test, feature = "testing"))]
    pub fn seeded(seed: u64) -> Self {
        Self::Seeded(Arc::new(AtomicU64::new(seed)))
    }

    pub fn u32(&self) -> u32 {
        let [a, b, c, d, ..] = self.u64().to_le_bytes();
        u32::from_le_bytes([a, b, c, d])
    }

    /// Large enough that two draws are never equal in practice.
    pub fn u64(&self) -> u64 {
        match self {
            Self::Os => u64::from_le_bytes(random_bytes()),
            #[cfg(any(test, feature = "testing"))]
            Self::Seeded(state) => next(state),
        }
    }
}

/// `SplitMix64` (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
#[cfg(any(test, feature = "testing"))]
fn next(state: &AtomicU64) -> u64 {
    const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut mixed = state.fetch_add(GAMMA, Ordering::Relaxed).wrapping_add(GAMMA);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(random: &Random) -> [(u32, u64); 2] {
        std::array::from_fn(|_| (random.u32(), random.u64()))
    }

    #[test]
    fn same_seed_gives_the_same_numbers() {
        let first = draws(&Random::seeded(7));

        assert_eq!(first, draws(&Random::seeded(7)));
        assert_ne!(first[0], first[1]);
        assert_ne!(first, draws(&Random::seeded(8)));
    }

    #[test]
    fn clones_share_one_sequence() {
        let random = Random::seeded(7);
        assert_ne!(draws(&random.clone()), draws(&random));
    }

    #[test]
    fn numbers_of_the_operating_system_differ() {
        assert_ne!(draws(&Random::Os), draws(&Random::Os));
    }
}
