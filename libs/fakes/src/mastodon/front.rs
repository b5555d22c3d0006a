//! Middleware: the server's proxy, injected faults and rate limits.

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use chrono::{SecondsFormat, TimeDelta};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};

use super::api_error::ApiError;
use super::flavor::Reset;
use super::instance::{Instance, InstanceState};
use super::media;
use super::oauth::{self, with_server_message};
use crate::conformance::fake_platform::{Call, InjectedFault};
use crate::fake::front::FaultInjection;
use crate::fake::limits::{Limit, LimitUsage, WindowStart};
use crate::fake::oauth::Fault;
use crate::fake::params::Params;

const PER_ACCOUNT: Limit = limit_per("account", 1500, 5);
const PER_TOKEN: Limit = limit_per("token", 300, 5);
const PER_ADDRESS: Limit = limit_per("address", 300, 5);
const UPLOADS: Limit = limit_per("uploads", 30, 30);
const APPS: Limit = limit_per("apps", 5, 10);

const fn limit_per(name: &'static str, max: u64, minutes: i64) -> Limit {
    Limit { name, max, period: TimeDelta::minutes(minutes), window_start: WindowStart::Clock }
}

/// The middleware of every request. Responses get the date of the test's clock.
pub(crate) async fn pass(State(instance): InstanceState, request: Request, next: Next) -> Response {
    let mut response = match read_request(&instance, request).await {
        Ok(request) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    let is_refusal = !response.status().is_success() && !response.status().is_redirection();
    // A page comes from an intermediary: snac has no error pages.
    let is_page =
        response.headers().get(header::CONTENT_TYPE).is_some_and(|it| it.as_bytes().starts_with(b"text/html"));
    if !instance.differences.says_why && is_refusal && !is_page {
        *response.body_mut() = Body::empty();
        response.headers_mut().remove(header::CONTENT_LENGTH);
    }
    if !instance.differences.tells_date {
        return response;
    }
    let date = instance.clock.now().format("%a, %d %b %Y %H:%M:%S GMT").to_string();
    if let Ok(date) = HeaderValue::try_from(date) {
        response.headers_mut().insert(header::DATE, date);
    }
    response
}

/// Reads the whole request, as a server's proxy does, and refuses bodies that are too large.
async fn read_request(instance: &Instance, request: Request) -> Result<Request, ApiError> {
    let (head, body) = request.into_parts();
    let limit = instance.differences.video_limit.max(instance.differences.image_limit);
    let length = head.headers.get(header::CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse::<usize>().ok());
    // Read to the end, because a client that is still writing when the connection closes does not
    // see the response.
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    if length.is_some_and(|it| limit < it) {
        return Err(ApiError::page(StatusCode::PAYLOAD_TOO_LARGE, "413 Request Entity Too Large"));
    }
    Ok(Request::from_parts(head, Body::from(body)))
}

impl FaultInjection for Instance {
    const TRANSLATED: &'static [&'static str] = &["/error", "/error_description"];

    /// An exchange and a refresh differ only in their parameters.
    fn call(&self, head: &Parts, body: &[u8]) -> Option<Call> {
        let path: Vec<&str> = head.uri.path().split('/').skip(1).collect();
        match (&head.method, path.as_slice()) {
            (&Method::POST, ["oauth", "token"]) => {
                let query = head.uri.query().unwrap_or_default();
                let params = Params::read(query, &head.headers, body).unwrap_or_default();
                match params.text("grant_type").as_deref() {
                    Some("refresh_token") => Some(Call::Refresh),
                    Some("client_credentials") => None,
                    _ => Some(Call::Exchange),
                }
            }
            (&Method::POST, ["oauth", "revoke"]) => Some(Call::Revoke),
            (&Method::POST, ["api", "v1" | "v2", "media"]) => Some(Call::Upload),
            (&Method::GET, ["api", "v1", "media", _]) => Some(Call::Process),
            (&Method::POST, ["api", "v1", "statuses"]) => Some(Call::Publish),
            (
                &Method::GET,
                ["api", "v1", "accounts", _, "statuses"]
                | ["api", "v1", "statuses", _]
                | ["api", "v1", "statuses", _, "source"],
            ) => Some(Call::LookUp),
            (&Method::GET, ["api", "v1", "accounts", "verify_credentials"]) => Some(Call::Account),
            _ => None,
        }
    }

    fn respond(&self, call: Call, fault: InjectedFault) -> Response {
        match fault {
            InjectedFault::RateLimited { retry_after } => {
                let ends = self.clock.now() + retry_after;
                rate_limited(LimitUsage::none_until(PER_TOKEN.max, PER_TOKEN.period, ends), self.differences.reset)
            }
            InjectedFault::Unavailable => ApiError::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "There was a temporary problem serving your request, please try again",
            )
            .into_response(),
            InjectedFault::Refused if matches!(call, Call::Exchange | Call::Refresh) => {
                with_server_message(self, refused_content(call)).into_response()
            }
            InjectedFault::Refused => refused_content(call).into_response(),
            // The response after an uncaught error in the server.
            _ => ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error").into_response(),
        }
    }

    fn inject_fault(&self, head: &Parts) {
        let id = head.uri.path().rsplit('/').next().unwrap_or_default();
        if let Some(medium) = media::find(&mut self.memory(), id, self.clock.now()) {
            medium.failed = true;
        }
    }
}

fn refused_content(call: Call) -> ApiError {
    match call {
        Call::Exchange | Call::Refresh => ApiError::from(&Fault::InvalidGrant("")),
        Call::Revoke => oauth::revocation_denied(),
        Call::Upload => ApiError::unprocessable("File type of uploaded media could not be verified"),
        Call::Process => ApiError::unprocessable("Error processing thumbnail for uploaded media"),
        Call::Publish => ApiError::invalid("Text contained a disallowed hashtag: lighthouse"),
        Call::LookUp | Call::Account => ApiError::not_found(),
    }
}

/// Applies the rate limits of the API, and adds their headers to the response.
pub(crate) async fn limit(State(instance): InstanceState, request: Request, next: Next) -> Response {
    if !request.uri().path().starts_with("/api/") {
        return next.run(request).await;
    }
    let nearest = count(&instance, &request);
    if nearest.is_exceeded {
        return rate_limited(nearest, instance.differences.reset);
    }
    let mut response = next.run(request).await;
    add_limit_headers(response.headers_mut(), nearest, instance.differences.reset);
    response
}

/// The usage of the limit that has the fewest calls left.
fn count(instance: &Instance, request: &Request) -> LimitUsage {
    let now = instance.clock.now();
    let mut memory = instance.memory();
    let token = memory.oauth.find_by_bearer(request.headers()).map(|it| it.access_token.clone());
    let mut limits = match &token {
        Some(token) if !instance.differences.limits_by_address => vec![(PER_ACCOUNT, "us"), (PER_TOKEN, token)],
        _ => vec![(PER_ADDRESS, "loopback")],
    };
    let path = request.uri().path();
    let is_upload = request.method() == Method::POST && (path == "/api/v1/media" || path == "/api/v2/media");
    if is_upload && token.is_some() && !instance.differences.limits_by_address {
        limits.push((UPLOADS, "us"));
    }
    if request.method() == Method::POST && path == "/api/v1/apps" && !instance.differences.limits_by_address {
        limits.push((APPS, "loopback"));
    }
    let standings: Vec<_> =
        limits.into_iter().map(|(limit, subject)| memory.limits.count(limit, subject, 1, now)).collect();
    standings.into_iter().min_by_key(|it| (!it.is_exceeded, it.remaining)).expect("every request has a limit")
}

fn rate_limited(usage: LimitUsage, reset: Reset) -> Response {
    let mut response = ApiError::new(StatusCode::TOO_MANY_REQUESTS, "Too many requests").into_response();
    add_limit_headers(response.headers_mut(), usage, reset);
    response
}

fn add_limit_headers(headers: &mut HeaderMap, usage: LimitUsage, reset: Reset) {
    let reset = match reset {
        Reset::Timestamp => usage.resets_at.to_rfc3339_opts(SecondsFormat::Micros, true),
        Reset::UnixSeconds => usage.resets_at.timestamp().to_string(),
    };
    let values = [
        ("x-ratelimit-limit", usage.max.to_string()),
        ("x-ratelimit-remaining", usage.remaining.to_string()),
        ("x-ratelimit-reset", reset),
    ];
    for (name, value) in values {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
}
