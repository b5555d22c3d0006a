use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The file's name on the user's side. It is never used as a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Filename(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidFilename {
    #[error("may have at most 255 characters; this has {chars}")]
    TooLong { chars: usize },
    #[error("may not contain control characters")]
    Control,
}

impl Filename {
    /// In Unicode code points.
    pub const MAX_CHARS: usize = 255;

    pub fn parse(raw: &str) -> Result<Self, InvalidFilename> {
        let chars = raw.chars().count();
        if Self::MAX_CHARS < chars {
            return Err(InvalidFilename::TooLong { chars });
        }
        if raw.chars().any(char::is_control) {
            return Err(InvalidFilename::Control);
        }
        Ok(Self(raw.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Filename {
    type Error = InvalidFilename;

    fn try_from(raw: String) -> Result<Self, Self::Error> {
        Self::parse(&raw)
    }
}

impl From<Filename> for String {
    fn from(name: Filename) -> Self {
        name.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn filename_length_is_in_code_points() {
        assert!(Filename::parse(&"é".repeat(255)).is_ok());
        assert_eq!(Filename::parse(&"a".repeat(256)), Err(InvalidFilename::TooLong { chars: 256 }),);
    }

    #[test]
    fn control_characters_are_refused() {
        for raw in ["a\nb.png", "a\rb", "a\0", "\u{7f}", "\u{85}"] {
            assert_eq!(Filename::parse(raw), Err(InvalidFilename::Control), "{raw:?}");
        }
    }

    proptest! {
        #[test]
        fn filename_is_stored_unchanged(raw in "\\PC{0,255}") {
            let name = Filename::parse(&raw).unwrap();
            prop_assert_eq!(name.as_str(), raw.as_str());
            let stored = serde_json::to_string(&name).unwrap();
            prop_assert_eq!(serde_json::from_str::<Filename>(&stored).unwrap(), name);
        }
    }
}
