//! The key of a post's record, which is equal in every attempt.
//!
//! Facts: keys of posts are timestamp identifiers: 64 bits in 13 letters, the first bit 0, 53 bits
//! of microseconds since 1970, 10 bits that distinguish writers.

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};

/// In ascending order, so that keys sort like their numbers.
const LETTERS: &[u8; 32] = b"234567abcdefghijklmnopqrstuvwxyz";

/// The key of a post that is due at this time. Our times are in milliseconds. The microseconds and
/// the last ten bits come from the reference, so that two posts of one account for the same time
/// have different keys.
pub(super) fn record_key(publish_at: DateTime<Utc>, reference: &str) -> String {
    let hash = Sha256::digest(reference.as_bytes());
    let number = hash.iter().take(8).fold(0_u64, |sum, byte| (sum << 8) | u64::from(*byte));
    let milliseconds = u64::try_from(publish_at.timestamp_millis()).unwrap_or_default();
    let microseconds = (milliseconds * 1000 + number % 1000) & ((1 << 53) - 1);
    encode((microseconds << 10) | (number >> 54))
}

fn encode(number: u64) -> String {
    let letter = |index: u32| char::from(LETTERS[usize::try_from((number >> (5 * index)) & 31).unwrap_or_default()]);
    (0..13).rev().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::testing::noon;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn record_key_matches_the_specification() {
        assert_eq!(encode(0), "2222222222222");
        assert_eq!(encode(u64::MAX >> 1), "bzzzzzzzzzzzz");
        // An example of the specification, from 2023-10-31.
        assert!(record_key(DateTime::from_timestamp_millis(1_698_782_745_000).unwrap(), "x").starts_with("3kd3"));
    }

    #[test]
    fn record_key_is_equal_for_repeats_only() {
        let key = record_key(noon(), "1-2-3");
        assert_eq!(key, record_key(noon(), "1-2-3"));
        assert_ne!(key, record_key(noon(), "1-2-4"));
        assert_ne!(key, record_key(noon() + TimeDelta::milliseconds(1), "1-2-3"));
    }

    proptest! {
        #[test]
        fn keys_are_well_formed_and_sort_by_time(at in 0_i64..4_102_444_800_000, later in 1_i64..1_000_000, one in ".*", two in ".*") {
            let at_key = record_key(DateTime::from_timestamp_millis(at).unwrap(), &one);
            let later_key = record_key(DateTime::from_timestamp_millis(at + later).unwrap(), &two);
            prop_assert!(at_key.len() == 13 && at_key.bytes().all(|it| LETTERS.contains(&it)));
            prop_assert!(b"234567abcdefghij".contains(&at_key.as_bytes()[0]));
            prop_assert!(at_key < later_key);
        }
    }
}
