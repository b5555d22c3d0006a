//! Signing in with the main password or an app password.

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::account::{self, Status};
use super::api_error::ApiError;
use super::caller::{self, Caller};
use super::input::Input;
use super::jose;
use super::limits::{self, Route};
use super::pds_state::{PdsState, Shared};

const ACCESS_LIVES: TimeDelta = TimeDelta::hours(2);

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/xrpc/com.atproto.server.createSession", post(create))
        .route("/xrpc/com.atproto.server.refreshSession", post(refresh))
        .route("/xrpc/com.atproto.server.deleteSession", post(delete))
        .route("/xrpc/com.atproto.server.getSession", get(get_session))
}

async fn create(State(fake): State<Shared>, input: Input) -> Result<Response, ApiError> {
    let (identifier, password) = (input.text("identifier")?, input.text("password")?);
    let now = fake.clock.now();
    let allowance = limits::take(&mut fake.state().limits, Route::CreateSession, 1, now)?;

    let wrong = || ApiError::unauthorized("AuthenticationRequired", "Invalid identifier or password");
    if !account::is_it(identifier) && !identifier.eq_ignore_ascii_case(account::EMAIL) {
        return Err(wrong());
    }
    let mut state = fake.state();
    let of_app = password == state.passwords.current();
    if !of_app && password != account::MAIN_PASSWORD {
        return Err(wrong());
    }
    if !of_app && state.account.second_factor {
        let message = "A sign in code has been sent to your email address";
        return Err(ApiError::unauthorized("AuthFactorTokenRequired", message));
    }
    drop(state);
    caller::check_not_taken_down(&fake)?;
    state = fake.state();
    let refresh = state.passwords.add(of_app, now);
    drop(state);
    Ok((allowance.headers(), respond(&fake, &refresh)).into_response())
}

/// The id of a refresh token that this server signed and that has not expired.
struct RefreshToken(String);

impl FromRequestParts<Shared> for RefreshToken {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, fake: &Shared) -> Result<Self, ApiError> {
        let (scheme, token) = caller::credentials(parts)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(ApiError::unauthorized("AuthMissing", "Authentication Required"));
        }
        let malformed = || ApiError::bad("InvalidToken", "Token could not be verified");
        let token = fake.key.verify("refresh+jwt", token).ok_or_else(malformed)?;
        if token.time("exp").is_none_or(|exp| exp <= fake.seconds()) {
            return Err(ApiError::bad("ExpiredToken", "Token has expired"));
        }
        token.text("jti").map(|it| Self(it.to_owned())).ok_or_else(malformed)
    }
}

async fn refresh(State(fake): State<Shared>, RefreshToken(id): RefreshToken) -> Result<Json<Value>, ApiError> {
    caller::check_not_taken_down(&fake)?;
    let next = fake.state().passwords.rotate(&id, fake.clock.now());
    let next = next.ok_or_else(|| ApiError::bad("ExpiredToken", "Token has been revoked"))?;
    Ok(respond(&fake, &next))
}

async fn delete(State(fake): State<Shared>, RefreshToken(id): RefreshToken) {
    fake.state().passwords.refresh.remove(&id);
}

async fn get_session(State(fake): State<Shared>, caller: Caller) -> Json<Value> {
    Json(session(&fake, caller.can_see_email()))
}

fn respond(fake: &PdsState, refresh: &str) -> Json<Value> {
    let now = fake.clock.now();
    let access = jose::random("");
    let mut state = fake.state();
    let begun = state.passwords.refresh.get(refresh);
    let refresh_ends = begun.map_or(now, |it| it.ends);
    let by_app = begun.is_some_and(|it| it.is_app_password);
    state.passwords.access.insert(access.clone());
    drop(state);

    let mut answer = session(fake, true);
    let scope = if by_app { "com.atproto.appPass" } else { "com.atproto.access" };
    answer["accessJwt"] = token(fake, "at+jwt", scope, &access, now + ACCESS_LIVES);
    answer["refreshJwt"] = token(fake, "refresh+jwt", "com.atproto.refresh", refresh, refresh_ends);
    Json(answer)
}

fn token(fake: &PdsState, typ: &str, scope: &str, id: &str, ends: DateTime<Utc>) -> Value {
    let claims = json!({
        "scope": scope,
        "sub": account::DID,
        "aud": fake.pds_did(),
        "jti": id,
        "iat": fake.seconds(),
        "exp": ends.timestamp(),
    });
    fake.key.sign(typ, &claims).into()
}

/// The account in the format of session responses.
fn session(fake: &PdsState, with_email: bool) -> Value {
    let status = fake.state().account.status;
    let mut session = json!({
        "did": account::DID,
        "handle": account::HANDLE,
        "active": status == Status::Active,
    });
    if with_email {
        session["email"] = account::EMAIL.into();
        session["emailConfirmed"] = true.into();
    }
    if let Some(word) = status.name() {
        session["status"] = word.into();
    }
    session
}
