use serde_json::{Value, json};

/// A tag: `name`, or `name 0.5 0.8` with its position from the left and from the top.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tag<'a> {
    name: &'a str,
    at: Option<(f64, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TagPosition {
    /// Required: in a picture.
    Needed,
    /// Optional: in a story.
    Possible,
    /// Not accepted: in a video.
    None,
}

/// The position of a tag without one.
const MIDDLE: (f64, f64) = (0.5, 0.5);

impl<'a> Tag<'a> {
    pub(super) fn read(written: &'a str) -> Option<Self> {
        let mut parts = written.split(' ');
        let name = parts.next().filter(|it| is_name(it))?;
        let parts: Vec<_> = parts.map(parse_coordinate).collect::<Option<_>>()?;
        match parts[..] {
            [] => Some(Self { name, at: None }),
            [left, top] => Some(Self { name, at: Some((left, top)) }),
            _ => None,
        }
    }

    pub(super) fn json(&self, positions: TagPosition) -> Value {
        let at = match positions {
            TagPosition::Needed => Some(self.at.unwrap_or(MIDDLE)),
            TagPosition::Possible => self.at,
            TagPosition::None => None,
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

/// A number from 0 to 1.
fn parse_coordinate(written: &str) -> Option<f64> {
    let is_plain_decimal = written.bytes().all(|it| it.is_ascii_digit() || it == b'.');
    written.parse().ok().filter(|it| is_plain_decimal && (0.0..=1.0).contains(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag_has_a_name_and_an_optional_position() {
        let json_for = |written, places| Some(Tag::read(written)?.json(places));
        let (plain, placed) = ("keeper_ada", "keeper.bo 0.25 1");
        assert_eq!(json_for(plain, TagPosition::Needed), Some(json!({ "username": "keeper_ada", "x": 0.5, "y": 0.5 })));
        assert_eq!(json_for(plain, TagPosition::Possible), Some(json!({ "username": "keeper_ada" })));
        for places in [TagPosition::Needed, TagPosition::Possible] {
            assert_eq!(json_for(placed, places), Some(json!({ "username": "keeper.bo", "x": 0.25, "y": 1.0 })));
        }
        assert_eq!(json_for(placed, TagPosition::None), Some(json!({ "username": "keeper.bo" })));
        for no in
            ["", "@ada", "ada 0.5", "ada 0.5 1.5", "ada 0.5 -0", "ada 0.5 0.5 0.5", "ada  0.5", "ada 1e-1 0", "a b c"]
        {
            assert_eq!(Tag::read(no), None, "{no}");
        }
        assert_eq!(Tag::read(&"a".repeat(31)), None);
    }
}
