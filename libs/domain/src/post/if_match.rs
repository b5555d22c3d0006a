use std::collections::BTreeSet;

use super::Post;

/// `If-Match` (RFC 9110, section 13.1.1). The entity tag of a post is its revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IfMatch {
    Any,
    Revisions(BTreeSet<u64>),
}

impl IfMatch {
    pub fn revision(revision: u64) -> Self {
        Self::Revisions(BTreeSet::from([revision]))
    }

    /// Parses the header. A value that is neither `*` nor a list of entity tags matches no post,
    /// because by the RFC such a condition is false.
    pub fn parse(value: &[u8]) -> Self {
        match value.trim_ascii() {
            b"*" => Self::Any,
            value => Self::Revisions(revisions(value).unwrap_or_default()),
        }
    }

    pub fn matches(&self, post: &Post) -> bool {
        *self == Self::Any || self.names(post)
    }

    /// Whether the condition names the post's revision, which `*` does not.
    pub fn names(&self, post: &Post) -> bool {
        matches!(self, Self::Revisions(revisions) if revisions.contains(&post.revision))
    }
}

impl Post {
    pub fn entity_tag(&self) -> String {
        format!("\"{}\"", self.revision)
    }
}

/// The revisions in a list of entity tags; `None` if it is no such list. A weak tag never matches,
/// and a tag that is no revision cannot, so both are left out.
fn revisions(list: &[u8]) -> Option<BTreeSet<u64>> {
    let mut revisions = BTreeSet::new();
    let mut rest = list;
    loop {
        // A list may have empty elements (RFC 9110, section 5.6.1).
        while let Some(after) = rest.strip_prefix(b",") {
            rest = after.trim_ascii_start();
        }
        if rest.is_empty() {
            return Some(revisions);
        }
        let (is_weak, quoted) = rest.strip_prefix(b"W/").map_or((false, rest), |it| (true, it));
        let opened = quoted.strip_prefix(b"\"")?;
        let end = opened.iter().position(|it| *it == b'"')?;
        let (tag, after) = (&opened[..end], opened[end + 1..].trim_ascii_start());
        let is_tag = tag.iter().all(|it| matches!(it, b'!'..=b'~' | 0x80..));
        if !is_tag || !(after.is_empty() || after.starts_with(b",")) {
            return None;
        }
        if !is_weak {
            revisions.extend(revision(tag));
        }
        rest = after;
    }
}

/// The revision of a tag. Tags are compared byte by byte, so `007` is not 7.
fn revision(tag: &[u8]) -> Option<u64> {
    let revision: u64 = std::str::from_utf8(tag).ok()?.parse().ok()?;
    (revision.to_string().as_bytes() == tag).then_some(revision)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{a_post, a_user};

    fn matches(value: &str, revision: u64) -> bool {
        let post = Post { revision, ..a_post(&a_user(), None, &[]) };
        IfMatch::parse(value.as_bytes()).matches(&post)
    }

    #[test]
    fn list_matches_if_it_names_the_revision() {
        for value in [r#""7""#, r#" "7" "#, r#""6","7""#, r#""a,b" , "7""#, r#", ,"7",,"#, r#"W/"6", "7""#, "*", " * "]
        {
            assert!(matches(value, 7), "{value}");
        }
        for value in [r#""6""#, r#""6", "8""#, r#""""#, r#""07""#, r#""+7""#, r#""7 ""#, r#""99999999999999999999""#] {
            assert!(!matches(value, 7), "{value}");
        }
    }

    #[test]
    fn weak_tag_never_matches() {
        assert!(!matches(r#"W/"7""#, 7));
    }

    #[test]
    fn invalid_list_of_tags_matches_nothing() {
        for value in
            ["", "7", "'7'", r#""7"#, r#"7""#, r#""7" "8""#, r#""7", x"#, r#""7", *"#, r#"*, "7""#, r#"w/"7""#, ","]
        {
            assert!(!matches(value, 7), "{value}");
        }
    }

    #[test]
    fn wildcard_names_no_revision() {
        let post = a_post(&a_user(), None, &[]);
        assert!(!IfMatch::Any.names(&post));
        assert!(IfMatch::revision(post.revision).names(&post));
        assert!(IfMatch::parse(post.entity_tag().as_bytes()).names(&post));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(value in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = IfMatch::parse(&value);
        }
    }
}
