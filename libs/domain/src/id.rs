//! Ids: integers below 2^53 that grow with time.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::clock::Clock;
use crate::random::Random;

/// From here on, JavaScript cannot represent every integer.
const END: u64 = 1 << 53;

/// 2024-01-01T00:00:00Z. Ids count milliseconds from here, so 41 bits last until 2093.
const EPOCH_MS: i64 = 1_704_067_200_000;

/// Bits below the milliseconds.
const TAIL_BITS: u32 = 12;

macro_rules! id {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(u64);

        impl $name {
            /// `None` for 0 and from 2^53 on.
            pub const fn new(number: u64) -> Option<Self> {
                if 0 < number && number < END { Some(Self(number)) } else { None }
            }

            /// Parses an id of a path: digits without sign or leading zero.
            pub fn parse(text: &str) -> Option<Self> {
                parse(text).map(Self)
            }

            pub const fn get(self) -> u64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl From<UniqueNumber> for $name {
            fn from(fresh: UniqueNumber) -> Self {
                Self(fresh.0)
            }
        }
    )+};
}

id! {
    UserId,
    PostId,
    /// One account that a post is aimed at.
    TargetId,
    ConnectionId,
    /// A customer of a user.
    ProfileId,
    ConnectLinkId,
    MediaId,
    WebhookId,
}

impl MediaId {
    /// The smallest id that any process makes at this time.
    pub fn first_at(at: DateTime<Utc>) -> Self {
        Self((millis(at) << TAIL_BITS).clamp(1, END - 1))
    }
}

/// A number that no other call of [`Ids::fresh`] in this process returned.
#[derive(Clone, Copy, Debug)]
pub struct UniqueNumber(u64);

impl UniqueNumber {
    pub const fn get(self) -> u64 {
        self.0
    }
}

fn parse(text: &str) -> Option<u64> {
    let canonical =
        !text.is_empty() && text.len() <= 16 && !text.starts_with('0') && text.bytes().all(|it| it.is_ascii_digit());
    let number = if canonical { text.parse().ok()? } else { return None };
    (number < END).then_some(number)
}

/// Makes ids. Two processes may make the same one in the same millisecond (1 in 4,096), so every
/// first write is conditional on the id being free.
#[derive(Clone, Debug)]
pub struct Ids {
    clock: Clock,
    random: Random,
    last: Arc<AtomicU64>,
}

impl Ids {
    pub fn new(clock: Clock, random: Random) -> Self {
        Self { clock, random, last: Arc::new(AtomicU64::new(0)) }
    }

    /// An id above every earlier one of this process.
    pub fn fresh<T: From<UniqueNumber>>(&self) -> T {
        let tail = u64::from(self.random.u32()) & ((1 << TAIL_BITS) - 1);
        let candidate = ((millis(self.clock.now()) << TAIL_BITS) | tail).clamp(1, END - 1);
        let mut last = self.last.load(Ordering::SeqCst);
        loop {
            let next = candidate.max(last + 1);
            match self.last.compare_exchange(last, next, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) => return T::from(UniqueNumber(next)),
                Err(seen) => last = seen,
            }
        }
    }
}

/// Milliseconds since [`EPOCH_MS`]; 0 before it.
fn millis(at: DateTime<Utc>) -> u64 {
    u64::try_from(at.timestamp_millis() - EPOCH_MS).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn noon() -> DateTime<Utc> {
        "2026-11-21T12:00:00Z".parse().unwrap()
    }

    #[test]
    fn first_id_of_a_time_is_below_all_later_ids() {
        let made: MediaId = Ids::new(Clock::manual(noon()), Random::Os).fresh();
        assert!(MediaId::first_at(noon()) <= made);
        assert!(made < MediaId::first_at(noon() + chrono::TimeDelta::milliseconds(1)));
        assert_eq!(MediaId::first_at(DateTime::UNIX_EPOCH).get(), 1);
    }

    #[test]
    fn ids_grow_even_within_one_millisecond() {
        let ids = Ids::new(Clock::manual(noon()), Random::Os);
        let made: Vec<PostId> = (0..10_000).map(|_| ids.fresh()).collect();
        assert!(made.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(made.iter().all(|it| it.get() < END));
    }

    #[test]
    fn text_that_is_no_id_is_none() {
        for text in ["", "0", "01", "-1", "+1", "1.0", "abc", "9007199254740992", "99999999999999999999"] {
            assert_eq!(PostId::parse(text), None, "{text}");
        }
        assert_eq!(PostId::parse("9007199254740991").map(PostId::get), Some(END - 1));
    }

    proptest! {
        #[test]
        fn displayed_id_parses_back(number in 1..END) {
            let id = PostId::new(number).unwrap();
            prop_assert_eq!(PostId::parse(&id.to_string()), Some(id));
        }
    }
}
