use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The alternative text of an image or video, exactly as written. Platforms have their own limits
/// in addition, see [`Rule::MaxAltText`](crate::rules::Rule::MaxAltText).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AltText(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidAltText {
    #[error("may not be blank; leave it out if the file needs no description")]
    Blank,
    #[error("may have at most 10,000 characters; this has {chars}")]
    TooLong { chars: usize },
}

impl AltText {
    /// In Unicode code points.
    pub const MAX_CHARS: usize = 10_000;

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
    fn alt_text_is_kept_unchanged_and_has_limits() {
        let longest = "ä".repeat(AltText::MAX_CHARS);
        assert_eq!(AltText::parse(&longest).unwrap().as_str(), longest);
        assert_eq!(AltText::parse(" A boat.\n").unwrap().as_str(), " A boat.\n");
        assert_eq!(AltText::parse(&format!("{longest}!")), Err(InvalidAltText::TooLong { chars: 10_001 }));
        assert_eq!(AltText::parse(" \n"), Err(InvalidAltText::Blank));
    }
}
