use axum::http::Method;
use axum::http::request::Parts;

use crate::conformance::fake_platform::Call;
use crate::fake::oauth::classify_token_call;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
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
    /// The operation of a request; `None` outside the API. A refresh counts as an exchange until
    /// [`Self::refine`].
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

    /// Distinguishes a refresh from an exchange by the form in the body.
    pub(super) fn refine(self, head: &Parts, body: &[u8]) -> Self {
        let is_refresh = self == Self::Exchange && classify_token_call(head, body) == Call::Refresh;
        if is_refresh { Self::Refresh } else { self }
    }
}

fn is_comments(path: &str) -> bool {
    path.starts_with("api/posts/") && path.ends_with("/comments")
}
