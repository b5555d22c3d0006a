//! An OpenID Connect issuer for development: signs in any e-mail address without a password.
//! Only the local stack has it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use askama::Template;
use axum::extract::{Query, State};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Form, Json, Router};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};
use domain::clock::Clock;
use domain::token::{hash, random_token};
use hmac::{Hmac, KeyInit, Mac};
use http::StatusCode;
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::Sha256;

pub(crate) const CLIENT_ID: &str = "social-publishing";

/// Signs id tokens. It protects nothing.
pub(crate) const CLIENT_SECRET: &str = "development-only-secret-of-the-local-issuer";

pub(crate) const DEMO_EMAIL: &str = "demo@example.com";

pub(crate) const DEMO_NAME: &str = "Demo User";

const CODE_LASTS: TimeDelta = TimeDelta::minutes(5);

/// Codes that are not exchanged yet; further sign-ins return 503.
const MAX_CODES: usize = 10_000;

pub(crate) fn url(origin: &str) -> String {
    format!("{origin}/dev-issuer")
}

#[derive(Clone)]
struct Issuer {
    origin: String,
    /// The redirect URI of the service, below `--origin` if that is set.
    callback: String,
    returns_to: String,
    clock: Clock,
    codes: Arc<Mutex<HashMap<String, IssuedCode>>>,
}

struct IssuedCode {
    email: String,
    nonce: Option<String>,
    challenge: String,
    redirect_uri: String,
    at: DateTime<Utc>,
}

#[derive(Clone, Debug, Deserialize)]
struct Authorize {
    client_id: String,
    redirect_uri: String,
    state: String,
    nonce: Option<String>,
    code_challenge: String,
    code_challenge_method: String,
}

#[derive(Deserialize)]
struct SignIn {
    email: String,
    #[serde(flatten)]
    request: Authorize,
}

#[derive(Deserialize)]
struct CodeExchange {
    code: String,
    code_verifier: String,
    redirect_uri: String,
    client_id: Option<String>,
    client_secret: Option<String>,
}

#[derive(Template)]
#[template(path = "issuer.html")]
struct SignInPage<'a> {
    proposed: &'a str,
    fault: Option<&'a str>,
    request: &'a Authorize,
}

/// Any address can sign in without a password, so the router may serve only this machine.
pub(crate) fn router(origin: String, returns_to: &str, clock: Clock) -> Router {
    let callback = format!("{returns_to}/sign-in/callback");
    Router::new()
        .route("/dev-issuer/.well-known/openid-configuration", get(discovery))
        .route("/dev-issuer/authorize", get(show_sign_in).post(sign_in))
        .route("/dev-issuer/token", post(exchange))
        .route("/dev-issuer/jwks", get(async || Json(json!({ "keys": [] }))))
        .with_state(Issuer { origin, callback, returns_to: returns_to.to_owned(), clock, codes: Arc::default() })
}

async fn discovery(State(issuer): State<Issuer>) -> Json<Value> {
    let url = url(&issuer.origin);
    Json(json!({
        "issuer": url,
        "authorization_endpoint": format!("{url}/authorize"),
        "token_endpoint": format!("{url}/token"),
        "jwks_uri": format!("{url}/jwks"),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["HS256"],
        "code_challenge_methods_supported": ["S256"],
        "scopes_supported": ["openid", "email", "profile"],
    }))
}

async fn show_sign_in(State(issuer): State<Issuer>, Query(request): Query<Authorize>) -> Response {
    match check(&issuer, &request) {
        Ok(()) => page(&issuer, &request, DEMO_EMAIL, None),
        Err(why) => (StatusCode::BAD_REQUEST, why).into_response(),
    }
}

async fn sign_in(State(issuer): State<Issuer>, Form(form): Form<SignIn>) -> Response {
    let request = form.request;
    if let Err(why) = check(&issuer, &request) {
        return (StatusCode::BAD_REQUEST, why).into_response();
    }
    let email = form.email.trim().to_lowercase();
    let is_plausible = email.len() <= 254
        && email.split_once('@').is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
        && !email.chars().any(char::is_whitespace);
    if !is_plausible {
        return page(&issuer, &request, &email, Some("Enter an e-mail address, such as demo@example.com."));
    }
    let code = random_token();
    let now = issuer.clock.now();
    let signed = IssuedCode {
        email,
        nonce: request.nonce.clone(),
        challenge: request.code_challenge.clone(),
        redirect_uri: request.redirect_uri.clone(),
        at: now,
    };
    let mut codes = issuer.codes.lock().unwrap_or_else(PoisonError::into_inner);
    codes.retain(|_, it| now - it.at < CODE_LASTS);
    if MAX_CODES <= codes.len() {
        return (StatusCode::SERVICE_UNAVAILABLE, "too many sign-ins are in progress; try again in five minutes")
            .into_response();
    }
    codes.insert(code.expose_secret().to_owned(), signed);
    drop(codes);
    let Ok(mut url) = url::Url::parse(&request.redirect_uri) else {
        return (StatusCode::BAD_REQUEST, "redirect_uri is not a URL").into_response();
    };
    url.query_pairs_mut().append_pair("code", code.expose_secret()).append_pair("state", &request.state);
    Redirect::to(url.as_str()).into_response()
}

async fn exchange(State(issuer): State<Issuer>, headers: http::HeaderMap, Form(form): Form<CodeExchange>) -> Response {
    let refused = |error: &str| (StatusCode::BAD_REQUEST, Json(json!({ "error": error }))).into_response();
    let basic = headers
        .get(http::header::AUTHORIZATION)
        .and_then(|it| it.to_str().ok()?.strip_prefix("Basic "))
        .map(str::to_owned);
    let expected = base64::engine::general_purpose::STANDARD.encode(format!("{CLIENT_ID}:{CLIENT_SECRET}"));
    let by_form = form.client_id.as_deref() == Some(CLIENT_ID) && form.client_secret.as_deref() == Some(CLIENT_SECRET);
    if !by_form && basic != Some(expected) {
        return refused("invalid_client");
    }
    let now = issuer.clock.now();
    let signed = issuer.codes.lock().unwrap_or_else(PoisonError::into_inner).remove(&form.code);
    let Some(signed) = signed.filter(|it| now - it.at < CODE_LASTS) else { return refused("invalid_grant") };
    if signed.challenge != hash(&form.code_verifier) || signed.redirect_uri != form.redirect_uri {
        return refused("invalid_grant");
    }
    let name = match signed.email.as_str() {
        DEMO_EMAIL => DEMO_NAME.to_owned(),
        email => email.split('@').next().unwrap_or(email).to_owned(),
    };
    let claims = json!({
        "iss": url(&issuer.origin),
        "aud": CLIENT_ID,
        "sub": signed.email,
        "email": signed.email,
        "email_verified": true,
        "name": name,
        "nonce": signed.nonce,
        "iat": now.timestamp(),
        "exp": now.timestamp() + 300,
    });
    Json(json!({
        "access_token": random_token().expose_secret(),
        "token_type": "Bearer",
        "expires_in": 300,
        "id_token": id_token(&claims),
    }))
    .into_response()
}

fn check(issuer: &Issuer, request: &Authorize) -> Result<(), &'static str> {
    if request.client_id != CLIENT_ID {
        return Err("client_id is unknown");
    }
    if request.redirect_uri != issuer.callback {
        return Err("redirect_uri is not registered");
    }
    if request.code_challenge_method != "S256" {
        return Err("code_challenge_method must be S256");
    }
    Ok(())
}

fn page(issuer: &Issuer, request: &Authorize, proposed: &str, fault: Option<&str>) -> Response {
    let status = if fault.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    // Browsers apply form-action to the redirect in the response as well.
    let policy = format!(
        "default-src 'none'; style-src 'self'; form-action 'self' {}; frame-ancestors 'none'; base-uri 'none'",
        issuer.returns_to
    );
    match (SignInPage { proposed, fault, request }).render() {
        Ok(html) => (status, [("content-security-policy", policy)], Html(html)).into_response(),
        Err(error) => {
            tracing::error!(%error, "the sign-in page could not be rendered");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// A JWT signed with HS256 under the client's secret (OpenID Connect Core, 10.1).
fn id_token(claims: &Value) -> String {
    let encode = |it: &Value| URL_SAFE_NO_PAD.encode(it.to_string());
    let head = encode(&json!({ "alg": "HS256", "typ": "JWT" }));
    let signed = format!("{head}.{}", encode(claims));
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(CLIENT_SECRET.as_bytes()) else { return String::new() };
    mac.update(signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use domain::testing::noon;
    use http::Request;
    use tower::ServiceExt;

    use super::*;

    async fn asked(callback: &str) -> Response {
        let router = router("http://localhost:3000".to_owned(), "https://app.example", Clock::manual(noon()));
        let query = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs([("client_id", CLIENT_ID), ("redirect_uri", callback), ("state", "s")])
            .extend_pairs([("code_challenge", "c"), ("code_challenge_method", "S256")])
            .finish();
        let request = Request::get(format!("/dev-issuer/authorize?{query}")).body(Body::empty()).unwrap();
        router.oneshot(request).await.unwrap()
    }

    #[tokio::test]
    async fn redirect_uri_must_be_the_callback_of_the_service() {
        let page = asked("https://app.example/sign-in/callback").await;
        assert_eq!(page.status(), StatusCode::OK);
        let policy = page.headers()["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("form-action 'self' https://app.example;"), "{policy}");

        for other in ["http://localhost:3000/sign-in/callback", "https://evil.example/sign-in/callback"] {
            assert_eq!(asked(other).await.status(), StatusCode::BAD_REQUEST, "{other}");
        }
    }
}
