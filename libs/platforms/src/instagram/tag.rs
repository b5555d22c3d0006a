//! Accounts that a file shows.

use serde_json::{Value, json};

/// An account that a file shows: `name`, or `name 0.5 0.8` with where it is, from the left
/// and from the top.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tag<'a> {
    name: &'a str,
    at: Option<(f64, f64)>,
}

/// What the call wants to know of where somebody is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Places {
    /// Of everybody: in a picture.
    Needed,
    /// Of whom it is known: in a story.
    Possible,
    /// Of nobody: in a video.
    None,
}

/// Where somebody is in a picture of whom it is not said.
const MIDDLE: (f64, f64) = (0.5, 0.5);

impl<'a> Tag<'a> {
    /// What somebody wrote; `None` where it has another form.
    pub(super) fn read(written: &'a str) -> Option<Self> {
        let mut parts = written.split(' ');
        let name = parts.next().filter(|it| is_name(it))?;
        let parts: Vec<_> = parts.map(place).collect::<Option<_>>()?;
        match parts[..] {
            [] => Some(Self { name, at: None }),
            [left, top] => Some(Self { name, at: Some((left, top)) }),
            _ => None,
        }
    }

    /// As the call has it.
    pub(super) fn json(&self, places: Places) -> Value {
        let at = match places {
            Places::Needed => Some(self.at.unwrap_or(MIDDLE)),
            Places::Possible => self.at,
            Places::None => None,
        };
        match at {
            Some((x, y)) => json!({ "username": self.name, "x": x, "y": y }),
            None => json!({ "username": self.name }),
        }
    }
}

fn is_name(it: &str) -> bool {
    (1..=30).contains(&it.len()) && it.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'_'))
}

/// From 0 to 1, in digits.
fn place(written: &str) -> Option<f64> {
    let is_written = written.bytes().all(|it| it.is_ascii_digit() || it == b'.');
    written.parse().ok().filter(|it| is_written && (0.0..=1.0).contains(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn somebody_is_named_and_perhaps_placed() {
        let said = |written, places| Some(Tag::read(written)?.json(places));
        let (plain, placed) = ("keeper_ada", "keeper.bo 0.25 1");
        assert_eq!(said(plain, Places::Needed), Some(json!({ "username": "keeper_ada", "x": 0.5, "y": 0.5 })));
        assert_eq!(said(plain, Places::Possible), Some(json!({ "username": "keeper_ada" })));
        for places in [Places::Needed, Places::Possible] {
            assert_eq!(said(placed, places), Some(json!({ "username": "keeper.bo", "x": 0.25, "y": 1.0 })));
        }
        assert_eq!(said(placed, Places::None), Some(json!({ "username": "keeper.bo" })));
        for no in
            ["", "@ada", "ada 0.5", "ada 0.5 1.5", "ada 0.5 -0", "ada 0.5 0.5 0.5", "ada  0.5", "ada 1e-1 0", "a b c"]
        {
            assert_eq!(Tag::read(no), None, "{no}");
        }
        assert_eq!(Tag::read(&"a".repeat(31)), None);
    }
}
