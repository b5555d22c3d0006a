//! What a request passes before it reaches a handler: the proxy in front of the
//! server, the troubles that a test has ordered, and rate limits.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Response};
use chrono::SecondsFormat;
use futures::StreamExt;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use platforms::conformance::network::{Call, Trouble};

use super::account::grant;
use super::flavour::Reset;
use super::instance::limits::{PER_ACCOUNT, PER_ADDRESS, PER_TOKEN, Standing, UPLOADS};
use super::instance::{Here, Instance};
use super::media;
use super::oauth::{invalid_grant, worded};
use super::params::Params;
use super::refusal::Refusal;
use crate::wire::Cut;

/// Every request passes through here. Answers get the date of the test's clock.
pub(crate) async fn pass(State(here): Here, request: Request, next: Next) -> Response {
    let mut response = let_in(&here, request, next).await;
    if !here.differences.says_why && !response.status().is_success() && !response.status().is_redirection() {
        *response.body_mut() = Body::empty();
        response.headers_mut().remove(header::CONTENT_LENGTH);
    }
    if !here.differences.tells_date {
        return response;
    }
    let date = here.clock.now().format("%a, %d %b %Y %H:%M:%S GMT").to_string();
    if let Ok(date) = HeaderValue::try_from(date) {
        response.headers_mut().insert(header::DATE, date);
    }
    response
}

async fn let_in(here: &Arc<Instance>, request: Request, next: Next) -> Response {
    let request = match arrive(here, request).await {
        Ok(request) => request,
        Err(response) => return response,
    };
    let (call, request) = match call(request).await {
        Ok(arrived) => arrived,
        Err(cut) => return cut.into_response(),
    };
    let trouble = call.and_then(|it| here.memory().troubles.meet(it));
    match (call, trouble) {
        (_, Some(Trouble::CutBefore)) => Cut.into_response(),
        (_, Some(Trouble::Broken)) => broken(),
        (_, Some(Trouble::Unavailable)) => Refusal::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "There was a temporary problem serving your request, please try again",
        )
        .into_response(),
        (_, Some(Trouble::Limited { retry_after })) => {
            let now = here.clock.now();
            too_many(Standing { limit: PER_TOKEN.1, remaining: 0, reset: now + retry_after }, here.differences.reset)
        }
        (_, Some(Trouble::Gibberish)) => Html("<!DOCTYPE html>\n<html><body>Welcome!</body></html>\n").into_response(),
        (Some(Call::Process), Some(Trouble::Unwanted)) => {
            let id = request.uri().path().rsplit('/').next().unwrap_or_default();
            if let Some(medium) = media::find(&mut here.memory(), id, here.clock.now()) {
                medium.failed = true;
            }
            limited(here, request, next).await
        }
        (Some(call @ (Call::Exchange | Call::Refresh)), Some(Trouble::Unwanted)) => {
            worded(here, unwanted(call)).into_response()
        }
        (Some(call), Some(Trouble::Unwanted)) => unwanted(call).into_response(),
        (_, Some(Trouble::LoseAnswer)) => {
            limited(here, request, next).await;
            Cut.into_response()
        }
        (_, Some(Trouble::BrokenAfter)) => {
            limited(here, request, next).await;
            broken()
        }
        (_, None | Some(Trouble::Unwanted)) => limited(here, request, next).await,
    }
}

/// Reads the whole request, as the proxy in front of a server does, and refuses what
/// is too large for it.
async fn arrive(here: &Instance, request: Request) -> Result<Request, Response> {
    let (head, body) = request.into_parts();
    let limit = here.differences.video_limit.max(here.differences.image_limit);
    let length = head.headers.get(header::CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|it| limit < it) {
        // Read to the end, because a client that is still writing when the connection
        // is closed would not see the answer.
        let mut rest = body.into_data_stream();
        while let Some(Ok(_)) = rest.next().await {}
        return Err(Refusal::page(StatusCode::PAYLOAD_TOO_LARGE, "413 Request Entity Too Large").into_response());
    }
    // The client went away; nobody reads this answer.
    let body = to_bytes(body, usize::MAX).await.map_err(|_| Cut.into_response())?;
    Ok(Request::from_parts(head, Body::from(body)))
}

/// What kind of call this is. Exchange and renewal differ only in their parameters.
async fn call(request: Request) -> Result<(Option<Call>, Request), Cut> {
    let path: Vec<&str> = request.uri().path().split('/').skip(1).collect();
    let call = match (request.method(), path.as_slice()) {
        (&Method::POST, ["oauth", "token"]) => return exchange_or_refresh(request).await,
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
        _ => None,
    };
    Ok((call, request))
}

async fn exchange_or_refresh(request: Request) -> Result<(Option<Call>, Request), Cut> {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.map_err(|_| Cut)?;
    let params = Params::read(head.uri.query().unwrap_or_default(), &head.headers, &body).unwrap_or_default();
    let call = match params.text("grant_type").as_deref() {
        Some("refresh_token") => Some(Call::Refresh),
        Some("client_credentials") => None,
        _ => Some(Call::Exchange),
    };
    Ok((call, Request::from_parts(head, Body::from(body))))
}

/// What an uncaught error in the server looks like.
fn broken() -> Response {
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error").into_response()
}

fn unwanted(call: Call) -> Refusal {
    match call {
        Call::Exchange | Call::Refresh => invalid_grant(),
        Call::Revoke => {
            Refusal::oauth(StatusCode::FORBIDDEN, "unauthorized_client", "You are not authorized to revoke this token")
        }
        Call::Upload => Refusal::unprocessable("File type of uploaded media could not be verified"),
        Call::Process => Refusal::unprocessable("Error processing thumbnail for uploaded media"),
        Call::Publish => Refusal::invalid("Text contained a disallowed hashtag: lighthouse"),
        Call::LookUp => Refusal::not_found(),
    }
}

/// Applies the rate limits of the API, and tells them in the answer.
async fn limited(here: &Arc<Instance>, request: Request, next: Next) -> Response {
    if !request.uri().path().starts_with("/api/") {
        return next.run(request).await;
    }
    let (nearest, exceeded) = count(here, &request);
    if exceeded {
        return too_many(nearest, here.differences.reset);
    }
    let mut response = next.run(request).await;
    tell(response.headers_mut(), nearest, here.differences.reset);
    response
}

/// The limit that this request comes nearest to, and whether it goes beyond it.
fn count(here: &Instance, request: &Request) -> (Standing, bool) {
    let now = here.clock.now();
    let mut memory = here.memory();
    let token = grant(&memory, request.headers()).map(|it| it.access_token.clone());
    let mut limits = match &token {
        Some(token) if !here.differences.limits_by_address => vec![(PER_ACCOUNT, "us"), (PER_TOKEN, token)],
        _ => vec![(PER_ADDRESS, "loopback")],
    };
    let path = request.uri().path();
    let is_upload = request.method() == Method::POST && (path == "/api/v1/media" || path == "/api/v2/media");
    if is_upload && token.is_some() && !here.differences.limits_by_address {
        limits.push((UPLOADS, "us"));
    }
    let standings: Vec<_> = limits.into_iter().map(|(limit, whose)| memory.limits.count(limit, whose, now)).collect();
    standings.into_iter().min_by_key(|(it, exceeded)| (!exceeded, it.remaining)).expect("every request has a limit")
}

fn too_many(standing: Standing, reset: Reset) -> Response {
    let mut response = Refusal::new(StatusCode::TOO_MANY_REQUESTS, "Too many requests").into_response();
    tell(response.headers_mut(), standing, reset);
    response
}

fn tell(headers: &mut HeaderMap, standing: Standing, reset: Reset) {
    let reset = match reset {
        Reset::Timestamp => standing.reset.to_rfc3339_opts(SecondsFormat::Micros, true),
        Reset::UnixSeconds => standing.reset.timestamp().to_string(),
    };
    let values = [
        ("x-ratelimit-limit", standing.limit.to_string()),
        ("x-ratelimit-remaining", standing.remaining.to_string()),
        ("x-ratelimit-reset", reset),
    ];
    for (name, value) in values {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
}
