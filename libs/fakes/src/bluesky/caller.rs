//! Authentication and authorization of calls to the data server.

use axum::extract::FromRequestParts;
use http::header::AUTHORIZATION;
use http::request::Parts;

use super::account::Status;
use super::api_error::ApiError;
use super::dpop::{self, Realm};
use super::pds_state::{PdsState, Shared};
use super::scope::{Action, Scopes};

/// A caller that may act for the account.
pub(super) struct Caller(CallerScopes);

enum CallerScopes {
    /// Signed in with a password.
    All,
    /// The scopes that the user granted to a client.
    Scopes(Scopes),
}

impl Caller {
    /// Checks that this action on records of this collection is allowed.
    pub(super) fn repo(&self, action: Action, collection: &str) -> Result<(), ApiError> {
        self.scopes().map_or(Ok(()), |it| it.repo(action, collection))
    }

    /// Checks that files of this type may be uploaded.
    pub(super) fn blob(&self, mime_type: &str) -> Result<(), ApiError> {
        self.scopes().map_or(Ok(()), |it| it.blob(mime_type))
    }

    /// Checks that this method of this service may be called for the account.
    pub(super) fn rpc(&self, method: &str, audience: &str) -> Result<(), ApiError> {
        self.scopes().map_or(Ok(()), |it| it.rpc(method, audience))
    }

    /// Whether the account's e-mail address may be seen.
    pub(super) fn can_see_email(&self) -> bool {
        self.scopes().is_none_or(|it| it.has("transition:email"))
    }

    fn scopes(&self) -> Option<&Scopes> {
        match &self.0 {
            CallerScopes::All => None,
            CallerScopes::Scopes(scopes) => Some(scopes),
        }
    }
}

impl FromRequestParts<Shared> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, fake: &Shared) -> Result<Self, ApiError> {
        let (scheme, token) = credentials(parts)?;
        if scheme.eq_ignore_ascii_case("bearer") {
            check_bearer(fake, token)?;
            Ok(Self(CallerScopes::All))
        } else if scheme.eq_ignore_ascii_case("dpop") {
            check_dpop(fake, parts, token).map(|scopes| Self(CallerScopes::Scopes(scopes)))
        } else {
            Err(ApiError::bad("InvalidToken", format!("Unsupported authorization type: {scheme}")))
        }
    }
}

/// Scheme and token of the `Authorization` header.
pub(super) fn credentials(parts: &Parts) -> Result<(&str, &str), ApiError> {
    let missing = || ApiError::unauthorized("AuthMissing", "Authentication Required");
    let header = parts.headers.get(AUTHORIZATION).ok_or_else(missing)?;
    let pair = header.to_str().ok().and_then(|it| it.split_once(' ')).filter(|(_, token)| !token.contains(' '));
    pair.ok_or_else(|| ApiError::bad("InvalidToken", "Malformed authorization header"))
}

/// Access tokens of password sessions are only signed, not stored, so they work until
/// they expire even when the session has ended.
fn check_bearer(fake: &PdsState, token: &str) -> Result<(), ApiError> {
    let malformed = || ApiError::bad("InvalidToken", "Token could not be verified");
    let token = fake.key.verify("at+jwt", token).ok_or_else(malformed)?;
    // OAuth tokens are bound to a key and are not bearer tokens.
    if !token.claims["cnf"].is_null() {
        return Err(ApiError::bad("InvalidToken", "Malformed token"));
    }
    let ended = fake.state().passwords.has_ended(token.text("jti").unwrap_or_default());
    if ended || token.time("exp").is_none_or(|exp| exp <= fake.seconds()) {
        return Err(ApiError::bad("ExpiredToken", "Token has expired"));
    }
    Ok(())
}

fn check_dpop(fake: &PdsState, parts: &Parts, token: &str) -> Result<Scopes, ApiError> {
    let path = parts.uri.path();
    let jkt = dpop::check(fake, Realm::Pds, &parts.method, path, &parts.headers, Some(token))?;
    let invalid = |why: &str| ApiError::unauthorized("invalid_token", why).with_challenge("invalid_token");
    let jkt = jkt.ok_or_else(|| invalid("DPoP proof required"))?;
    let state = fake.state();
    let grant = state.grants.with_access(token).ok_or_else(|| invalid("Invalid token"))?;
    if grant.jkt != jkt {
        return Err(invalid("Invalid DPoP key binding"));
    }
    if grant.access_ends <= fake.clock.now() {
        return Err(invalid("Token expired"));
    }
    Ok(Scopes::read(&grant.scope))
}

/// Refuses while the account is taken down.
pub(super) fn check_not_taken_down(fake: &PdsState) -> Result<(), ApiError> {
    match fake.state().account.status {
        Status::TakenDown => Err(ApiError::unauthorized("AccountTakedown", "Account has been taken down")),
        Status::Active | Status::Deactivated => Ok(()),
    }
}

/// Refuses while the account is taken down or deactivated.
pub(super) fn active(fake: &PdsState) -> Result<(), ApiError> {
    check_not_taken_down(fake)?;
    match fake.state().account.status {
        Status::Deactivated => Err(ApiError::unauthorized("AccountDeactivated", "Account is deactivated")),
        Status::Active | Status::TakenDown => Ok(()),
    }
}
