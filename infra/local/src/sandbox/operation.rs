//! The operations of the API.

use axum::http::Method;
use serde::{Deserialize, Serialize};

/// An operation of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Operation {
    /// Makes a post public.
    Publish,
    /// Adds a comment to a post.
    Comment,
    /// Lists the posts or comments with a reference.
    LookUp,
    /// Stores a file.
    Upload,
    /// Returns whether posts can use a file yet.
    LookAtFile,
    /// Returns tokens for a code.
    Exchange,
    /// Returns tokens for a refresh token.
    Refresh,
    /// Ends a grant.
    Revoke,
    /// Returns the account info.
    Profile,
}

impl Operation {
    /// The operation of a request; `None` outside the API. A refresh counts as an exchange: only
    /// the form in the body distinguishes them.
    pub(super) fn from_request(method: &Method, path: &str) -> Option<Self> {
        let path = path.strip_prefix("/sandbox/")?;
        match (method.as_str(), path) {
            ("POST", "api/posts") => Some(Self::Publish),
            ("GET", "api/posts") => Some(Self::LookUp),
            ("POST", "api/media") => Some(Self::Upload),
            ("GET", "api/me") => Some(Self::Profile),
            ("POST", "oauth/token") => Some(Self::Exchange),
            ("POST", "oauth/revoke") => Some(Self::Revoke),
            ("POST", path) if is_comments(path) => Some(Self::Comment),
            ("GET", path) if is_comments(path) => Some(Self::LookUp),
            ("GET", path) if path.starts_with("api/media/") => Some(Self::LookAtFile),
            _ => None,
        }
    }

    /// What the call creates, as a noun.
    pub(super) fn creates(self) -> Option<&'static str> {
        match self {
            Self::Publish => Some("post"),
            Self::Comment => Some("comment"),
            Self::Upload => Some("file"),
            _ => None,
        }
    }

    /// The operation as a noun.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Publish => "publish request",
            Self::Comment => "comment request",
            Self::LookUp => "look-up by reference",
            Self::Upload => "file upload",
            Self::LookAtFile => "status check of a file",
            Self::Exchange => "token exchange",
            Self::Refresh => "token refresh",
            Self::Revoke => "revocation of the grant",
            Self::Profile => "profile request",
        }
    }
}

/// Whether a path is that of the comments of a post.
fn is_comments(path: &str) -> bool {
    path.starts_with("api/posts/") && path.ends_with("/comments")
}
