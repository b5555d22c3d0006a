//! The tools of an assistant over HTTP: `POST /mcp`.
//!
//! Each request stands for itself and is answered with JSON, so that any
//! instance can answer it. It reaches no table and keeps nothing: the tools call
//! the deployment's own API at its public address, with the token that the
//! assistant sent, and so can do what that token can do and nothing else. The API
//! counts those calls, and knows the tokens; nothing of it calls this function.

pub mod config;
#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use client::{Base, Client, InvalidBase, Patience};
use cloud::mcp_proof::McpProof;
use http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HeaderName, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use secrecy::SecretString;
use thiserror::Error;
use tools::Server;
use tower_http::cors::{AllowOrigin, CorsLayer};

/// The largest message, in bytes. The largest body that the API takes fits into it.
const MAX_BYTES: usize = 300 * 1024;

/// How long the API may take for one call. It fetches a file within 25 s; the
/// gateway waits for 30 s.
pub const LONGEST: Duration = Duration::from_secs(26);

/// How long all calls for one message may take together.
const LONGEST_TOGETHER: Duration = Duration::from_secs(28);

const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// What scripts send beside what any request has: the last ones are of the protocol.
const HEADERS_OF_SCRIPTS: [HeaderName; 5] = [
    AUTHORIZATION,
    CONTENT_TYPE,
    HeaderName::from_static("mcp-protocol-version"),
    HeaderName::from_static("mcp-method"),
    HeaderName::from_static("mcp-name"),
];

/// What the handler needs, the same for every request.
#[derive(Clone, Debug)]
pub struct App {
    /// Made for the first call that has a token: it reads all of the machine's root
    /// certificates, which takes longer than the rest of the start.
    client: Arc<OnceLock<Client>>,
    base: Base,
    /// What shows the API that a call comes from here.
    proof: HeaderValue,
    /// Where an assistant learns how to get a token.
    challenge: HeaderValue,
    config: StreamableHttpServerConfig,
    cors: CorsLayer,
    /// How long one message may take.
    within: Duration,
}

/// Why there is no function.
#[derive(Debug, Error)]
pub enum AppError {
    /// The origin is none.
    #[error("the origin cannot be called: {0}")]
    Origin(#[from] InvalidBase),
    /// It cannot be named in a header.
    #[error("the origin cannot be sent: {0}")]
    Header(#[from] http::header::InvalidHeaderValue),
}

impl App {
    /// For the deployment at this origin, to which calls are proven by `proof`.
    /// Pages of `allowed_origins` may call it beside its own.
    pub fn new(origin: &str, allowed_origins: &[String], proof: &McpProof) -> Result<Self, AppError> {
        let base = Base::parse(origin)?;
        let metadata = format!("Bearer resource_metadata=\"{origin}/.well-known/oauth-protected-resource/mcp\"");
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(MAX_BYTES)
            // The gateway answers at its own names only, behind a proxy under another
            // one than the service's; the local stack looks at the host itself.
            .disable_allowed_hosts()
            .with_allowed_origins(allowed_origins.iter().map(String::as_str).chain([origin]).map(with_port))
            .enforce_origin_validation();
        let challenge = HeaderValue::try_from(metadata)?;
        let cors = cors(allowed_origins);
        let proof = proof.header_value()?;
        Ok(Self { client: Arc::default(), base, proof, challenge, config, cors, within: LONGEST_TOGETHER })
    }

    fn client(&self) -> reqwest::Result<&Client> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // A token goes to the address that it was meant for, and nowhere else.
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        let proof = HeaderMap::from_iter([(McpProof::HEADER, self.proof.clone())]);
        let http = http.connect_timeout(CONNECT_TIMEOUT).default_headers(proof).build()?;
        let patience = Patience { answer_within: LONGEST, ..Patience::NONE };
        let client = Client::new(http, self.base.clone(), None).with_patience(patience);
        // Where another call has stored one meanwhile, this one is dropped: both are alike.
        Ok(self.client.get_or_init(|| client))
    }

    fn unauthenticated(&self) -> Response {
        let text = "Send a valid token: Authorization: Bearer <token>";
        let mut response = (StatusCode::UNAUTHORIZED, text).into_response();
        response.headers_mut().insert(WWW_AUTHENTICATE, self.challenge.clone());
        response
    }
}

/// The routes.
pub fn router(app: App) -> Router {
    let cors = app.cors.clone();
    Router::new().route("/mcp", post(call)).layer(cors).with_state(app)
}

/// Lets the scripts of these origins send messages and read the answers.
fn cors(allowed_origins: &[String]) -> CorsLayer {
    let allowed = allowed_origins.to_vec();
    // As the API compares them: its layer's own list would take a `*` for a reason to panic.
    let is_allowed = move |origin: &HeaderValue, _: &Parts| allowed.iter().any(|it| it.as_bytes() == origin.as_bytes());
    CorsLayer::new()
        .allow_origin(AllowOrigin::predicate(is_allowed))
        .allow_methods([Method::POST])
        .allow_headers(HEADERS_OF_SCRIPTS)
        .expose_headers([WWW_AUTHENTICATE])
        .max_age(Duration::from_mins(10))
}

/// One message of an assistant.
async fn call(State(app): State<App>, request: Request) -> Response {
    let mut response = match bearer(request.headers()) {
        Some(token) => answer(&app, token, request).await,
        None => app.unauthenticated(),
    };
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

async fn answer(app: &App, token: SecretString, mut request: Request) -> Response {
    // The SDK hands a request's headers on, and has no use for this one.
    request.headers_mut().remove(AUTHORIZATION);
    let client = match app.client() {
        Ok(client) => client.clone().with_token(token),
        Err(error) => {
            tracing::error!(error = &error as &dyn std::error::Error, "no HTTP client can be made");
            return (StatusCode::INTERNAL_SERVER_ERROR, "The service cannot call its API; try again later")
                .into_response();
        }
    };
    let server = Server::new(client).proving_the_token();
    let tools = server.clone();
    let never = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(tools.clone()), never, app.config.clone());
    let Ok(response) = tokio::time::timeout(app.within, service.handle(request)).await else {
        let text = "No answer came in time, and what was asked may have happened. Look before you ask again, or send \
            the very same again with the same idempotency_key.";
        return (StatusCode::GATEWAY_TIMEOUT, text).into_response();
    };
    // Assistants learn by the status that they have to ask their person again.
    if server.was_refused() { app.unauthenticated() } else { response.map(Body::new) }
}

fn bearer(headers: &HeaderMap) -> Option<SecretString> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then(|| token.into())
}

/// An origin with its port: without one, any port would do.
fn with_port(origin: &str) -> String {
    let has_port = origin.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    match origin.split_once("://") {
        Some(("https", _)) if !has_port => format!("{origin}:443"),
        Some(("http", _)) if !has_port => format!("{origin}:80"),
        _ => origin.to_owned(),
    }
}
