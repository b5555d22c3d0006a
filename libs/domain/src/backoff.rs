//! Waits between the attempts of a writer that lost a race, and when to give up.

use std::ops::Range;

use chrono::{DateTime, TimeDelta, Utc};

use crate::random::Random;

/// In milliseconds.
const SHORTEST: u32 = 5;

/// From this attempt on, waits do not grow: the longest is 325 ms.
const LAST_GROWTH: u32 = 5;

/// The range of waits after `tries` attempts, in milliseconds; doubles with each attempt.
pub fn waits(tries: u32) -> Range<u32> {
    SHORTEST..SHORTEST + (10 << tries.min(LAST_GROWTH))
}

/// Random, so that writers that collided do not collide again.
pub fn wait(attempts: u32, random: &Random) -> TimeDelta {
    let waits = waits(attempts);
    TimeDelta::milliseconds((waits.start + random.u32() % (waits.end - waits.start)).into())
}

#[derive(Clone, Debug)]
pub struct Backoff {
    gives_up_at: DateTime<Utc>,
    tries: u32,
    random: Random,
}

impl Backoff {
    pub fn until(gives_up_at: DateTime<Utc>, random: Random) -> Self {
        Self { gives_up_at, tries: 0, random }
    }

    /// `None` when the next attempt would be too late.
    pub fn next(&mut self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let next = now + wait(self.tries, &self.random);
        self.tries += 1;
        (next < self.gives_up_at).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::noon;

    #[test]
    fn waits_grow_to_a_third_of_a_second_and_are_never_zero() {
        for tries in 0..100 {
            let longest = [15, 25, 45, 85, 165, 325][usize::try_from(tries.min(5)).unwrap()];
            let wait = wait(tries, &Random::Os).num_milliseconds();
            assert!((5..longest).contains(&wait), "{wait} ms after {tries} tries");
        }
    }

    #[test]
    fn writers_that_collided_wait_differently() {
        let random = Random::seeded(7);
        let waits = || (0..20).map(|tries| wait(tries, &random)).collect::<Vec<_>>();
        assert_ne!(waits(), waits());
    }

    #[test]
    fn backoff_ends_before_its_deadline() {
        let (mut now, end) = (noon(), noon() + TimeDelta::seconds(10));
        let mut backoff = Backoff::until(end, Random::Os);
        let mut tries = 0;
        while let Some(next) = backoff.next(now) {
            assert!(now < next && next < end);
            (now, tries) = (next, tries + 1);
        }
        assert!((30..500).contains(&tries), "{tries} tries");
        assert!(end - now < TimeDelta::milliseconds(330), "the last try was at {now}");
    }
}
