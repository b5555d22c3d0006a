//! What happens around every route: the request gets an id and is counted, and
//! the answer gets its headers.

use std::sync::Arc;

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, TimeDelta, Utc};
use domain::token::{self, AccessToken};
use http::header::{ACCEPT, AUTHORIZATION, CACHE_CONTROL, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use storage::{Counted, StorageError, TokenGrant};
use tracing::Instrument;

use crate::Api;
use crate::caller::{Credential, Seen};
use crate::error::{ApiError, message};
use crate::limit::{Budget, ClientIp};
use crate::page::{self, PageError};
use crate::{cors, page::assets};

/// The id of a request, a request extension. It is written to `x-request-id`
/// and to the logs.
#[derive(Clone, Debug)]
pub struct RequestId(pub String);

/// The start of the paths whose requests are counted.
const API: &str = "/api/";

/// The route whose requests also count as uploads.
const MEDIA: (Method, &str) = (Method::POST, "/api/v1/media");

/// Completes the routes of one function or of all functions: adds the answers
/// for unknown paths and wrong methods, and what happens around every request.
pub fn finish(router: Router, api: Api) -> Router {
    router
        .merge(assets::router())
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(api, gate))
}

async fn unknown_path(request: Request) -> Response {
    let wants_page =
        request.headers().get(ACCEPT).and_then(|it| it.to_str().ok()).is_some_and(|it| it.contains("text/html"));
    if wants_page && !is_api(&request) {
        return PageError::not_found().into_response();
    }
    ApiError::NotFound.into_response()
}

async fn wrong_method() -> ApiError {
    ApiError::WrongMethod
}

fn is_api(request: &Request) -> bool {
    request.uri().path().starts_with(API)
}

async fn gate(State(api): State<Api>, mut request: Request, next: Next) -> Response {
    let id = request.extensions().get().cloned().unwrap_or_else(RequestId::random);
    let route = request.extensions().get().map_or("unknown", MatchedPath::as_str).to_owned();
    let span = tracing::info_span!("request", request_id = id.0, method = %request.method(), route);
    let started = api.clock.now();
    let is_api = is_api(&request);

    let answer = async {
        request.extensions_mut().insert(id.clone());
        let handler = Handler { next, id: &id, is_api };
        let response = if is_api { counted(&api, request, handler).await } else { handler.run(request).await };
        let took_ms = (api.clock.now() - started).num_milliseconds();
        tracing::info!(status = response.status().as_u16(), took_ms, "answered");
        response
    };
    let mut response = answer.instrument(span).await;

    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&id.0) {
        headers.insert("x-request-id", id);
    }
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if api.origin.starts_with("https://") {
        headers.insert(STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
    }
    response
}

/// The routes inside the gate.
struct Handler<'a> {
    next: Next,
    id: &'a RequestId,
    is_api: bool,
}

impl Handler<'_> {
    /// Answers the request. A failure is answered with the request's id.
    async fn run(self, request: Request) -> Response {
        let response = self.next.run(request).await;
        if response.status() == StatusCode::INTERNAL_SERVER_ERROR { failed(self.id, self.is_api) } else { response }
    }
}

/// Counts and answers a request of the API. The answer says how many requests
/// are left.
async fn counted(api: &Api, mut request: Request, handler: Handler<'_>) -> Response {
    let now = api.clock.now();
    let (seen, to_touch) = see(api, Asked::read(&request), now).await;
    let budget = seen.budget;
    let origin = cors::allowed_origin(request.headers(), &api.allowed_origins);
    let is_preflight = origin.is_some() && cors::is_preflight(request.method(), request.headers());

    request.extensions_mut().insert(seen);
    let answer = async { if is_preflight { cors::preflight() } else { handler.run(request).await } };
    let (mut response, ()) = futures::join!(answer, touch(api, to_touch, now));

    let headers = response.headers_mut();
    // Caches must not keep answers: they are for one caller, and some hold a
    // token.
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    budget.unwrap_or_else(|| uncounted(api, now)).write(headers);
    if !api.allowed_origins.is_empty() {
        cors::vary(headers);
    }
    if let Some(origin) = origin {
        cors::let_read(headers, origin);
    }
    response
}

/// The hash of the token whose last use is to be written, if any.
type ToTouch = Option<String>;

/// Counts the request and looks its token up at the same time, which is possible
/// because the token carries the bucket it is counted in. A request without a
/// good token counts against its address.
async fn see(api: &Api, asked: Asked, now: DateTime<Utc>) -> (Seen, ToTouch) {
    let Asked { address, is_media, token } = asked;
    let mut to_touch = None;
    let (token, counted) = match token {
        Sent::Nothing => (Credential::Absent, None),
        Sent::Nonsense => (Credential::Rejected, None),
        Sent::Token(token) => {
            let hash = token.hash();
            let subject = format!("user#{}", token.bucket().get());
            let (found, counted) = futures::join!(api.store.token(&hash), api.store.count(&subject, is_media, now));
            match found {
                Ok(Some(token)) if now < token.expires_at => {
                    to_touch = is_to_touch(&token, now).then_some(hash);
                    (Credential::Good(Arc::new(token)), Some(counted))
                }
                Ok(_) => (Credential::Rejected, None),
                Err(error) => {
                    tracing::error!(%error, "a token could not be looked up");
                    (Credential::Unknown, Some(counted))
                }
            }
        }
    };
    let counted = match counted {
        Some(counted) => counted,
        None => api.store.count(&address.subject(), is_media, now).await,
    };
    let budget = budget(api, counted, is_media);
    (Seen { ip: address.0, at: now, token, budget }, to_touch)
}

fn budget(api: &Api, counted: Result<Counted, StorageError>, is_media: bool) -> Option<Budget> {
    match counted {
        Ok(counted) => Some(api.limits.budget(&counted, is_media)),
        Err(error) => {
            tracing::error!(%error, "a request could not be counted");
            None
        }
    }
}

/// The figures for the headers when the store could not count the request.
fn uncounted(api: &Api, now: DateTime<Utc>) -> Budget {
    let limit = api.limits.requests_per_minute;
    Budget { limit, remaining: 0, over: true, resets_at: now + TimeDelta::minutes(1) }
}

/// What decides how a request is counted.
struct Asked {
    address: ClientIp,
    is_media: bool,
    token: Sent,
}

impl Asked {
    fn read(request: &Request) -> Self {
        Self {
            address: ClientIp::of(request.extensions()),
            is_media: *request.method() == MEDIA.0 && request.uri().path() == MEDIA.1,
            token: sent_token(request.headers()),
        }
    }
}

enum Sent {
    Nothing,
    Nonsense,
    Token(AccessToken),
}

fn sent_token(headers: &HeaderMap) -> Sent {
    let Some(value) = headers.get(AUTHORIZATION) else {
        return Sent::Nothing;
    };
    let token = value
        .to_str()
        .ok()
        .and_then(|it| it.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .and_then(|(_, token)| AccessToken::parse(token.trim()));
    token.map_or(Sent::Nonsense, Sent::Token)
}

fn is_to_touch(token: &TokenGrant, now: DateTime<Utc>) -> bool {
    TimeDelta::days(1) <= now - token.last_used_at
}

/// Writes when a token was last used. The answer does not depend on it, so a
/// failure is only logged.
async fn touch(api: &Api, hash: ToTouch, now: DateTime<Utc>) {
    let Some(hash) = hash else { return };
    if let Err(error) = api.store.touch_token(&hash, now, now + api.token_lifetime).await {
        tracing::warn!(%error, "the use of a token could not be noted");
    }
}

/// The answer to a request that failed. It names the request's id, so that the
/// request can be found in the logs, and no other details.
fn failed(id: &RequestId, is_api: bool) -> Response {
    let text = format!("Something failed on our side. If it happens again, report request {}", id.0);
    if is_api { message(StatusCode::INTERNAL_SERVER_ERROR, text) } else { page::failed(&text) }
}

impl RequestId {
    fn random() -> Self {
        Self(format!("{:032x}", u128::from_le_bytes(token::random_bytes())))
    }
}

#[cfg(test)]
mod tests;
