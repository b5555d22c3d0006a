//! A small server with scripted responses that records its requests.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use egress::AddressPolicy;
use futures::stream;
use serde_json::{Map, Value};

use crate::app::{AppCredentials, AppSource};
use crate::dependency_error::DependencyError;
use crate::http_clients::HttpClients;
use crate::oauth2::{Dialect, Endpoints, OAuth2};

#[derive(Clone, Default)]
pub(super) struct Server {
    pub(super) url: String,
    answers: Arc<Mutex<VecDeque<(u16, Value)>>>,
    saw: Arc<Mutex<Vec<(String, Value)>>>,
    refused: Arc<AtomicUsize>,
}

impl Server {
    pub(super) async fn start() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self { url: format!("http://{}", listener.local_addr().unwrap()), ..Self::default() };
        let routes = Router::new().fallback(respond).with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        server
    }

    /// Adds a response. When none is left, the connection is cut.
    pub(super) fn respond_with(&self, status: u16, body: Value) {
        self.answers.lock().unwrap().push_back((status, body));
    }

    /// Method and path of each request, with its parameters.
    pub(super) fn requests(&self) -> Vec<(String, Value)> {
        self.saw.lock().unwrap().clone()
    }

    pub(super) fn refused_secrets(&self) -> usize {
        self.refused.load(Ordering::SeqCst)
    }

    pub(super) fn oauth(&self, dialect: &'static Dialect) -> OAuth2 {
        let at = |path: &str| format!("{}/{path}", self.url);
        let endpoints = Endpoints {
            authorization: at("authorize?from=here"),
            token: at("token"),
            lengthening: Some(at("lengthen")),
            refresh: Some(at("refresh")),
            revocation: Some(at("revoke")),
        };
        OAuth2::new(HttpClients::new(AddressPolicy::PublicOnly), Arc::new(self.clone()), dialect, endpoints)
    }
}

#[async_trait::async_trait]
impl AppSource for Server {
    async fn credentials(&self) -> Result<Arc<AppCredentials>, DependencyError> {
        Ok(Arc::new(AppCredentials::new("us:1", "our secret+")))
    }

    fn report_refused(&self, _: &Arc<AppCredentials>) {
        self.refused.fetch_add(1, Ordering::SeqCst);
    }
}

async fn respond(State(server): State<Server>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let header = |name: &str| head.headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default().to_owned();
    let body = to_bytes(body, 100_000).await.unwrap();
    let mut parameters = Map::new();
    if let Some(pair) = header("authorization").strip_prefix("Basic ") {
        parameters
            .insert("authorization".to_owned(), String::from_utf8(STANDARD.decode(pair).unwrap()).unwrap().into());
    }
    let query = head.uri.query().unwrap_or_default().as_bytes();
    for (name, value) in [query, &body].into_iter().flat_map(url::form_urlencoded::parse) {
        let duplicate = parameters.insert(name.to_string(), value.into());
        assert!(duplicate.is_none(), "{name} is there twice");
    }
    server.saw.lock().unwrap().push((format!("{} {}", head.method, head.uri.path()), parameters.into()));
    let Some((status, body)) = server.answers.lock().unwrap().pop_front() else {
        let cut = std::io::Error::other("cut");
        return Body::from_stream(stream::once(async { Err::<bytes::Bytes, _>(cut) })).into_response();
    };
    let status = StatusCode::from_u16(status).unwrap();
    (status, [("retry-after", "30")], axum::Json(body)).into_response()
}
