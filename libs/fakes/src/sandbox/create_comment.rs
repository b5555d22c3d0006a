use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Sandbox;
use super::api_error::SandboxApiError;
use super::caller::Caller;
use super::create_post::MAX_REFERENCE;
use super::fact::{Comment, Fact};
use super::oauth::PUBLISH;

/// In characters.
const MAX_TEXT: usize = 200;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewComment {
    text: String,
    #[serde(default)]
    reference: String,
}

/// A repeated request adds another comment.
pub(super) async fn create_comment(
    State(sandbox): State<Sandbox>,
    Path(post): Path<String>,
    caller: Caller,
    body: Result<Json<NewComment>, JsonRejection>,
) -> Result<(StatusCode, Json<Value>), SandboxApiError> {
    caller.needs(PUBLISH)?;
    let Json(NewComment { text, reference }) = body?;
    let mut ledger = sandbox.ledger();
    let post = post.parse().ok().filter(|it| ledger.post(*it).is_some());
    let post = post.ok_or_else(SandboxApiError::unknown_post)?;
    let chars = text.chars().count();
    if text.trim().is_empty() || MAX_TEXT < chars {
        let message = format!("a comment has 1 to {MAX_TEXT} characters; this one has {chars}");
        return Err(SandboxApiError::content("comment_length", message));
    }
    if MAX_REFERENCE < reference.chars().count() {
        let message = format!("a reference can have at most {MAX_REFERENCE} characters");
        return Err(SandboxApiError::content("reference_too_long", message));
    }
    ledger.record(Fact::Commented(Comment { post, account: caller.account, text, reference, at: sandbox.now() }))?;
    let id = Comment::id(ledger.comments().len());
    Ok((StatusCode::CREATED, Json(json!({ "id": id }))))
}
