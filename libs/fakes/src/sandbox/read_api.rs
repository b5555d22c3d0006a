//! The API's read operations: the caller's account, its posts by reference, and everything public.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::accounts::{Account, BOARDS};
use super::api_error::SandboxApiError;
use super::caller::Caller;
use super::fact::{Comment, Post};
use super::ledger::Ledger;
use super::oauth::PROFILE;
use super::{Sandbox, timestamp};

pub(super) async fn get_me(State(sandbox): State<Sandbox>, caller: Caller) -> Result<Json<Value>, SandboxApiError> {
    caller.needs(PROFILE)?;
    let mut me = public_profile(&sandbox, caller.account);
    if !caller.also.is_empty() {
        me["grant"] = (caller.grant + 1).to_string().into();
        me["also"] = caller.also.iter().map(|it| public_profile(&sandbox, *it)).collect();
    }
    Ok(Json(me))
}

fn public_profile(sandbox: &Sandbox, account: Account) -> Value {
    json!({
        "id": account.id(),
        "handle": account.handle(),
        "name": account.name(),
        "avatar_url": sandbox.url(&format!("avatars/{}.svg", account.handle())),
        "profile_url": sandbox.url(&format!("@{}", account.handle())),
    })
}

pub(super) async fn list_boards(caller: Caller) -> Result<Json<Value>, SandboxApiError> {
    caller.needs(PROFILE)?;
    let boards = BOARDS.iter().map(|(id, name)| json!({ "id": id, "name": name }));
    Ok(Json(boards.collect()))
}

#[derive(Deserialize)]
pub(super) struct ByReference {
    reference: String,
}

/// With a reference, oldest first.
pub(super) async fn list_posts(
    State(sandbox): State<Sandbox>,
    caller: Caller,
    query: Result<Query<ByReference>, QueryRejection>,
) -> Result<Json<Vec<Value>>, SandboxApiError> {
    let Query(ByReference { reference }) = query?;
    let ledger = sandbox.ledger();
    let posts = ledger.posts().iter().zip(1_usize..).filter_map(|(post, id)| {
        let is_requested = post.account == caller.account && post.reference == reference;
        is_requested.then(|| {
            json!({
                "id": id.to_string(),
                "url": sandbox.url(&format!("posts/{id}")),
                "text": post.text,
                "reference": post.reference,
                "posted_at": timestamp(post.at),
            })
        })
    });
    Ok(Json(posts.collect()))
}

/// With a reference, oldest first.
pub(super) async fn list_own_comments(
    State(sandbox): State<Sandbox>,
    Path(post): Path<String>,
    caller: Caller,
    query: Result<Query<ByReference>, QueryRejection>,
) -> Result<Json<Vec<Value>>, SandboxApiError> {
    let Query(ByReference { reference }) = query?;
    let ledger = sandbox.ledger();
    let post = post.parse().ok().filter(|it| ledger.post(*it).is_some());
    let post = post.ok_or_else(SandboxApiError::unknown_post)?;
    let comments = ledger.comments().iter().zip(1_usize..).filter_map(|(comment, id)| {
        let is_on_post = comment.post == post && comment.account == caller.account;
        (is_on_post && comment.reference == reference).then(|| {
            json!({
                "id": Comment::id(id),
                "text": comment.text,
                "reference": comment.reference,
                "posted_at": timestamp(comment.at),
            })
        })
    });
    Ok(Json(comments.collect()))
}

/// In order, including repeated ones.
pub(super) async fn list_all_posts(State(sandbox): State<Sandbox>) -> Response {
    let posts: Vec<_> = {
        let ledger = sandbox.ledger();
        ledger.posts().iter().zip(1..).map(|(post, id)| public_post(&sandbox, &ledger, id, post)).collect()
    };
    ([(header::CACHE_CONTROL, "no-store")], Json(posts)).into_response()
}

pub(super) async fn list_comments(State(sandbox): State<Sandbox>) -> Response {
    let ledger = sandbox.ledger();
    let comments = ledger.comments().iter().zip(1_usize..).map(|(comment, id)| {
        json!({
            "id": Comment::id(id),
            "post": comment.post.to_string(),
            "account": comment.account.handle(),
            "text": comment.text,
            "received_at": timestamp(comment.at),
        })
    });
    ([(header::CACHE_CONTROL, "no-store")], Json(comments.collect::<Vec<_>>())).into_response()
}

fn public_post(sandbox: &Sandbox, ledger: &Ledger, id: usize, post: &Post) -> Value {
    let media = post.media.iter().filter_map(|id| {
        let medium = ledger.medium(id)?;
        let url = sandbox.url(&format!("media/{id}"));
        let mut shown = json!({ "url": url, "mime_type": medium.mime_type });
        if let Some(alt_text) = post.alt_texts.get(id) {
            shown["alt_text"] = alt_text.as_str().into();
        }
        Some(shown)
    });
    let mut shown = json!({
        "id": id.to_string(),
        "account": post.account.handle(),
        "text": post.text,
        "media": media.collect::<Vec<_>>(),
        "received_at": timestamp(post.at),
    });
    if let Some(parent) = post.reply_to {
        shown["reply_to"] = parent.to_string().into();
    }
    if !post.options.is_empty() {
        shown["options"] = json!(post.options);
    }
    shown
}
