//! Graph nodes and edges: reading nodes by id, listing and creating on edges.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequest, Path, RawQuery, Request, State};
use axum::response::{Html, IntoResponse, Response};
use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};

use super::Fake;
use crate::meta::error::GraphError;
use crate::meta::fields::Fields;
use crate::meta::usage;

/// `GET /{id}`: a Page, a post or a video.
pub(super) async fn node(
    State(fake): State<Arc<Fake>>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, GraphError> {
    let mut fields = Fields::from_query(query.as_deref())?;
    let page = fake.page_of(&headers)?;
    fake.accept_page(&headers, &mut fields, (&Method::GET, &page), &["pages_read_engagement"])?;
    if let Some(answer) = fake.ordered(&Method::GET, "") {
        return Ok(answer);
    }
    let asked = fields.want("fields")?;
    fields.end()?;
    let answer = fake.node_json(&page, &id, &asked)?;
    Ok(with_usage(answer))
}

/// `GET /{id}/{edge}`
pub(super) async fn list(
    State(fake): State<Arc<Fake>>,
    Path((id, edge)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, GraphError> {
    let mut fields = Fields::from_query(query.as_deref())?;
    if matches!(edge.as_str(), "owned_pages" | "client_pages") {
        return fake.portfolio_pages(&headers, fields, (&id, &edge)).map(IntoResponse::into_response);
    }
    let page = if edge == "comments" { fake.page_of(&headers)? } else { id.clone() };
    fake.accept_page(&headers, &mut fields, (&Method::GET, &page), &["pages_read_engagement"])?;
    if let Some(answer) = fake.ordered(&Method::GET, &edge) {
        return Ok(answer);
    }
    let answer = match edge.as_str() {
        "published_posts" => fake.published(&id, fields)?,
        "stories" => fake.list_stories(&id, fields)?,
        "comments" => fake.list_comments(&page, &id, fields)?,
        _ => return Err(GraphError::object_not_found(&edge)),
    };
    Ok(with_usage(answer))
}

/// `POST /{id}/{edge}`
pub(super) async fn create(
    State(fake): State<Arc<Fake>>,
    Path((id, edge)): Path<(String, String)>,
    request: Request,
) -> Result<Response, GraphError> {
    let headers = request.headers().clone();
    let mut fields = Fields::from_request(request, &()).await?;
    let page = fake.page_of(&headers)?;
    let (page_id, needs) = match edge.as_str() {
        "comments" => (page.as_str(), ["pages_manage_engagement", "pages_read_engagement"]),
        _ => (id.as_str(), ["pages_manage_posts", "pages_read_engagement"]),
    };
    fake.accept_page(&headers, &mut fields, (&Method::POST, page_id), &needs)?;
    if let Some(answer) = fake.ordered(&Method::POST, &edge) {
        return Ok(answer);
    }
    let answer = match edge.as_str() {
        "photos" => fake.photo(&id, fields)?,
        "feed" => fake.post(&id, fields)?,
        "photo_stories" => fake.photo_story(&id, fields)?,
        "videos" => fake.video(&id, fields)?,
        "video_reels" | "video_stories" => fake.upload_reel_or_story((&id, &edge), fields)?,
        "comments" => fake.comment(&page, &id, fields)?,
        _ => return Err(GraphError::object_not_found(&edge)),
    };
    Ok(with_usage(answer))
}

fn with_usage(answer: Value) -> Response {
    (usage::account_header(3, 0), Json(answer)).into_response()
}

impl Fake {
    /// The response that a test set for this call.
    pub(super) fn ordered(&self, method: &Method, edge: &str) -> Option<Response> {
        let (status, body) = self.memory().refusals.remove(&format!("{method} /{edge}"))?;
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Some(match body {
            Value::String(page) => (status, Html(page)).into_response(),
            body => (status, Json(body)).into_response(),
        })
    }

    fn node_json(&self, page: &str, id: &str, asked: &str) -> Result<Value, GraphError> {
        let now = self.clock.now();
        let memory = self.memory();
        if id == page {
            let page = memory.pages.iter().find(|it| it.id == page).cloned();
            return page.ok_or_else(|| GraphError::object_not_found(id))?.to_json(asked, None);
        }
        if let Some(video) = memory.videos.get(id).filter(|it| it.page == page) {
            return match asked {
                "status" => Ok(json!({ "id": id, "status": video.status(now) })),
                _ => Err(GraphError::param(&format!("Tried accessing nonexisting field ({asked})"))),
            };
        }
        let is_there = memory.posts.iter().any(|it| it.id == id && it.page == page);
        match asked {
            "permalink_url" if is_there => {
                let (page, number) = id.split_once('_').unwrap_or((page, id));
                let address = format!("https://www.facebook.com/{page}/posts/{number}");
                Ok(json!({ "id": id, "permalink_url": address }))
            }
            _ => Err(GraphError::object_not_found(id)),
        }
    }
}
