//! Headers of every response: request id, rate limit, and security headers for browsers.

use std::sync::Arc;

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use domain::clock::Clock;
use domain::token;
use http::HeaderValue;
use http::header::{STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS};
use tracing::Instrument;

use crate::limit::{Budget, ClientIp};
use crate::{Api, RateLimits, TrustedProxy};

/// A request extension. The id is in the header `x-request-id` and in the logs.
#[derive(Clone, Debug)]
pub struct RequestId(pub String);

#[derive(Clone, Debug)]
pub struct CommonLayers {
    pub clock: Clock,
    /// Whether the service is reached only by https.
    pub is_encrypted: bool,
    pub limits: RateLimits,
    /// The service trusts their header with the client address.
    pub proxies: Vec<TrustedProxy>,
}

impl From<&Api> for CommonLayers {
    fn from(api: &Api) -> Self {
        Self {
            clock: api.clock.clone(),
            is_encrypted: api.origin.starts_with("https://"),
            limits: api.limits,
            proxies: api.proxies.clone(),
        }
    }
}

impl CommonLayers {
    pub fn before(self, router: Router) -> Router {
        router.layer(from_fn_with_state(Arc::new(self), identified))
    }
}

pub(crate) async fn identified(State(layers): State<Arc<CommonLayers>>, mut request: Request, next: Next) -> Response {
    let client_address = layers.proxies.iter().find_map(|it| it.client_address(request.headers()));
    let extensions = request.extensions_mut();
    if let Some(address) = client_address {
        extensions.insert(ClientIp(address));
    }
    let id = extensions.get().cloned().unwrap_or_else(RequestId::random);
    extensions.insert(id.clone());
    let route = request.extensions().get().map_or("unknown", MatchedPath::as_str).to_owned();
    let span = tracing::info_span!("request", request_id = id.0, method = %request.method(), route);
    let started = layers.clock.now();

    let handling = async {
        let response = next.run(request).await;
        let took_ms = (layers.clock.now() - started).num_milliseconds();
        tracing::info!(status = response.status().as_u16(), took_ms, "answered");
        response
    };
    let mut response = handling.instrument(span).await;

    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&id.0) {
        headers.insert("x-request-id", id);
    }
    if !headers.contains_key(Budget::LIMIT) {
        layers.limits.untouched(layers.clock.now()).write(headers);
    }
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if layers.is_encrypted {
        headers.insert(STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
    }
    response
}

impl RequestId {
    fn random() -> Self {
        Self(token::random_hex())
    }
}
