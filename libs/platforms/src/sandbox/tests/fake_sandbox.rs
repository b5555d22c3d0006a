//! A small server with responses that a test sets.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Form, Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use egress::AddressPolicy;
use futures::stream;
use serde_json::{Value, json};

use crate::app::{AppCredentials, AppSource};
use crate::http_clients::HttpClients;
use crate::sandbox::Sandbox;

/// The responses, and the recorded requests.
#[derive(Clone, Default)]
pub(super) struct FakeSandbox {
    /// The next response to a new post; `None` cuts the connection.
    answer: Arc<Mutex<Option<(u16, Value)>>>,
    /// Forms, posts and uploads, in order.
    seen: Arc<Mutex<Vec<Value>>>,
    /// The response to a look-up by reference.
    found: Arc<Mutex<(u16, Value)>>,
}

impl FakeSandbox {
    pub(super) fn respond_with(&self, status: u16, body: Value) {
        *self.answer.lock().unwrap() = Some((status, body));
    }

    /// From now on the connection is cut before the response to a post.
    pub(super) fn cut_responses(&self) {
        *self.answer.lock().unwrap() = None;
    }

    pub(super) fn respond_to_look_up(&self, status: u16, body: Value) {
        *self.found.lock().unwrap() = (status, body);
    }

    pub(super) fn requests(&self) -> Vec<Value> {
        self.seen.lock().unwrap().clone()
    }

    fn next_answer(&self, request: Value) -> Response {
        self.seen.lock().unwrap().push(request);
        let Some((status, body)) = self.answer.lock().unwrap().clone() else {
            let cut = std::io::Error::other("cut");
            return Body::from_stream(stream::once(async { Err::<Bytes, _>(cut) })).into_response();
        };
        let status = StatusCode::from_u16(status).unwrap();
        (status, [("retry-after", "30")], axum::Json(body)).into_response()
    }

    /// Starts the server, and returns the adapter that calls it.
    pub(super) async fn adapter(&self) -> Sandbox {
        adapter_at(&self.run().await)
    }

    pub(super) async fn run(&self) -> String {
        let routes = Router::new()
            .route("/sandbox/oauth/token", post(form))
            .route("/sandbox/oauth/revoke", post(form))
            .route("/sandbox/api/me", get(me))
            .route("/sandbox/api/media", post(upload))
            .route("/sandbox/api/posts", post(new_post).get(posts))
            .route("/sandbox/api/posts/{id}/comments", post(new_comment).get(comments))
            .with_state(self.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, routes).await });
        format!("http://{address}/sandbox")
    }
}

pub(super) fn adapter_at(base_url: &str) -> Sandbox {
    adapter_with(base_url, Arc::new(AppCredentials::new("us", "our-secret")))
}

pub(super) fn adapter_with(base_url: &str, app: Arc<dyn AppSource>) -> Sandbox {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Sandbox::at(base_url.parse().unwrap(), HttpClients::new(AddressPolicy::PublicOnly), app)
}

async fn form(State(fake): State<FakeSandbox>, Form(form): Form<BTreeMap<String, String>>) -> Response {
    fake.next_answer(json!(form))
}

async fn me(headers: HeaderMap) -> Response {
    assert_eq!(headers["authorization"], "Bearer access");
    axum::Json(json!({
        "id": "102", "handle": "lighthouse", "name": "Lighthouse",
        "avatar_url": "http://x/a.svg", "profile_url": "http://x/@lighthouse",
    }))
    .into_response()
}

async fn upload(State(fake): State<FakeSandbox>, headers: HeaderMap, body: Bytes) -> Response {
    let header = |name: &str| headers.get(name).and_then(|it| it.to_str().ok()).map(str::to_owned);
    fake.next_answer(json!({"type": header("content-type"), "length": header("content-length"), "size": body.len()}))
}

async fn new_post(State(fake): State<FakeSandbox>, axum::Json(body): axum::Json<Value>) -> Response {
    fake.next_answer(body)
}

async fn new_comment(
    State(fake): State<FakeSandbox>,
    Path(post): Path<String>,
    axum::Json(mut body): axum::Json<Value>,
) -> Response {
    body["post"] = post.into();
    fake.next_answer(body)
}

async fn comments(
    State(fake): State<FakeSandbox>,
    Path(post): Path<String>,
    query: Query<BTreeMap<String, String>>,
) -> Response {
    assert_eq!(post, "p 1/2");
    posts(State(fake), query).await
}

async fn posts(State(fake): State<FakeSandbox>, Query(query): Query<BTreeMap<String, String>>) -> Response {
    assert_eq!(query["reference"], "post-1");
    let (status, body) = fake.found.lock().unwrap().clone();
    (StatusCode::from_u16(status).unwrap(), axum::Json(body)).into_response()
}
