//! Routing. Every path ends with a slash; without it, Ghost redirects.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Redirect, Response};
use bytes::Bytes;
use http::request::Parts;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use url::form_urlencoded;

use super::api_error::ApiError;
use super::{Fake, NEWSLETTER, posts, token, uploads};

pub(super) async fn respond(State(fake): State<Arc<Fake>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let path = head.uri.path();
    if let Some(bytes) = fake.memory().files.get(path) {
        return bytes.clone().into_response();
    }
    let Some(path) = path.strip_prefix("/ghost/api/admin/") else { return StatusCode::NOT_FOUND.into_response() };
    let Some(path) = path.strip_suffix('/') else {
        return Redirect::permanent(&format!("{}/", head.uri.path())).into_response();
    };
    match call(&fake, &head, path, body).await {
        Ok((status, body)) => (status, Json(body)).into_response(),
        Err(refusal) => refusal.into_response(),
    }
}

async fn call(fake: &Fake, head: &Parts, path: &str, body: Bytes) -> Result<(StatusCode, Value), ApiError> {
    let path: Vec<&str> = path.split('/').collect();
    if (&head.method, path.as_slice()) == (&Method::GET, &["site"]) {
        return Ok((StatusCode::OK, site(fake)));
    }
    token::check(fake, &head.headers)?;
    let query = form_urlencoded::parse(head.uri.query().unwrap_or_default().as_bytes());
    let query: BTreeMap<String, String> = query.into_owned().collect();
    let json = || serde_json::from_slice(&body).map_err(|_| ApiError::new(400, "BadRequestError", "Invalid JSON."));
    Ok(match (head.method.as_str(), path.as_slice()) {
        ("GET", ["posts"]) => (StatusCode::OK, json!({ "posts": [], "meta": {} })),
        ("GET", ["newsletters"]) => (
            StatusCode::OK,
            json!({
                "newsletters": [{
                    "id": "64f1c0ffee64f1c0ffee64f2", "name": "Tide tables", "slug": NEWSLETTER, "status": "active",
                    "visibility": "members", "updated_at": "2026-01-01T00:00:00.000Z",
                }],
            }),
        ),
        ("GET", ["posts", "slug", slug]) => (StatusCode::OK, posts::with_slug(fake, slug)?),
        ("GET", ["posts", id]) => (StatusCode::OK, posts::show(fake, id)?),
        ("POST", ["posts"]) => (StatusCode::CREATED, posts::create(fake, &query, &json()?)?),
        ("PUT", ["posts", id]) => (StatusCode::OK, posts::update(fake, id, &query, &json()?)?),
        ("POST", [collection @ ("images" | "media"), "upload"]) => {
            (StatusCode::CREATED, uploads::upload(fake, collection, &head.headers, body.clone()).await?)
        }
        _ => return Err(ApiError::closed()),
    })
}

fn site(fake: &Fake) -> Value {
    json!({
        "site": {
            "title": "Harbour & Lighthouse", "description": "Thoughts, stories and ideas.", "logo": null, "icon": null,
            "url": format!("{}/", fake.base_url()), "version": "6.65",
        }
    })
}
