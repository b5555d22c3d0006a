use domain::name::is_mark;
use url::Url;

use super::names::{Did, Handle};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Did(Did),
    Handle(Handle),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TypedAccount {
    Name(Name),
    /// A server alone. The user chooses the account on its page.
    Server(Url),
}

impl Name {
    /// Parses a DID, or a handle in any case, with or without its `@`.
    pub(super) fn parse(raw: &str) -> Option<Self> {
        if raw.starts_with("did:") {
            return raw.parse().ok().map(Self::Did);
        }
        raw.strip_prefix('@').unwrap_or(raw).to_ascii_lowercase().parse().ok().map(Self::Handle)
    }

    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Did(did) => did.as_str(),
            Self::Handle(handle) => handle.as_str(),
        }
    }
}

impl TypedAccount {
    /// `None` if the text is neither a name nor a server.
    pub(super) fn parse(raw: &str) -> Option<Self> {
        // A handle that was copied from a page may contain invisible text-direction marks.
        let raw: String = raw.chars().filter(|it| !is_mark(*it)).collect();
        let raw = raw.trim();
        if let Ok(url) = Url::parse(raw)
            && matches!(url.scheme(), "http" | "https")
        {
            // Users also copy the link to their profile.
            let profile = url.path_segments().and_then(|mut it| (it.next() == Some("profile")).then(|| it.next())?);
            return match profile {
                Some(name) => Name::parse(name).map(Self::Name),
                None if url.path() == "/" && url.host_str().is_some() => Some(Self::Server(url)),
                None => None,
            };
        }
        Name::parse(raw.strip_prefix("at://").unwrap_or(raw)).map(Self::Name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handle_is_parsed_in_any_form() {
        for raw in [
            "alice.bsky.social",
            " @Alice.bsky.social ",
            "at://alice.bsky.social",
            "\u{202a}@alice.bsky.social\u{202c}",
            "https://bsky.app/profile/alice.bsky.social",
        ] {
            let Some(TypedAccount::Name(name)) = TypedAccount::parse(raw) else { panic!("{raw:?}") };
            assert_eq!(name, Name::Handle("alice.bsky.social".parse().unwrap()), "{raw:?}");
        }
    }

    #[test]
    fn did_and_server_url_are_accepted() {
        let did = "did:plc:ewvi7nxzyoun6zhxrhs64oiz";
        assert_eq!(TypedAccount::parse(did), Some(TypedAccount::Name(Name::Did(did.parse().unwrap()))));
        assert_eq!(
            TypedAccount::parse("https://bsky.social"),
            Some(TypedAccount::Server("https://bsky.social/".parse().unwrap()))
        );
    }

    #[test]
    fn other_text_is_not_a_name() {
        for raw in ["", "alice", "@", "alice@example.com", "alice.bsky.social/x", "https://example.com/a/b", "did:plc:"]
        {
            assert_eq!(TypedAccount::parse(raw), None, "{raw:?}");
        }
    }
}
