//! Comments under posts.

use std::sync::Arc;

use axum::Json;
use axum::extract::{OriginalUri, Path, State};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::api_error::ApiError;
use super::fields::Fields;
use super::{Fake, MEMBER_URN};

/// The maximum length of a comment.
const MAX_TEXT: usize = 1_250;

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
    let mut fields = Fields::parse(&body)?;
    let (actor, object) = (fields.text("actor")?, fields.text("object")?);
    let mut message = Fields(fields.take("message")?.as_object().cloned().unwrap_or_default());
    fields.end()?;
    let text = message.text("text")?;
    message.end()?;
    let mut memory = fake.memory();
    let needed = if actor == MEMBER_URN { scopes[0] } else { scopes[1] };
    if !memory.may_post(&actor) || !grant.scopes.iter().any(|it| it == needed) {
        return Err(ApiError::denied("Not enough permissions to access: partnerApiSocialActions.CREATE"));
    }
    if object != urn || text.is_empty() || MAX_TEXT < text.encode_utf16().count() {
        return Err(ApiError::bad("INVALID_VALUE_FOR_FIELD", "/object or /message/text"));
    }
    if !memory.posts.iter().any(|it| it.urn == urn) {
        return Err(ApiError::not_found());
    }
    let number = memory.next();
    memory.comments.push((urn.clone(), actor.clone(), text.clone()));
    let response = json!({
        "actor": actor, "object": object, "message": { "text": text }, "id": number.to_string(),
        "commentUrn": format!("urn:li:comment:({urn},{number})"),
    });
    Ok((StatusCode::CREATED, Json(response)))
}
