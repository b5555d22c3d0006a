//! The texts that a user gives a post: its text, its external id, its labels; and the messages of
//! platforms.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The text of a post, exactly as written; empty only where there are files.
///
/// Platforms have their own limits in addition, see [`crate::rules`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PostText(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidText {
    #[error("may have at most 65,000 characters; this has {chars}")]
    TooLong { chars: usize },
}

impl PostText {
    /// In Unicode code points.
    pub const MAX_CHARS: usize = 65_000;

    /// A blank text is the same as no text.
    pub fn parse(raw: &str) -> Result<Self, InvalidText> {
        if raw.trim().is_empty() {
            return Ok(Self::default());
        }
        let chars = raw.chars().count();
        if Self::MAX_CHARS < chars {
            return Err(InvalidText::TooLong { chars });
        }
        Ok(Self(raw.to_owned()))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'a> From<&'a PostText> for Option<&'a str> {
    fn from(text: &'a PostText) -> Self {
        Some(text.as_str())
    }
}

/// The id of a post in its user's own system, exactly as written. Several posts may have the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExternalId(String);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Label(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidTag {
    #[error("may not be empty")]
    Empty,
    #[error("may have at most {max} characters; this has {chars}")]
    TooLong { max: usize, chars: usize },
}

impl ExternalId {
    /// In Unicode code points.
    pub const MAX_CHARS: usize = 255;

    pub fn parse(raw: &str) -> Result<Self, InvalidTag> {
        parse_tag(raw, Self::MAX_CHARS).map(Self)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Label {
    /// In Unicode code points.
    pub const MAX_CHARS: usize = 50;

    pub fn parse(raw: &str) -> Result<Self, InvalidTag> {
        parse_tag(raw, Self::MAX_CHARS).map(Self)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn parse_tag(raw: &str, max: usize) -> Result<String, InvalidTag> {
    match raw.chars().count() {
        0 => Err(InvalidTag::Empty),
        chars if max < chars => Err(InvalidTag::TooLong { max, chars }),
        _ => Ok(raw.to_owned()),
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
    fn external_id_and_label_are_kept_unchanged_and_have_limits() {
        assert_eq!(ExternalId::parse(" Bestellung 47 ").unwrap().as_str(), " Bestellung 47 ");
        assert!(ExternalId::parse(&"é".repeat(255)).is_ok());
        assert_eq!(ExternalId::parse(&"é".repeat(256)), Err(InvalidTag::TooLong { max: 255, chars: 256 }));
        assert_eq!(ExternalId::parse(""), Err(InvalidTag::Empty));
        assert!(Label::parse(&"船".repeat(50)).is_ok());
        assert_eq!(Label::parse(&"船".repeat(51)), Err(InvalidTag::TooLong { max: 50, chars: 51 }));
        assert_eq!(Label::parse(""), Err(InvalidTag::Empty));
    }

    #[test]
    fn blank_text_is_empty() {
        for raw in ["", " ", "\n\t", "\u{3000}"] {
            assert!(PostText::parse(raw).unwrap().is_empty(), "{raw:?}");
        }
        assert_eq!(PostText::parse(" a ").unwrap().as_str(), " a ");
    }

    #[test]
    fn text_length_is_in_code_points() {
        assert!(PostText::parse(&"é".repeat(65_000)).is_ok());
        assert_eq!(PostText::parse(&"a".repeat(65_001)), Err(InvalidText::TooLong { chars: 65_001 }));
    }
}
