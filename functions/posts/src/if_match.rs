//! The header `If-Match`: the revisions that a request may change.

use std::convert::Infallible;

use api::{ApiError, ApiResult};
use axum::extract::FromRequestParts;
use domain::post::{IfMatch, Post};
use http::HeaderValue;
use http::header::IF_MATCH;
use http::request::Parts;

/// `None` if the request has no condition.
pub(crate) struct Condition(pub(crate) Option<IfMatch>);

impl<S: Sync> FromRequestParts<S> for Condition {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        // A header that is sent several times is one list (RFC 9110, section 5.3).
        let values: Vec<_> = parts.headers.get_all(IF_MATCH).iter().map(HeaderValue::as_bytes).collect();
        Ok(Self((!values.is_empty()).then(|| IfMatch::parse(&values.join(&b","[..])))))
    }
}

impl Condition {
    /// Called before the body is parsed.
    pub(crate) fn check(&self, post: &Post) -> ApiResult<()> {
        match &self.0 {
            Some(condition) if !condition.matches(post) => Err(ApiError::PreconditionFailed),
            _ => Ok(()),
        }
    }
}
