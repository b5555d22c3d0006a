//! All random numbers, from one seed.

use super::Ms;
use super::limits::{
    DELAY_JITTER_MS, LONGEST_BACK_OFF_MS, PLATFORM_LONGEST_MS, PLATFORM_MEDIAN_MS, SEND_MS, SLOW_MS, SLOW_ONE_IN,
    STORE_CALL_MS, THROTTLED_BACK_OFF_MS,
};
use super::time::whole_ms;

/// Distance of the highest value in a thousand from the mean, in standard deviations.
const ONE_IN_A_THOUSAND: f64 = 3.09;

pub(super) struct Random(fastrand::Rng);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    pub(super) fn below(&mut self, end: u32) -> u32 {
        self.0.u32(..end)
    }

    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        self.0.shuffle(items);
    }

    pub(super) fn store_call(&mut self) -> Ms {
        self.within(STORE_CALL_MS)
    }

    pub(super) fn send(&mut self) -> Ms {
        self.within(SEND_MS)
    }

    pub(super) fn delay_jitter(&mut self) -> Ms {
        self.0.i32(0..=DELAY_JITTER_MS)
    }

    /// The SDK's back-off after this many throttled attempts.
    pub(super) fn back_off(&mut self, attempts: u32) -> Ms {
        let most = THROTTLED_BACK_OFF_MS << attempts.saturating_sub(1).min(10);
        self.0.i32(0..=most.min(LONGEST_BACK_OFF_MS))
    }

    /// The duration of a call to a platform: log-normal, with a few slow calls.
    pub(super) fn platform_call(&mut self) -> Ms {
        if self.below(SLOW_ONE_IN) == 0 {
            return SLOW_MS;
        }
        let spread = (PLATFORM_LONGEST_MS / PLATFORM_MEDIAN_MS).ln() / ONE_IN_A_THOUSAND;
        let usual = PLATFORM_MEDIAN_MS * (spread * self.normal()).exp();
        whole_ms(usual.min(PLATFORM_LONGEST_MS))
    }

    fn within(&mut self, (from, to): (Ms, Ms)) -> Ms {
        self.0.i32(from..=to)
    }

    /// Normally distributed with mean 0 and standard deviation 1 (Box-Muller).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.0.f64()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.0.f64()).cos()
    }
}
