use thiserror::Error;

use crate::token;

/// The value of an `Idempotency-Key` header. Its scope is a user and a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidIdempotencyKey {
    #[error("may not be empty")]
    Empty,
    #[error("may have at most 255 characters; this has {chars}")]
    TooLong { chars: usize },
    #[error("may contain only visible ASCII characters, no spaces")]
    NotVisible,
}

impl IdempotencyKey {
    pub const MAX_CHARS: usize = 255;

    /// Parses the value of the header, whose bytes need not be text.
    pub fn parse(header: &[u8]) -> Result<Self, InvalidIdempotencyKey> {
        if header.is_empty() {
            return Err(InvalidIdempotencyKey::Empty);
        }
        if !header.iter().all(u8::is_ascii_graphic) {
            return Err(InvalidIdempotencyKey::NotVisible);
        }
        if Self::MAX_CHARS < header.len() {
            return Err(InvalidIdempotencyKey::TooLong { chars: header.len() });
        }
        Ok(Self(header.iter().copied().map(char::from).collect()))
    }

    /// Stored instead of the key, because clients may put anything into it.
    pub fn hash(&self) -> String {
        token::hash(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn key_has_1_to_255_visible_characters() {
        assert!(IdempotencyKey::parse(b"!").is_ok());
        assert!(IdempotencyKey::parse(&[b'~'; 255]).is_ok());
        assert_eq!(IdempotencyKey::parse(b""), Err(InvalidIdempotencyKey::Empty));
        assert_eq!(IdempotencyKey::parse(&[b'a'; 256]), Err(InvalidIdempotencyKey::TooLong { chars: 256 }),);
        for raw in [b"a b".as_slice(), b" ", b"a\tb", b"a\x7f", "é".as_bytes(), b"\xff"] {
            assert_eq!(IdempotencyKey::parse(raw), Err(InvalidIdempotencyKey::NotVisible), "{raw:?}");
        }
    }

    proptest! {
        #[test]
        fn keys_with_different_characters_have_different_hashes(one in "[!-~]{1,9}", other in "[!-~]{1,9}") {
            let hash = |raw: &str| IdempotencyKey::parse(raw.as_bytes()).unwrap().hash();
            prop_assert_eq!(hash(&one) == hash(&other), one == other);
        }
    }
}
