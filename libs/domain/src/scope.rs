//! What a token may do.

use serde::{Deserialize, Serialize};

/// One permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Scope {
    /// Read one's own name and e-mail address.
    #[serde(rename = "user:read")]
    UserRead,
    /// See connected accounts.
    #[serde(rename = "connections:read")]
    ConnectionsRead,
    /// Connect and disconnect accounts.
    #[serde(rename = "connections:write")]
    ConnectionsWrite,
    /// See posts.
    #[serde(rename = "posts:read")]
    PostsRead,
    /// Create, change, schedule and delete posts.
    #[serde(rename = "posts:write")]
    PostsWrite,
    /// Upload pictures and videos.
    #[serde(rename = "media:write")]
    MediaWrite,
    /// See, create, change and delete webhooks.
    #[serde(rename = "webhooks:write")]
    WebhooksWrite,
}

impl Scope {
    /// Every scope, in the order in which they are shown.
    pub const ALL: [Self; 7] = [
        Self::UserRead,
        Self::ConnectionsRead,
        Self::ConnectionsWrite,
        Self::PostsRead,
        Self::PostsWrite,
        Self::MediaWrite,
        Self::WebhooksWrite,
    ];

    /// As clients write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UserRead => "user:read",
            Self::ConnectionsRead => "connections:read",
            Self::ConnectionsWrite => "connections:write",
            Self::PostsRead => "posts:read",
            Self::PostsWrite => "posts:write",
            Self::MediaWrite => "media:write",
            Self::WebhooksWrite => "webhooks:write",
        }
    }

    /// What it means, for the page on which a person approves it.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::UserRead => "Read your name and e-mail address",
            Self::ConnectionsRead => "See your connected accounts",
            Self::ConnectionsWrite => "Connect and disconnect accounts",
            Self::PostsRead => "See your posts",
            Self::PostsWrite => "Create, change, schedule and delete your posts",
            Self::MediaWrite => "Upload pictures and videos",
            Self::WebhooksWrite => "Have your events sent to addresses of its choice",
        }
    }

    /// Reads one.
    pub fn parse(raw: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == raw)
    }
}

/// The scopes of a token: at least one, each once, in the order of [`Scope::ALL`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Scopes(Vec<Scope>);

impl Scopes {
    /// Those asked for; none asked for means all.
    pub fn of(asked: &[Scope]) -> Self {
        let all = Scope::ALL.into_iter();
        if asked.is_empty() { Self(all.collect()) } else { Self(all.filter(|it| asked.contains(it)).collect()) }
    }

    /// Whether this one is among them.
    pub fn has(&self, scope: Scope) -> bool {
        self.0.contains(&scope)
    }

    /// Each.
    pub fn iter(&self) -> impl Iterator<Item = Scope> {
        self.0.iter().copied()
    }

    /// As clients read them.
    pub fn names(&self) -> Vec<&'static str> {
        self.iter().map(Scope::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_scope_asked_for_means_all() {
        assert_eq!(Scopes::of(&[]).names().len(), 7);
    }

    #[test]
    fn a_scope_asked_for_twice_is_there_once() {
        let scopes = Scopes::of(&[Scope::PostsWrite, Scope::UserRead, Scope::PostsWrite]);
        assert_eq!(scopes.names(), ["user:read", "posts:write"]);
        assert!(!scopes.has(Scope::MediaWrite));
    }
}
