//! The tools of an assistant over HTTP: `POST /mcp`.
//!
//! Each request is independent and returns JSON, so that any instance can serve it. The function
//! reads no table and stores nothing: the tools call the deployment's own API, at the gateway, with
//! the assistant's token, and so can do only what that token permits. The API verifies the tokens
//! and counts the calls; it never calls this function.
//!
//! First, the API verifies the token (`admission`). It counts the request for the assistant's IP
//! address until the token is verified, and for its user afterwards.

mod admission;
pub mod config;
mod error;
#[cfg(test)]
mod tests;
mod timeouts;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use api::{ApiError, CommonLayers, ErrorBody, TrustedProxy};
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Json, Router};
use client::{BaseUrl, Client, RetryPolicy};
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::time::timeout_at;
use tools::Server;
use tower_http::cors::{AllowOrigin, CorsLayer};

use self::admission::{Admission, Caller, Verdict, admit};
use self::config::Config;
pub use self::error::McpError;
pub use self::timeouts::CALL_TIMEOUT;
use self::timeouts::{CONNECT_TIMEOUT, MESSAGE_TIMEOUT};

/// In bytes. Larger than the largest body that the API accepts.
const MAX_BYTES: usize = 300 * 1024;

/// In bytes.
const MAX_ERROR: usize = 16 * 1024;

/// Headers that scripts may read.
const HEADERS_FOR_SCRIPTS: [HeaderName; 6] = [
    WWW_AUTHENTICATE,
    RETRY_AFTER,
    HeaderName::from_static("x-ratelimit-limit"),
    HeaderName::from_static("x-ratelimit-remaining"),
    HeaderName::from_static("x-ratelimit-reset"),
    HeaderName::from_static("x-request-id"),
];

/// Further headers that scripts send; the last ones are of the protocol.
const HEADERS_OF_SCRIPTS: [HeaderName; 5] = [
    AUTHORIZATION,
    CONTENT_TYPE,
    HeaderName::from_static("mcp-protocol-version"),
    HeaderName::from_static("mcp-method"),
    HeaderName::from_static("mcp-name"),
];

#[derive(Clone, Debug)]
pub struct App {
    /// Created for the first call, because reading the machine's root certificates takes longer
    /// than the rest of the start.
    http: Arc<OnceLock<reqwest::Client>>,
    base: BaseUrl,
    origin: String,
    /// Proves to the API that the forwarded IP address is genuine.
    proof: TrustedProxy,
    front: CommonLayers,
    /// Points an assistant to the metadata for getting a token.
    challenge: HeaderValue,
    config: StreamableHttpServerConfig,
    cors: CorsLayer,
    within: Duration,
}

impl App {
    pub fn new(Config { origin, api_origin, proof, front, allowed_origins }: Config) -> Result<Self, McpError> {
        let base = BaseUrl::parse(&api_origin)?;
        let metadata = format!("Bearer resource_metadata=\"{origin}/.well-known/oauth-protected-resource/mcp\"");
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(MAX_BYTES)
            // Behind a proxy, the gateway serves only its own host names; the local stack checks
            // the host itself.
            .disable_allowed_hosts()
            .with_allowed_origins(allowed_origins.iter().map(String::as_str).chain([origin.as_str()]).map(with_port))
            .enforce_origin_validation();
        let challenge = HeaderValue::try_from(metadata).map_err(McpError::Origin)?;
        let cors = cors(&allowed_origins);
        Ok(Self { http: Arc::default(), base, origin, proof, front, challenge, config, cors, within: MESSAGE_TIMEOUT })
    }

    fn http(&self) -> reqwest::Result<&reqwest::Client> {
        if let Some(http) = self.http.get() {
            return Ok(http);
        }
        // A token is sent only to its own deployment, so redirects are not followed.
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        let http = http.connect_timeout(CONNECT_TIMEOUT).build()?;
        // If another call has stored a client meanwhile, this one is dropped; both are equal.
        Ok(self.http.get_or_init(|| http))
    }

    fn unauthenticated(&self) -> Response {
        let mut response = ApiError::Unauthenticated.into_response();
        response.headers_mut().insert(WWW_AUTHENTICATE, self.challenge.clone());
        response
    }
}

pub fn router(app: App) -> Router {
    let (cors, front) = (app.cors.clone(), app.front.clone());
    let routes = Router::new()
        .route("/mcp", post(call))
        .method_not_allowed_fallback(|| async { ApiError::WrongMethod })
        .layer(cors)
        .layer(from_fn_with_state(app.clone(), admit))
        .with_state(app);
    front.before(routes)
}

fn cors(allowed_origins: &[String]) -> CorsLayer {
    let allowed = allowed_origins.to_vec();
    // Compared as the API does; the layer's own list would panic on `*`.
    let is_allowed = move |origin: &HeaderValue, _: &Parts| allowed.iter().any(|it| it.as_bytes() == origin.as_bytes());
    CorsLayer::new()
        .allow_origin(AllowOrigin::predicate(is_allowed))
        .allow_methods([Method::POST])
        .allow_headers(HEADERS_OF_SCRIPTS)
        .expose_headers(HEADERS_FOR_SCRIPTS)
        .max_age(Duration::from_mins(10))
}

async fn call(
    State(app): State<App>,
    Extension(Admission { verdict, ends: deadline }): Extension<Admission>,
    mut request: Request,
) -> Response {
    let Caller { token, headers } = match verdict {
        Verdict::Admitted(caller) => caller,
        Verdict::Unauthenticated => return app.unauthenticated(),
        Verdict::Refused(error) => return error.into_response(),
    };
    // The SDK forwards a request's headers and does not need this one.
    request.headers_mut().remove(AUTHORIZATION);
    let Ok(http) = app.http() else { return ApiError::Internal.into_response() };
    let retry_policy = RetryPolicy { timeout: CALL_TIMEOUT, ..RetryPolicy::NONE };
    let client =
        Client::new(http.clone(), app.base.clone(), Some(token)).with_headers(headers).with_retry_policy(retry_policy);
    let server = Server::new(client, app.origin.clone());
    let never = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(server.clone()), never, app.config.clone());
    let Ok(response) = timeout_at(deadline, service.handle(request)).await else {
        let text = "The API did not respond in time, and the outcome is unknown. Check whether the call took effect \
                    before you repeat it, or repeat it unchanged with the same idempotency_key.";
        return message(StatusCode::GATEWAY_TIMEOUT, text.to_owned());
    };
    with_error_body(response.map(Body::new)).await
}

/// Errors become our form; protocol messages stay as they are.
async fn with_error_body(response: Response) -> Response {
    let status = response.status();
    let is_json = |it: &HeaderValue| it.as_bytes().starts_with(b"application/json");
    if !(status.is_client_error() || status.is_server_error())
        || response.headers().get(CONTENT_TYPE).is_some_and(is_json)
    {
        return response;
    }
    let text = to_bytes(response.into_body(), MAX_ERROR).await.unwrap_or_default();
    message(status, String::from_utf8_lossy(&text).into_owned())
}

fn message(status: StatusCode, text: String) -> Response {
    (status, Json(ErrorBody { message: Some(text), ..ErrorBody::default() })).into_response()
}

/// An origin with its port, because without one any port would match.
fn with_port(origin: &str) -> String {
    let has_port = origin.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    match origin.split_once("://") {
        Some(("https", _)) if !has_port => format!("{origin}:443"),
        Some(("http", _)) if !has_port => format!("{origin}:80"),
        _ => origin.to_owned(),
    }
}
