use std::fmt;

use thiserror::Error;

/// For 24 hours, the service replays its first response when it receives the same key and body
/// again, and does nothing twice.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("an idempotency key must have 1 to 255 visible ASCII characters")]
pub struct InvalidIdempotencyKey;

impl IdempotencyKey {
    /// 1 to 255 visible ASCII characters.
    pub fn parse(raw: impl Into<String>) -> Result<Self, InvalidIdempotencyKey> {
        let raw = raw.into();
        let is_key = (1..=255).contains(&raw.len()) && raw.bytes().all(|it| it.is_ascii_graphic());
        is_key.then_some(Self(raw)).ok_or(InvalidIdempotencyKey)
    }

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
    fn key_has_1_to_255_visible_characters() {
        assert!(IdempotencyKey::parse("!").is_ok() && IdempotencyKey::parse("~".repeat(255)).is_ok());
        for raw in ["", "a b", "é", &"a".repeat(256)] {
            assert_eq!(IdempotencyKey::parse(raw), Err(InvalidIdempotencyKey), "{raw}");
        }
    }
}
