//! The text of a post, and the messages of platforms.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The text of a post: not blank, otherwise exactly as written.
///
/// Platforms have their own limits in addition, see [`crate::rules`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PostText(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidText {
    /// Only white space.
    #[error("may not be blank: add some text, because an image or video alone is not accepted")]
    Blank,
    /// More than [`PostText::MAX_CHARS`].
    #[error("may have at most 65,000 characters; this has {chars}")]
    TooLong {
        /// Unicode code points of the text.
        chars: usize,
    },
}

impl PostText {
    /// In Unicode code points.
    pub const MAX_CHARS: usize = 65_000;

    pub fn parse(raw: &str) -> Result<Self, InvalidText> {
        if raw.trim().is_empty() {
            return Err(InvalidText::Blank);
        }
        let chars = raw.chars().count();
        if Self::MAX_CHARS < chars {
            return Err(InvalidText::TooLong { chars });
        }
        Ok(Self(raw.to_owned()))
    }

    /// A placeholder for a missing text, so that the rest of a request can be validated. The caller
    /// has already recorded the validation error.
    pub fn missing() -> Self {
        Self("(missing)".to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Some platforms end their messages with a full stop, and our sentence adds one.
pub fn without_full_stop(message: &str) -> &str {
    message.trim().trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_text_is_refused() {
        for raw in ["", " ", "\n\t", "\u{3000}"] {
            assert_eq!(PostText::parse(raw), Err(InvalidText::Blank), "{raw:?}");
        }
    }

    #[test]
    fn text_length_is_in_code_points() {
        assert!(PostText::parse(&"é".repeat(65_000)).is_ok());
        assert_eq!(PostText::parse(&"a".repeat(65_001)), Err(InvalidText::TooLong { chars: 65_001 }));
    }
}
