//! A server that accepts what the OpenAPI document describes, and responds with samples.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use client::{BaseUrl, Client, RetryPolicy};
use serde_json::Value;

use super::sample::{Operation, Size, document, operations, schema_samples};

type CalledOperations = Arc<Mutex<Vec<String>>>;

pub(crate) struct Server {
    called: CalledOperations,
    origin: String,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let called = CalledOperations::default();
        let router = Router::new().fallback(respond).with_state(Arc::clone(&called));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { called, origin }
    }

    pub(crate) fn client(&self) -> Client {
        let client = Client::new(reqwest::Client::new(), BaseUrl::parse(&self.origin).unwrap(), Some("sp_test".into()));
        client.with_retry_policy(RetryPolicy::NONE)
    }

    pub(crate) fn called(&self) -> Vec<String> {
        self.called.lock().unwrap().clone()
    }
}

async fn respond(State(called): State<CalledOperations>, request: Request) -> Response {
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let found = operations().into_iter().find(|it| matches_operation(it, &method, uri.path()));
    let Some(operation) = found else { return (StatusCode::NOT_FOUND, format!("{method} {uri}")).into_response() };
    assert_eq!(parts.headers["authorization"], "Bearer sp_test");
    if let Some(why) = undescribed(&operation, &uri, &body, &parts.headers) {
        return (StatusCode::BAD_REQUEST, why).into_response();
    }
    let (status, response) = operation.description["responses"]
        .as_object()
        .and_then(|it| it.iter().find(|(status, _)| status.starts_with('2')))
        .unwrap();
    let status = StatusCode::from_bytes(status.as_bytes()).unwrap();
    called.lock().unwrap().push(operation.id.clone());
    match response["content"].get("application/json") {
        Some(json) => {
            (status, schema_samples(&document(), &json["schema"], Size::Full).remove(0).to_string()).into_response()
        }
        None => status.into_response(),
    }
}

/// A literal segment precedes a parameter, as in the document.
fn matches_operation(operation: &Operation, method: &Method, path: &str) -> bool {
    let is_open = |part: &str| part.starts_with('{');
    let (template, segments): (Vec<_>, Vec<_>) = (operation.path.split('/').collect(), path.split('/').collect());
    let is_literal_path = operations().iter().any(|it| it.path == path);
    operation.method == method.as_str()
        && template.len() == segments.len()
        && template.iter().zip(&segments).all(|(it, part)| is_open(it) || it == part)
        && (!is_literal_path || operation.path == path)
}

fn undescribed(operation: &Operation, uri: &Uri, body: &Bytes, headers: &HeaderMap) -> Option<String> {
    let document = document();
    let parameters = operation.description["parameters"].as_array().cloned().unwrap_or_default();
    let named = |place: &str| -> Vec<String> {
        let in_place = parameters.iter().filter(|it| it["in"] == place);
        in_place.filter_map(|it| it["name"].as_str().map(str::to_lowercase)).collect()
    };
    let mut sent: Vec<_> = uri
        .query()
        .into_iter()
        .flat_map(|it| it.split('&'))
        .map(|it| it.split('=').next().unwrap().to_owned())
        .collect();
    let mut described = named("query");
    sent.sort();
    described.sort();
    if sent != described {
        return Some(format!("{}: sent {sent:?}, the document has {described:?}", operation.id));
    }
    for header in ["idempotency-key", "if-match"] {
        if headers.contains_key(header) != named("header").contains(&header.to_owned()) {
            return Some(format!("{}: whether there is {header} is not as in the document", operation.id));
        }
    }
    let schema = &operation.description["requestBody"]["content"]["application/json"]["schema"];
    if schema.is_null() {
        return (!body.is_empty()).then(|| format!("{} has no body", operation.id));
    }
    let sent: Value = serde_json::from_slice(body).ok()?;
    let known = schema_samples(&document, schema, Size::Full).remove(0);
    let unknown = sent.as_object()?.keys().find(|it| known.get(it.as_str()).is_none())?;
    Some(format!("{}: the document has no field {unknown}", operation.id))
}
