use axum::http::Method;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Operation {
    Publish,
    Comment,
    /// Looks up posts or comments by reference.
    LookUp,
    Upload,
    /// Returns whether posts can use a file yet.
    LookAtFile,
    /// Exchanges a code for tokens.
    Exchange,
    /// Exchanges a refresh token for tokens.
    Refresh,
    Revoke,
    Profile,
}

impl Operation {
    /// `None` outside the API. A refresh counts as an exchange: only the form in the body
    /// distinguishes them.
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

    /// A noun; `None` if the call creates nothing.
    pub(super) fn creates(self) -> Option<&'static str> {
        match self {
            Self::Publish => Some("post"),
            Self::Comment => Some("comment"),
            Self::Upload => Some("file"),
            _ => None,
        }
    }

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

fn is_comments(path: &str) -> bool {
    path.starts_with("api/posts/") && path.ends_with("/comments")
}
