use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Scope {
    #[serde(rename = "user:read")]
    UserRead,
    #[serde(rename = "connections:read")]
    ConnectionsRead,
    #[serde(rename = "connections:write")]
    ConnectionsWrite,
    #[serde(rename = "posts:read")]
    PostsRead,
    #[serde(rename = "posts:write")]
    PostsWrite,
    /// Create, change and delete drafts, without scheduling them.
    #[serde(rename = "posts:draft")]
    PostsDraft,
    #[serde(rename = "media:write")]
    MediaWrite,
    #[serde(rename = "webhooks:write")]
    WebhooksWrite,
}

impl Scope {
    /// All scopes, in the order in which they are shown.
    pub const ALL: [Self; 8] = [
        Self::UserRead,
        Self::ConnectionsRead,
        Self::ConnectionsWrite,
        Self::PostsRead,
        Self::PostsWrite,
        Self::PostsDraft,
        Self::MediaWrite,
        Self::WebhooksWrite,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UserRead => "user:read",
            Self::ConnectionsRead => "connections:read",
            Self::ConnectionsWrite => "connections:write",
            Self::PostsRead => "posts:read",
            Self::PostsWrite => "posts:write",
            Self::PostsDraft => "posts:draft",
            Self::MediaWrite => "media:write",
            Self::WebhooksWrite => "webhooks:write",
        }
    }

    pub const fn meaning(self) -> &'static str {
        match self {
            Self::UserRead => "Read your name and e-mail address",
            Self::ConnectionsRead => "See your connected accounts",
            Self::ConnectionsWrite => "Connect and disconnect accounts",
            Self::PostsRead => "See your posts",
            Self::PostsWrite => "Create, change, schedule and delete your posts",
            Self::PostsDraft => "Create, change and delete your drafts, without publishing them",
            Self::MediaWrite => "Upload images and videos",
            Self::WebhooksWrite => "Send your events to any URL (webhooks)",
        }
    }

    /// The wider scope, which permits all of this one.
    pub const fn wider(self) -> Option<Self> {
        match self {
            Self::PostsDraft => Some(Self::PostsWrite),
            _ => None,
        }
    }

    pub fn parse(raw: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == raw)
    }
}

/// The scopes of a token: at least one, each once, in the order of [`Scope::ALL`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Scopes(Vec<Scope>);

impl Scopes {
    /// The requested scopes; an empty request means all.
    pub fn from_requested(requested: &[Scope]) -> Self {
        let all = Scope::ALL.into_iter();
        if requested.is_empty() { Self(all.collect()) } else { Self(all.filter(|it| requested.contains(it)).collect()) }
    }

    /// Whether this scope was granted by name.
    pub fn has(&self, scope: Scope) -> bool {
        self.0.contains(&scope)
    }

    /// Whether the scopes permit what this one permits.
    pub fn permit(&self, scope: Scope) -> bool {
        self.has(scope) || scope.wider().is_some_and(|it| self.has(it))
    }

    /// Restricts the scopes for a program that may write drafts and change nothing else: neither
    /// connections nor webhooks.
    #[must_use]
    pub fn with_drafts_only(&self) -> Self {
        let drafts = |it| match it {
            Scope::PostsWrite => Some(Scope::PostsDraft),
            Scope::ConnectionsWrite | Scope::WebhooksWrite => None,
            other => Some(other),
        };
        let kept: Vec<_> = self.iter().filter_map(drafts).collect();
        // Not `of`, because an empty result must not mean all scopes.
        Self(Scope::ALL.into_iter().filter(|it| kept.contains(it)).collect())
    }

    /// Texts for users. A scope that another one includes is left out.
    pub fn meanings(&self) -> Vec<&'static str> {
        let shown = self.iter().filter(|it| it.wider().is_none_or(|wider| !self.has(wider)));
        shown.map(Scope::meaning).collect()
    }

    pub fn iter(&self) -> impl Iterator<Item = Scope> {
        self.0.iter().copied()
    }

    pub fn names(&self) -> Vec<&'static str> {
        self.iter().map(Scope::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_request_means_all_scopes() {
        assert_eq!(Scopes::from_requested(&[]).names().len(), 8);
    }

    #[test]
    fn posts_scope_includes_drafts_but_not_the_reverse() {
        let [posts, drafts] = [Scope::PostsWrite, Scope::PostsDraft].map(|it| Scopes::from_requested(&[it]));
        assert!(posts.permit(Scope::PostsDraft) && posts.permit(Scope::PostsWrite));
        assert!(drafts.permit(Scope::PostsDraft) && !drafts.permit(Scope::PostsWrite));
        let both = Scopes::from_requested(&[Scope::PostsWrite, Scope::PostsDraft, Scope::PostsRead]);
        assert_eq!(both.meanings().len(), 2);
        assert_eq!(both.with_drafts_only().names(), ["posts:read", "posts:draft"]);
        let all = Scopes::from_requested(&[]).with_drafts_only();
        assert_eq!(all.names(), ["user:read", "connections:read", "posts:read", "posts:draft", "media:write"]);
        assert!(Scopes::from_requested(&[Scope::ConnectionsWrite]).with_drafts_only().names().is_empty());
    }

    #[test]
    fn scope_requested_twice_is_granted_once() {
        let scopes = Scopes::from_requested(&[Scope::PostsWrite, Scope::UserRead, Scope::PostsWrite]);
        assert_eq!(scopes.names(), ["user:read", "posts:write"]);
        assert!(!scopes.has(Scope::MediaWrite));
    }
}
