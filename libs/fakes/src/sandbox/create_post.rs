use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use domain::options::{OptionValue, Options};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Sandbox;
use super::accounts::{Account, BOARDS};
use super::api_error::SandboxApiError;
use super::caller::Caller;
use super::fact::{Fact, Post};
use super::ledger::Ledger;
use super::oauth::PUBLISH;

/// In characters.
const MAX_TEXT: usize = 500;
/// Pictures and videos of one post.
const MAX_MEDIA: usize = 4;
/// In characters.
const MAX_ALT_TEXT: usize = 1000;
/// In characters.
pub(super) const MAX_REFERENCE: usize = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewPost {
    #[serde(default)]
    text: String,
    #[serde(default)]
    media_ids: Vec<String>,
    /// By file id.
    #[serde(default)]
    alt_texts: BTreeMap<String, String>,
    #[serde(default)]
    options: Options,
    #[serde(default)]
    reference: String,
    #[serde(default)]
    in_reply_to: Option<String>,
}

/// A repeated request publishes another post.
pub(super) async fn create_post(
    State(sandbox): State<Sandbox>,
    caller: Caller,
    body: Result<Json<NewPost>, JsonRejection>,
) -> Result<(StatusCode, Json<Value>), SandboxApiError> {
    caller.needs(PUBLISH)?;
    let Json(post) = body?;
    let (account, at) = (caller.account, sandbox.now());
    let mut ledger = sandbox.ledger();
    check_content(&post)?;
    check_references(&post, &ledger, account, at)?;

    let NewPost { text, media_ids: media, alt_texts, options, reference, in_reply_to } = post;
    let reply_to = in_reply_to.and_then(|it| it.parse().ok());
    ledger.record(Fact::Posted(Post { account, text, media, alt_texts, options, reference, reply_to, at }))?;
    let id = ledger.posts().len().to_string();
    let url = sandbox.url(&format!("posts/{id}"));
    Ok((StatusCode::CREATED, Json(json!({ "id": id, "url": url }))))
}

fn check_references(
    post: &NewPost,
    ledger: &Ledger,
    account: Account,
    now: DateTime<Utc>,
) -> Result<(), SandboxApiError> {
    let own_medium = |id: &String| ledger.medium(id).filter(|it| it.account == account);
    if post.media_ids.iter().any(|it| own_medium(it).is_none()) {
        let message = "a file was not uploaded by this account; upload it first";
        return Err(SandboxApiError::content("unknown_media", message));
    }
    let is_own_post = |id: &str| {
        let parent = id.parse().ok().and_then(|it| ledger.post(it));
        parent.is_some_and(|it| it.account == account)
    };
    if post.in_reply_to.as_deref().is_some_and(|it| !is_own_post(it)) {
        return Err(SandboxApiError::content("unknown_post", "the account has no post with the id in in_reply_to"));
    }
    let waits = post.media_ids.iter().filter_map(|id| own_medium(id)?.processing_time_left(now));
    let Some(wait) = waits.max() else { return Ok(()) };
    // Rounded up, so that the file is ready for a client that waits that long.
    let seconds = u64::try_from(wait.num_milliseconds()).unwrap_or(0).div_ceil(1000);
    let message = "a file is still being processed; try again later";
    Err(SandboxApiError::wait("media_processing", message, Some(seconds)))
}

fn check_content(post: &NewPost) -> Result<(), SandboxApiError> {
    let chars = post.text.chars().count();
    if MAX_TEXT < chars {
        let message = format!("a text can have at most {MAX_TEXT} characters; this one has {chars}");
        return Err(SandboxApiError::content("text_too_long", message));
    }
    let count = post.media_ids.len();
    if MAX_MEDIA < count {
        let message = format!("a post can have at most {MAX_MEDIA} files; this one has {count}");
        return Err(SandboxApiError::content("too_many_media", message));
    }
    if post.alt_texts.values().any(|it| MAX_ALT_TEXT < it.chars().count()) {
        let message = format!("an alt text can have at most {MAX_ALT_TEXT} characters");
        return Err(SandboxApiError::content("alt_text_too_long", message));
    }
    if post.alt_texts.keys().any(|id| !post.media_ids.contains(id)) {
        return Err(SandboxApiError::content("unknown_media", "an alt text is for a file that is not in the post"));
    }
    if MAX_REFERENCE < post.reference.chars().count() {
        let message = format!("a reference can have at most {MAX_REFERENCE} characters");
        return Err(SandboxApiError::content("reference_too_long", message));
    }
    let board = post.options.get("board");
    let is_board = |it: &OptionValue| BOARDS.iter().any(|(id, _)| *it == OptionValue::Text((*id).to_owned()));
    if board.is_some_and(|it| !is_board(it)) {
        return Err(SandboxApiError::content("unknown_board", "the account has no such board"));
    }
    if post.text.trim().is_empty() && count == 0 {
        return Err(SandboxApiError::content("empty_post", "a post needs a text or a file"));
    }
    Ok(())
}
