//! What a picture or video shows, in words.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What a picture or video shows, in words, for those who do not see it. As it
/// was written: platforms each have their own limit on top, see
/// [`Rule::MaxAltText`](crate::rules::Rule::MaxAltText).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AltText(String);

/// Why a text is no alternative text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidAltText {
    /// Nothing but white space.
    #[error("may not be blank; leave it out where there is nothing to say")]
    Blank,
    /// More than [`AltText::MAX_CHARS`].
    #[error("may have at most 10,000 characters, this has {chars}")]
    TooLong {
        /// Unicode code points of the text.
        chars: usize,
    },
}

impl AltText {
    /// The most characters (Unicode code points).
    pub const MAX_CHARS: usize = 10_000;

    /// A text as a client wrote it.
    pub fn parse(raw: &str) -> Result<Self, InvalidAltText> {
        let chars = raw.chars().count();
        if Self::MAX_CHARS < chars {
            return Err(InvalidAltText::TooLong { chars });
        }
        if raw.trim().is_empty() {
            return Err(InvalidAltText::Blank);
        }
        Ok(Self(raw.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_as_it_was_written_and_is_neither_blank_nor_endless() {
        let longest = "ä".repeat(AltText::MAX_CHARS);
        assert_eq!(AltText::parse(&longest).unwrap().as_str(), longest);
        assert_eq!(AltText::parse(" A boat.\n").unwrap().as_str(), " A boat.\n");
        assert_eq!(AltText::parse(&format!("{longest}!")), Err(InvalidAltText::TooLong { chars: 10_001 }));
        assert_eq!(AltText::parse(" \n"), Err(InvalidAltText::Blank));
    }
}
