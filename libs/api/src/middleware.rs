//! What happens around every route: the request is counted, and the response shows how many are
//! left.

mod counting;

use std::sync::Arc;

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use domain::media::FileAddress;
use http::header::{ACCEPT, CACHE_CONTROL};
use http::{HeaderValue, Method, StatusCode};

use self::counting::{CountedRequest, Counting, is_upload};
use crate::Api;
use crate::common_layers::{CommonLayers, RequestId, identified};
use crate::error::{ApiError, message};
use crate::limit::ClientIp;
use crate::limit::memory::Memory;
use crate::page::{self, PageError};
use crate::session::{FoundSession, SignedIn};
use crate::{cors, page::assets};

const API: &str = "/api/";

struct MiddlewareState {
    api: Api,
    memory: Memory,
}

/// Completes the routes of one or all functions: responses for unknown paths and wrong methods, and
/// the middleware around every request.
pub fn finish(router: Router, api: Api) -> Router {
    let front = from_fn_with_state(Arc::new(CommonLayers::from(&api)), identified);
    let limits = from_fn_with_state(Arc::new(MiddlewareState { api, memory: Memory::default() }), gate);
    // A router wraps every route with a copy of each layer and its state, so there is one layer
    // with shared states.
    router
        .merge(assets::router())
        .fallback(unknown_path)
        .method_not_allowed_fallback(method_not_allowed)
        .layer((front, limits))
}

async fn unknown_path(request: Request) -> Response {
    let wants_page =
        request.headers().get(ACCEPT).and_then(|it| it.to_str().ok()).is_some_and(|it| it.contains("text/html"));
    if wants_page && !is_api(&request) {
        return PageError::not_found().into_response();
    }
    message(StatusCode::NOT_FOUND, "There is no such path. The API is at /api/v1; see /docs")
}

async fn method_not_allowed() -> ApiError {
    ApiError::WrongMethod
}

fn is_api(request: &Request) -> bool {
    request.uri().path().starts_with(API)
}

/// Platforms fetch the files of all users from a few addresses, so these requests are not counted.
fn is_file(request: &Request) -> bool {
    request.uri().path().starts_with(FileAddress::PREFIX)
}

async fn gate(State(state): State<Arc<MiddlewareState>>, request: Request, next: Next) -> Response {
    let Some(id) = request.extensions().get::<RequestId>().cloned() else { return ApiError::Internal.into_response() };
    let is_api = is_api(&request);
    let handler = Handler { next, id: &id, is_api };
    if is_api {
        counted(&state, request, handler).await
    } else if assets::is_one(request.uri().path()) || is_file(&request) {
        handler.run(request).await
    } else {
        handle_page_request(&state, request, handler).await
    }
}

struct Handler<'a> {
    next: Next,
    id: &'a RequestId,
    is_api: bool,
}

impl Handler<'_> {
    /// The response to an internal error names the request id.
    async fn run(self, request: Request) -> Response {
        let response = self.next.run(request).await;
        if response.status() == StatusCode::INTERNAL_SERVER_ERROR {
            internal_error(self.id, self.is_api)
        } else {
            response
        }
    }
}

impl MiddlewareState {
    fn counting(&self, now: DateTime<Utc>) -> Counting<'_> {
        Counting { api: &self.api, memory: &self.memory, now }
    }
}

/// The response shows how many requests are left.
async fn counted(state: &MiddlewareState, mut request: Request, handler: Handler<'_>) -> Response {
    let (api, counter) = (&state.api, state.counting(state.api.clock.now()));
    // Boxed, because futures of the SDK are large.
    let (context, usage) = Box::pin(counter.count(CountedRequest::read(&request, &api.proxies))).await;
    let budget = context.budget;
    let origin = cors::allowed_origin(request.headers(), &api.allowed_origins);
    let is_preflight = origin.is_some() && cors::is_preflight(request.method(), request.headers());

    request.extensions_mut().insert(context);
    let handling = async { if is_preflight { cors::preflight() } else { handler.run(request).await } };
    let (mut response, ()) = futures::join!(handling, Box::pin(counter.note(usage)));

    let headers = response.headers_mut();
    // Caches must not keep responses: they are for one caller, and some contain a token.
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    budget.unwrap_or_else(|| counter.used_up()).write(headers);
    if !api.allowed_origins.is_empty() {
        cors::vary(headers);
    }
    if let Some(origin) = origin {
        cors::allow_read(headers, origin);
    }
    response
}

/// Counts and handles a request for a page or a form. It counts for its address, separately from
/// API requests, so that a polling device does not prevent its user from approving it. The session
/// is looked up at the same time.
async fn handle_page_request(state: &MiddlewareState, mut request: Request, handler: Handler<'_>) -> Response {
    let (api, counter) = (&state.api, state.counting(state.api.clock.now()));
    let subject = ClientIp::from_extensions(request.extensions()).page_subject();
    // Pages have no other methods, and the response to one costs nothing.
    let is_page_method = [Method::GET, Method::HEAD, Method::POST].contains(request.method());
    let is_page_route = is_page_method && request.extensions().get::<MatchedPath>().is_some();
    let is_media = is_upload(&request);
    let exceeded = state.memory.over(&subject, is_media, counter.now).filter(|_| is_page_route);
    let (budget, session) = if exceeded.is_some() {
        (exceeded, None)
    } else {
        let session = SignedIn::find(api, request.headers());
        let (budget, session) = futures::join!(Box::pin(counter.count_address(&subject, is_media)), session);
        // If the store failed, the page that needs the session looks it up again and reports the
        // error.
        (budget, session.ok())
    };

    let mut response = match budget {
        Some(budget) if budget.over && is_page_route => PageError::too_many(budget.wait(counter.now)).into_response(),
        _ => {
            if let Some(session) = session {
                request.extensions_mut().insert(FoundSession(session));
            }
            handler.run(request).await
        }
    };
    budget.unwrap_or_else(|| counter.used_up()).write(response.headers_mut());
    response
}

/// Names only the request id, by which the request can be found in the logs.
fn internal_error(id: &RequestId, is_api: bool) -> Response {
    let text = format!("Something failed on our side. If it happens again, report request {}", id.0);
    if is_api { message(StatusCode::INTERNAL_SERVER_ERROR, text) } else { page::failed(&text) }
}

#[cfg(test)]
mod tests;
