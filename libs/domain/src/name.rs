//! Names from other parties, made safe to show next to our own text.

use serde::{Deserialize, Serialize};

pub const MAX_USERNAME_CHARS: usize = 100;

/// 64 characters of any script as people see them, which is the limit of platforms.
pub const MAX_DISPLAY_NAME_BYTES: usize = 640;

/// Whether a character is removed from names: a control character, or a bidirectional formatting
/// character. The latter can make one name look like another, and move the text after it in front
/// of it.
///
/// Source: UAX #9, section 2 (`Bidi_Control`); line and paragraph separators.
pub fn is_mark(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// `None` when nothing is left.
pub fn username(raw: &str) -> Option<String> {
    shown(raw, |_, chars| chars < MAX_USERNAME_CHARS)
}

/// `None` when nothing is left.
pub fn display_name(raw: &str) -> Option<String> {
    shown(raw, |bytes, _| bytes <= MAX_DISPLAY_NAME_BYTES)
}

/// A name of at most `MAX` characters that a client gives. A mark is refused and not removed, because a client knows the
/// names that it gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Name<const MAX: usize>(String);

/// The name of an API client, shown to the user who approves it.
pub type ClientName = Name<60>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidName {
    #[error("may not be blank")]
    Blank,
    #[error("may have at most {max} characters; this has {chars}")]
    TooLong { max: usize, chars: usize },
    #[error("may not contain control characters or bidirectional formatting characters")]
    Mark,
}

impl<const MAX: usize> Name<MAX> {
    /// Parses a name as the client sent it, without white space around it.
    pub fn parse(raw: &str) -> Result<Self, InvalidName> {
        let name = raw.trim();
        let chars = name.chars().count();
        match () {
            () if name.is_empty() => Err(InvalidName::Blank),
            () if MAX < chars => Err(InvalidName::TooLong { max: MAX, chars }),
            () if name.chars().any(is_mark) => Err(InvalidName::Mark),
            () => Ok(Self(name.to_owned())),
        }
    }

    /// For a name that no client gave: removes marks and shortens it; `None` when nothing is left.
    pub fn shown(raw: &str) -> Option<Self> {
        shown(raw, |_, chars| chars < MAX).map(Self)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The characters of a name up to a limit. `fits` receives the byte offset of the end of each
/// character, and the number of characters before it.
fn shown(raw: &str, fits: fn(usize, usize) -> bool) -> Option<String> {
    let mut name = String::new();
    for (before, character) in raw.chars().filter(|it| !is_mark(*it)).enumerate() {
        if !fits(name.len() + character.len_utf8(), before) {
            break;
        }
        name.push(character);
    }
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn name_is_unchanged_except_for_marks() {
        assert_eq!(display_name("Zoë 👩\u{200d}🚀 نور").as_deref(), Some("Zoë 👩\u{200d}🚀 نور"));
        assert_eq!(display_name(" \u{202e}live\u{2066}\u{0}\r\n ").as_deref(), Some("live"));
        assert_eq!(username("keeper@harbour.example").as_deref(), Some("keeper@harbour.example"));
        assert_eq!(username("\u{200f}\u{61c}\u{7}"), None);
        assert_eq!(display_name(""), None);
    }

    #[test]
    fn name_is_cut_between_characters() {
        assert_eq!(username(&"ä".repeat(1000)).unwrap().chars().count(), MAX_USERNAME_CHARS);
        assert_eq!(display_name(&"€".repeat(1000)).unwrap().len(), 639);
        assert_eq!(display_name(&"a".repeat(640)).unwrap().len(), 640);
    }

    #[test]
    fn invalid_client_name_has_a_specific_error() {
        assert_eq!(ClientName::parse("Planner für 船 ").unwrap().as_str(), "Planner für 船");
        assert!(ClientName::parse(&"ä".repeat(60)).is_ok());
        assert_eq!(ClientName::parse(&"ä".repeat(61)), Err(InvalidName::TooLong { max: 60, chars: 61 }));
        assert_eq!(ClientName::parse("safe\u{202e}"), Err(InvalidName::Mark));
        assert_eq!(ClientName::parse("two\nlines"), Err(InvalidName::Mark));
        for blank in ["", "  ", "\u{3000}", "\r\n"] {
            assert_eq!(ClientName::parse(blank), Err(InvalidName::Blank), "{blank:?}");
        }
    }

    #[test]
    fn client_name_is_trimmed_before_it_is_checked() {
        for raw in [" x", "x ", "\u{3000}\tx\r\n"] {
            assert_eq!(ClientName::parse(raw).unwrap().as_str(), "x", "{raw:?}");
        }
        assert!(ClientName::parse(&format!(" {} ", "ä".repeat(60))).is_ok());
        assert_eq!(ClientName::parse("\u{202e} x"), Err(InvalidName::Mark));
    }

    proptest! {
        #[test]
        fn any_name_is_bounded_and_without_marks(raw in any::<String>()) {
            if let Some(name) = display_name(&raw) {
                prop_assert!(name.len() <= MAX_DISPLAY_NAME_BYTES && !name.chars().any(is_mark));
            }
            if let Some(name) = username(&raw) {
                prop_assert!(name.chars().count() <= MAX_USERNAME_CHARS && !name.chars().any(is_mark));
            }
            if let Some(name) = ClientName::shown(&raw) {
                prop_assert_eq!(ClientName::parse(name.as_str()), Ok(name));
            }
        }
    }
}
