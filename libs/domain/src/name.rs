//! Names that others chose, as they are shown beside our own words.

use serde::{Deserialize, Serialize};

/// The most characters of a username.
pub const MAX_USERNAME_CHARS: usize = 100;

/// The most bytes of a display name: 64 letters of any script as a person sees
/// them, which is what platforms allow.
pub const MAX_DISPLAY_NAME_BYTES: usize = 640;

/// Whether a character is no part of a name: a control, or a mark that turns
/// the direction of the text around it. With such a mark one name can be made
/// to look like another, and the words behind it to stand before it.
///
/// Source: UAX #9, section 2 (`Bidi_Control`); line and paragraph separators.
pub fn is_mark(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// A username, cut and freed of marks; `None` when nothing is left.
pub fn username(raw: &str) -> Option<String> {
    shown(raw, |_, chars| chars < MAX_USERNAME_CHARS)
}

/// A display name, cut and freed of marks; `None` when nothing is left.
pub fn display_name(raw: &str) -> Option<String> {
    shown(raw, |bytes, _| bytes <= MAX_DISPLAY_NAME_BYTES)
}

/// The most characters of what a client calls itself.
pub const MAX_CLIENT_NAME_CHARS: usize = 60;

/// What a client calls itself, shown to the person who decides about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClientName(String);

/// What is wrong with the name of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidClientName {
    /// It has nothing but white space.
    #[error("may not be blank")]
    Blank,
    /// It has more than [`MAX_CLIENT_NAME_CHARS`].
    #[error("may have at most {MAX_CLIENT_NAME_CHARS} characters, this has {0}")]
    TooLong(usize),
    /// It has a control or a mark of direction. It is refused and not freed of
    /// it: a client knows its own name.
    #[error("may not have control characters or marks of direction")]
    Mark,
}

impl ClientName {
    /// Reads a name as the client sent it. White space around it does not count.
    pub fn parse(raw: &str) -> Result<Self, InvalidClientName> {
        let name = raw.trim();
        let chars = name.chars().count();
        match () {
            () if name.is_empty() => Err(InvalidClientName::Blank),
            () if MAX_CLIENT_NAME_CHARS < chars => Err(InvalidClientName::TooLong(chars)),
            () if name.chars().any(is_mark) => Err(InvalidClientName::Mark),
            () => Ok(Self(name.to_owned())),
        }
    }

    /// The same of a name that was not sent for this: cut and freed of marks;
    /// `None` when nothing is left.
    pub fn shown(raw: &str) -> Option<Self> {
        shown(raw, |_, chars| chars < MAX_CLIENT_NAME_CHARS).map(Self)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The characters of a name for which there is room: `fits` is asked with the
/// bytes up to the end of each and with how many stand before it.
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
    fn a_name_is_shown_as_it_is_without_marks() {
        assert_eq!(display_name("Zoë 👩\u{200d}🚀 نور").as_deref(), Some("Zoë 👩\u{200d}🚀 نور"));
        assert_eq!(display_name(" \u{202e}live\u{2066}\u{0}\r\n ").as_deref(), Some("live"));
        assert_eq!(username("keeper@harbour.example").as_deref(), Some("keeper@harbour.example"));
        assert_eq!(username("\u{200f}\u{61c}\u{7}"), None);
        assert_eq!(display_name(""), None);
    }

    #[test]
    fn a_name_is_cut_between_characters() {
        assert_eq!(username(&"ä".repeat(1000)).unwrap().chars().count(), MAX_USERNAME_CHARS);
        assert_eq!(display_name(&"€".repeat(1000)).unwrap().len(), 639);
        assert_eq!(display_name(&"a".repeat(640)).unwrap().len(), 640);
    }

    #[test]
    fn a_client_is_told_what_is_wrong_with_its_name() {
        assert_eq!(ClientName::parse("Planner für 船 ").unwrap().as_str(), "Planner für 船");
        assert!(ClientName::parse(&"ä".repeat(60)).is_ok());
        assert_eq!(ClientName::parse(&"ä".repeat(61)), Err(InvalidClientName::TooLong(61)));
        assert_eq!(ClientName::parse("safe\u{202e}"), Err(InvalidClientName::Mark));
        assert_eq!(ClientName::parse("two\nlines"), Err(InvalidClientName::Mark));
        for blank in ["", "  ", "\u{3000}", "\r\n"] {
            assert_eq!(ClientName::parse(blank), Err(InvalidClientName::Blank), "{blank:?}");
        }
    }

    #[test]
    fn client_name_is_trimmed_before_it_is_checked() {
        for raw in [" x", "x ", "\u{3000}\tx\r\n"] {
            assert_eq!(ClientName::parse(raw).unwrap().as_str(), "x", "{raw:?}");
        }
        assert!(ClientName::parse(&format!(" {} ", "ä".repeat(60))).is_ok());
        assert_eq!(ClientName::parse("\u{202e} x"), Err(InvalidClientName::Mark));
    }

    proptest! {
        #[test]
        fn whatever_a_platform_sends_is_bounded_and_without_marks(raw in any::<String>()) {
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
