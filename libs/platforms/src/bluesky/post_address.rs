use url::Url;

use super::record::COLLECTION;
use super::typed::Name;

/// In bytes.
const MAX_KEY_BYTES: usize = 512;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PostAddress {
    pub(super) author: Name,
    pub(super) rkey: String,
}

impl PostAddress {
    /// Parses a link to a post in the official client, or the `at://` URI of its record.
    pub(super) fn parse(address: &str) -> Option<Self> {
        if let Some(record) = address.strip_prefix("at://") {
            let (author, path) = record.split_once('/')?;
            return Self::from_parts(author, path.strip_prefix(COLLECTION)?.strip_prefix('/')?);
        }
        let url = Url::parse(address).ok()?;
        if url.host_str() != Some("bsky.app") || !matches!(url.scheme(), "https" | "http") {
            return None;
        }
        let path: Vec<_> = url.path().trim_matches('/').split('/').collect();
        let ["profile", author, "post", rkey] = path.as_slice() else { return None };
        Self::from_parts(author, rkey)
    }

    fn from_parts(author: &str, rkey: &str) -> Option<Self> {
        let is_key = (1..=MAX_KEY_BYTES).contains(&rkey.len())
            && rkey.bytes().all(|it| it.is_ascii_alphanumeric() || b".-_:~".contains(&it))
            && !matches!(rkey, "." | "..");
        is_key.then_some(Self { author: Name::parse(author)?, rkey: rkey.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn post_address_is_parsed_from_link_or_uri() {
        let did = "did:plc:ewvi7nxzyoun6zhxrhs64oiz";
        for (address, author) in [
            ("https://bsky.app/profile/alice.test/post/3kabc".to_owned(), "alice.test"),
            ("https://bsky.app/profile/alice.test/post/3kabc/?ref=x#y".to_owned(), "alice.test"),
            (format!("https://bsky.app/profile/{did}/post/3kabc"), did),
            (format!("at://{did}/app.bsky.feed.post/3kabc"), did),
            ("at://alice.test/app.bsky.feed.post/3kabc".to_owned(), "alice.test"),
        ] {
            let named = PostAddress::parse(&address);
            assert_eq!(
                named.map(|it| (it.author.as_str().to_owned(), it.rkey)),
                Some((author.to_owned(), "3kabc".to_owned())),
                "{address}"
            );
        }
        for address in [
            "https://bsky.app/profile/alice.test",
            "https://bsky.app/profile/alice.test/feed/3kabc",
            "https://bsky.app/profile/alice.test/post/3kabc/liked-by",
            "https://bsky.example/profile/alice.test/post/3kabc",
            "ftp://bsky.app/profile/alice.test/post/3kabc",
            "at://alice.test/app.bsky.feed.generator/3kabc",
            "at://alice.test/app.bsky.feed.post/..",
            "at://alice/app.bsky.feed.post/3kabc",
            "alice.test",
            "",
        ] {
            assert_eq!(PostAddress::parse(address), None, "{address}");
        }
    }
}
