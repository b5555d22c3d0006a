//! Who calls the API, known from the bearer token.

use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;
use domain::token;

use super::Sandbox;
use super::accounts::Account;
use super::refusal::Refusal;

/// Lets the client see who an account is.
pub(super) const PROFILE: &str = "profile";
/// Lets the client upload and post.
pub(super) const PUBLISH: &str = "publish";

/// The account on whose behalf a call is made.
pub(super) struct Caller {
    pub(super) account: Account,
    pub(super) grant: u64,
    scope: String,
}

impl Caller {
    /// Refuses when the grant does not cover `scope`.
    pub(super) fn needs(&self, scope: &'static str) -> Result<(), Refusal> {
        let covered = self.scope.split(' ').any(|it| it == scope);
        if covered { Ok(()) } else { Err(Refusal::InsufficientScope { needed: scope }) }
    }
}

impl FromRequestParts<Sandbox> for Caller {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, sandbox: &Sandbox) -> Result<Self, Refusal> {
        let header = parts.headers.get(header::AUTHORIZATION).and_then(|it| it.to_str().ok());
        let token = header.and_then(|it| it.strip_prefix("Bearer ")).unwrap_or_default();
        let ledger = sandbox.ledger();
        let known = ledger.world().by_access(&token::hash(token), sandbox.now());
        let (grant, granted) = known.ok_or(Refusal::InvalidToken)?;
        Ok(Self { account: granted.account, grant, scope: granted.scope.clone() })
    }
}
