//! The token endpoint and the revocation endpoint.

use axum::extract::State;
use axum::extract::rejection::FormRejection;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Form, Json};
use chrono::{DateTime, TimeDelta, Utc};
use domain::token;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::json;

use super::api_error::TokenError;
use super::fact::{Fact, TokenPair};
use super::fault_kind::FaultKind;
use super::operation::Operation;
use super::record_calls::{CallRecorder, ResponseSummary, cut_connection};
use super::{CLIENT_ID, CLIENT_SECRET, Sandbox};

const ACCESS_LIFETIME: TimeDelta = TimeDelta::hours(1);

/// The form of RFC 6749, sections 4.1.3 and 6, and RFC 7636, section 4.5.
#[derive(Deserialize)]
pub(super) struct Exchange {
    grant_type: Option<String>,
    code: Option<SecretString>,
    redirect_uri: Option<String>,
    code_verifier: Option<SecretString>,
    refresh_token: Option<SecretString>,
    #[serde(flatten)]
    client: ClientCredentials,
}

/// The form of RFC 7009.
#[derive(Deserialize)]
pub(super) struct RevocationRequest {
    token: Option<SecretString>,
    #[serde(flatten)]
    client: ClientCredentials,
}

#[derive(Deserialize)]
struct ClientCredentials {
    client_id: Option<String>,
    client_secret: Option<SecretString>,
}

impl ClientCredentials {
    fn check(&self) -> Result<(), TokenError> {
        let secret = self.client_secret.as_ref().map(ExposeSecret::expose_secret);
        let is_valid = self.client_id.as_deref() == Some(CLIENT_ID) && secret == Some(CLIENT_SECRET);
        if is_valid { Ok(()) } else { Err(TokenError::InvalidClient) }
    }
}

/// Exchanges a code or a refresh token.
pub(super) async fn exchange_token(
    State(sandbox): State<Sandbox>,
    Extension(call): Extension<CallRecorder>,
    form: Result<Form<Exchange>, FormRejection>,
) -> Result<Response, TokenError> {
    let Form(exchange) = form?;
    exchange.client.check()?;
    match exchange.grant_type.as_deref() {
        Some("authorization_code") => exchange_code(&sandbox, &exchange),
        Some("refresh_token") => refresh(&sandbox, call, &exchange),
        Some(_) => Err(TokenError::UnsupportedGrantType),
        None => Err(missing("grant_type")),
    }
}

fn exchange_code(sandbox: &Sandbox, exchange: &Exchange) -> Result<Response, TokenError> {
    let code = exchange.code.as_ref().ok_or_else(|| missing("code"))?;
    let verifier = exchange.code_verifier.as_ref().ok_or_else(|| missing("code_verifier"))?;
    let redirect_uri = exchange.redirect_uri.as_deref().ok_or_else(|| missing("redirect_uri"))?;
    let code = token::hash(code.expose_secret());
    let now = sandbox.now();

    // The ledger stays locked until the exchange is recorded, so that a code is exchanged only once.
    let mut ledger = sandbox.ledger();
    let allowed =
        ledger.state().code(&code, now).ok_or(TokenError::InvalidGrant("the code is unknown, spent or expired"))?;
    if allowed.redirect_uri != redirect_uri {
        return Err(TokenError::InvalidGrant("redirect_uri is not the one of the request"));
    }
    // The challenge is SHA-256 in base64url (RFC 7636, section 4.2), the format of `token::hash`.
    if allowed.challenge != token::hash(verifier.expose_secret()) {
        return Err(TokenError::InvalidGrant("code_verifier does not match code_challenge"));
    }
    let scope = allowed.scope.clone();
    let tokens = FreshTokens::new(now);
    let grant = ledger.state().next_grant();
    ledger.record(Fact::Granted { code, grant, tokens: tokens.hashed(), at: now })?;
    Ok(tokens.respond(&scope))
}

fn refresh(sandbox: &Sandbox, mut call: CallRecorder, exchange: &Exchange) -> Result<Response, TokenError> {
    call.set_operation(Operation::Refresh);
    let old = exchange.refresh_token.as_ref().ok_or_else(|| missing("refresh_token"))?;
    let now = sandbox.now();

    let mut ledger = sandbox.ledger();
    let (grant, granted) = ledger
        .state()
        .by_refresh(&token::hash(old.expose_secret()))
        .ok_or(TokenError::InvalidGrant("the refresh token is unknown, used or revoked"))?;
    let (scope, account) = (granted.scope.clone(), granted.account);
    call.by(account);
    let fault = call.strike(account).map(|it| it.kind);
    match fault {
        Some(FaultKind::RefuseRefresh) => return Err(TokenError::InvalidGrant("the refresh token is not accepted")),
        Some(FaultKind::RefreshUnreachable) => return Err(TokenError::Unavailable),
        _ => {}
    }
    let tokens = FreshTokens::new(now);
    ledger.record(Fact::Refreshed { grant, tokens: tokens.hashed(), at: now })?;
    if fault == Some(FaultKind::LoseRefresh) { Ok(cut_connection()) } else { Ok(tokens.respond(&scope)) }
}

/// Ends the grant of an access or refresh token. An unknown token is not an error, because it gives
/// no access (RFC 7009, section 2.2).
pub(super) async fn revoke_token(
    State(sandbox): State<Sandbox>,
    form: Result<Form<RevocationRequest>, FormRejection>,
) -> Result<StatusCode, TokenError> {
    let Form(revocation) = form?;
    revocation.client.check()?;
    let token = revocation.token.as_ref().ok_or_else(|| missing("token"))?;
    let hash = token::hash(token.expose_secret());

    let mut ledger = sandbox.ledger();
    let state = ledger.state();
    let known = state.find_by_access_token(&hash, sandbox.now()).or_else(|| state.by_refresh(&hash));
    if let Some((grant, _)) = known {
        ledger.record(Fact::Revoked { grant })?;
    }
    Ok(StatusCode::OK)
}

fn missing(parameter: &str) -> TokenError {
    TokenError::InvalidRequest(format!("{parameter} is missing"))
}

struct FreshTokens {
    access: SecretString,
    access_ends: DateTime<Utc>,
    refresh: SecretString,
}

impl FreshTokens {
    fn new(now: DateTime<Utc>) -> Self {
        Self { access: token::random_token(), access_ends: now + ACCESS_LIFETIME, refresh: token::random_token() }
    }

    fn hashed(&self) -> TokenPair {
        TokenPair {
            access: token::hash(self.access.expose_secret()),
            access_ends: self.access_ends,
            refresh: token::hash(self.refresh.expose_secret()),
        }
    }

    fn respond(&self, scope: &str) -> Response {
        let body = Json(json!({
            "access_token": self.access.expose_secret(),
            "refresh_token": self.refresh.expose_secret(),
            "expires_in": ACCESS_LIFETIME.num_seconds(),
            "scope": scope,
            "token_type": "Bearer",
        }));
        let said = Extension(ResponseSummary("tokens".to_owned()));
        ([(header::CACHE_CONTROL, "no-store")], said, body).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CUT, REDIRECT_URI, SandboxHarness, VERIFIER};
    use super::*;

    #[tokio::test]
    async fn a_code_becomes_a_token_for_the_chosen_account() {
        let harness = SandboxHarness::new();
        let code = harness.allow("lighthouse").await;

        let answer = harness.exchange(&code, VERIFIER).await;

        assert_eq!(answer.status, 200);
        assert_eq!(answer.json()["expires_in"], 3600);
        assert_eq!(answer.json()["token_type"], "Bearer");
        assert_eq!(answer.json()["scope"], "profile publish");
        let access = answer.string("access_token");
        let me = harness.call("GET", "/sandbox/api/me", &access, None).await;
        assert_eq!(me.json()["handle"], "lighthouse");
    }

    #[tokio::test]
    async fn a_wrong_verifier_gets_nothing_and_does_not_spend_the_code() {
        let harness = SandboxHarness::new();
        let code = harness.allow("meadow").await;

        let wrong = harness.exchange(&code, "another-verifier").await;

        assert_eq!((wrong.status, wrong.error()), (400, "invalid_grant".into()));
        assert_eq!(harness.exchange(&code, VERIFIER).await.status, 200);
    }

    #[tokio::test]
    async fn a_code_is_spent_by_its_first_exchange() {
        let harness = SandboxHarness::new();
        let code = harness.allow("meadow").await;
        harness.exchange(&code, VERIFIER).await;

        let second = harness.exchange(&code, VERIFIER).await;

        assert_eq!((second.status, second.error()), (400, "invalid_grant".into()));
    }

    #[tokio::test]
    async fn a_code_expires() {
        let harness = SandboxHarness::new();
        let code = harness.allow("meadow").await;
        harness.clock.advance(CODE_END);

        let late = harness.exchange(&code, VERIFIER).await;

        assert_eq!(late.error(), "invalid_grant");
    }

    const CODE_END: TimeDelta = TimeDelta::minutes(5);

    #[tokio::test]
    async fn refresh_token_works_once_and_is_rotated() {
        let harness = SandboxHarness::new();
        let first = harness.connect("meadow").await;

        let second = harness.refresh(&first.refresh).await;
        let again = harness.refresh(&first.refresh).await;
        let third = harness.refresh(&second.string("refresh_token")).await;

        assert_eq!(second.status, 200);
        assert_eq!((again.status, again.error()), (400, "invalid_grant".into()));
        assert_eq!(third.status, 200);
    }

    #[tokio::test]
    async fn an_access_token_ends_after_an_hour_and_refreshing_gives_another() {
        let harness = SandboxHarness::new();
        let tokens = harness.connect("meadow").await;
        harness.clock.advance(TimeDelta::hours(1));

        let late = harness.call("GET", "/sandbox/api/me", &tokens.access, None).await;
        let refreshed = harness.refresh(&tokens.refresh).await.string("access_token");
        let fresh = harness.call("GET", "/sandbox/api/me", &refreshed, None).await;

        assert_eq!((late.status, late.error()), (401, "invalid_token".into()));
        assert_eq!(fresh.status, 200);
    }

    #[tokio::test]
    async fn revoking_either_token_ends_both() {
        let harness = SandboxHarness::new();
        for by_refresh in [true, false] {
            let tokens = harness.connect("meadow").await;
            let token = if by_refresh { &tokens.refresh } else { &tokens.access };

            let revoked = harness.client_form("/sandbox/oauth/revoke", &[("token", token)]).await;
            let me = harness.call("GET", "/sandbox/api/me", &tokens.access, None).await;
            let refreshed = harness.refresh(&tokens.refresh).await;

            assert_eq!((revoked.status, me.status, refreshed.status), (200, 401, 400));
        }
        let unknown = harness.client_form("/sandbox/oauth/revoke", &[("token", "unknown")]).await;
        assert_eq!(unknown.status, 200);
    }

    #[tokio::test]
    async fn arming_a_refresh_fault_expires_access_tokens() {
        for (kind, status, works_afterwards) in
            [("refuse_refresh", 400, true), ("refresh_unreachable", 503, true), ("lose_refresh", CUT, false)]
        {
            let harness = SandboxHarness::new();
            let tokens = harness.connect("meadow").await;
            let other = harness.connect("harbour").await;
            harness.arm(json!({"kind": kind, "account": "meadow"})).await;

            let me = harness.call("GET", "/sandbox/api/me", &tokens.access, None).await;
            let struck = harness.refresh(&tokens.refresh).await;
            let next = harness.refresh(&tokens.refresh).await;

            assert_eq!((me.status, struck.status), (401, status), "{kind}");
            assert_eq!(next.status == 200, works_afterwards, "{kind}: {}", next.text());
            let others = harness.call("GET", "/sandbox/api/me", &other.access, None).await;
            assert_eq!(others.status, 200, "{kind}");
        }
    }

    #[tokio::test]
    async fn wrong_client_secret_is_rejected() {
        let harness = SandboxHarness::new();
        let code = harness.allow("meadow").await;

        let answer = harness
            .form(
                "/sandbox/oauth/token",
                &[
                    ("grant_type", "authorization_code"),
                    ("client_id", CLIENT_ID),
                    ("client_secret", "guess"),
                    ("code", &code),
                    ("code_verifier", VERIFIER),
                    ("redirect_uri", REDIRECT_URI),
                ],
            )
            .await;

        assert_eq!((answer.status, answer.error()), (401, "invalid_client".into()));
    }

    #[tokio::test]
    async fn missing_parameter_is_named() {
        let harness = SandboxHarness::new();

        let no_code = harness.client_form("/sandbox/oauth/token", &[("grant_type", "authorization_code")]).await;
        let password = harness.client_form("/sandbox/oauth/token", &[("grant_type", "password")]).await;

        assert_eq!(no_code.error(), "invalid_request");
        assert_eq!(no_code.json()["error_description"], "code is missing");
        assert_eq!(password.error(), "unsupported_grant_type");
    }
}
