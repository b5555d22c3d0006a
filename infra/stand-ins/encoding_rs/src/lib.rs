//! Stands in for the crate of this name, by which `lambda_http` reads an answer
//! whose content type names a charset: that one brings tables for all of them,
//! 0.15 MB in every function. What we answer is UTF-8.
//!
//! `[patch.crates-io]` in the workspace puts it there. A dependency that needs
//! more of the other's API does not compile.

use std::borrow::Cow;

/// UTF-8.
#[derive(Debug)]
pub struct Encoding;

/// The only one.
pub static UTF_8: &Encoding = &Encoding;

impl Encoding {
    /// The encoding with this label, if it is UTF-8.
    pub fn for_label(label: &[u8]) -> Option<&'static Self> {
        let label = label.trim_ascii();
        [b"utf-8".as_slice(), b"utf8"].into_iter().any(|it| label.eq_ignore_ascii_case(it)).then_some(UTF_8)
    }

    /// The text, what it was read as, and whether something could not be read
    /// and was replaced.
    pub fn decode<'a>(&'static self, bytes: &'a [u8]) -> (Cow<'a, str>, &'static Self, bool) {
        let text = String::from_utf8_lossy(bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes));
        let was_replaced = matches!(text, Cow::Owned(_));
        (text, self, was_replaced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf_8_is_known_by_its_names_and_nothing_else_is() {
        for known in ["utf-8", "UTF-8", " utf8 "] {
            assert!(Encoding::for_label(known.as_bytes()).is_some(), "{known}");
        }
        assert!(Encoding::for_label(b"iso-8859-1").is_none());
    }

    #[test]
    fn what_is_not_utf_8_is_replaced() {
        assert_eq!(UTF_8.decode("grün".as_bytes()).0, "grün");
        assert_eq!(UTF_8.decode(b"\xEF\xBB\xBFa").0, "a");

        let (text, _, was_replaced) = UTF_8.decode(b"gr\xFCn");
        assert_eq!((text.as_ref(), was_replaced), ("gr\u{FFFD}n", true));
    }
}
