//! Comments under posts.

use std::sync::Arc;

use axum::Json;
use axum::extract::{OriginalUri, Path, State};
use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::api_error::ApiError;
use super::organizations::asked;
use super::{Fake, MEMBER_URN};
use crate::fake::schema::{self, Fields, Kind, Object, Pattern, Required, TEXT};

const COMMENT: Fields = &[
    ("actor", Required, TEXT),
    ("object", Required, TEXT),
    ("message", Required, Object(&[("text", Required, COMMENT_TEXT)])),
];

const COMMENT_TEXT: Kind = Pattern(|it| (1..=1_250).contains(&it.encode_utf16().count()));

/// `POST /rest/socialActions/{urn}/comments`. The text is plain: no character truncates it, and a
/// backslash is shown.
pub(super) async fn create(
    State(fake): State<Arc<Fake>>,
    Path(urn): Path<String>,
    OriginalUri(uri): OriginalUri,
    headers: HeaderMap,
    body: Bytes,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let scopes = ["w_member_social_feed", "w_organization_social_feed"];
    let grant = fake.authorize_rest(&headers, "/rest/socialActions", &scopes)?;
    ApiError::check_encoded(uri.path())?;
    let comment = schema::parse(&body, COMMENT)?;
    let (actor, text) = (schema::text(&comment, "actor"), schema::text(&comment["message"], "text"));
    let mut memory = fake.memory();
    let needed = if actor == MEMBER_URN { scopes[0] } else { scopes[1] };
    if !memory.may_post(&actor) || !grant.scopes.iter().any(|it| it == needed) {
        return Err(ApiError::denied("Not enough permissions to access: partnerApiSocialActions.CREATE"));
    }
    if comment["object"] != urn.as_str() {
        return Err(ApiError::bad("INVALID_VALUE_FOR_FIELD", "/object"));
    }
    if !memory.posts.iter().any(|it| it.urn == urn) {
        return Err(ApiError::not_found());
    }
    let id = memory.next().to_string();
    let comment = Comment { id, post: urn, actor, text, at: fake.clock.now() };
    let response = comment.to_json();
    memory.comments.push(comment);
    Ok((StatusCode::CREATED, Json(response)))
}

/// `GET /rest/socialActions/{urn}/comments`: oldest first; the order is not documented.
pub(super) async fn list(
    State(fake): State<Arc<Fake>>,
    Path(urn): Path<String>,
    OriginalUri(uri): OriginalUri,
    headers: HeaderMap,
) -> Result<Json<Value>, ApiError> {
    fake.authorize_rest(&headers, "/rest/socialActions", &["r_organization_social_feed"])?;
    ApiError::check_encoded(uri.path())?;
    let asked = asked(uri.query());
    let number = |name: &str, default: usize| asked.get(name).map_or(Some(default), |it| it.parse().ok());
    let (Some(start), Some(count @ 1..=100)) = (number("start", 0), number("count", 10)) else {
        return Err(ApiError::bad("PARAM_INVALID", "start and count are numbers, count at most 100"));
    };
    let memory = fake.memory();
    if !memory.posts.iter().any(|it| it.urn == urn) {
        return Err(ApiError::not_found());
    }
    let comments = memory.comments.iter().filter(|it| it.post == urn).skip(start).take(count);
    let elements: Vec<_> = comments.map(Comment::to_json).collect();
    Ok(Json(json!({ "elements": elements, "paging": { "start": start, "count": count, "links": [] } })))
}

#[derive(Clone, Debug)]
pub(super) struct Comment {
    id: String,
    pub(super) post: String,
    pub(super) actor: String,
    pub(super) text: String,
    at: DateTime<Utc>,
}

impl Comment {
    /// As [`domain::delivery::Published`] has it.
    pub(super) fn urn(&self) -> String {
        format!("urn:li:comment:({},{})", self.post, self.id)
    }

    fn to_json(&self) -> Value {
        json!({
            "actor": self.actor, "object": self.post, "message": { "text": self.text }, "id": self.id,
            "commentUrn": self.urn(), "created": { "actor": self.actor, "time": self.at.timestamp_millis() },
        })
    }
}
