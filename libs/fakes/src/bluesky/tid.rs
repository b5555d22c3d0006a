//! Timestamp record keys (TIDs). Source: atproto.com/specs/tid.

use chrono::{DateTime, Utc};

const ALPHABET: &[u8; 32] = b"234567abcdefghijklmnopqrstuvwxyz";

/// Whether this is a TID: 13 characters; the first one contains the sign bit.
pub(super) fn is_tid(text: &str) -> bool {
    text.len() == 13
        && text.bytes().all(|it| ALPHABET.contains(&it))
        && text.bytes().next().is_some_and(|it| ALPHABET[..16].contains(&it))
}

/// A TID for the server: the time, and a number that makes TIDs of the same
/// millisecond distinct.
pub(super) fn at(time: DateTime<Utc>, number: usize) -> String {
    let micros = u64::try_from(time.timestamp_micros()).unwrap_or_default();
    let bits = micros << 10 | (number as u64 & 1023);
    let digit = |index: u32| char::from(ALPHABET[usize::try_from(bits >> (5 * index) & 31).unwrap_or_default()]);
    (0..13).rev().map(digit).collect()
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;

    use super::*;

    #[test]
    fn timestamps_are_distinguished_from_other_texts() {
        assert!(is_tid("3jzfcijpj2z2a"));
        assert!(is_tid(&at(noon(), 7)));
        for other in ["", "self", "3jzfcijpj2z2", "3jzfcijpj2z2aa", "zzzzzzzzzzzzz", "3JZFCIJPJ2Z2A", "3jzf-cij-pj2z"] {
            assert!(!is_tid(other), "{other}");
        }
    }
}
