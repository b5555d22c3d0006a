//! The key by which a request is known when it is sent again.

use std::fmt;

use thiserror::Error;

/// An `Idempotency-Key`: the service answers a request with the same key and
/// body within 24 hours as it answered the first, and does nothing twice.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

/// Why something is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("an idempotency key has 1 to 255 visible ASCII characters")]
pub struct InvalidIdempotencyKey;

impl IdempotencyKey {
    /// Reads a key: 1 to 255 visible ASCII characters.
    pub fn parse(raw: impl Into<String>) -> Result<Self, InvalidIdempotencyKey> {
        let raw = raw.into();
        let is_key = (1..=255).contains(&raw.len()) && raw.bytes().all(|it| it.is_ascii_graphic());
        is_key.then_some(Self(raw)).ok_or(InvalidIdempotencyKey)
    }

    /// The key as it is sent.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_what_the_service_takes() {
        assert!(IdempotencyKey::parse("!").is_ok() && IdempotencyKey::parse("~".repeat(255)).is_ok());
        for raw in ["", "a b", "é", &"a".repeat(256)] {
            assert_eq!(IdempotencyKey::parse(raw), Err(InvalidIdempotencyKey), "{raw}");
        }
    }
}
