//! The API's read operations: the caller's account, its posts by reference, and everything public.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use futures::stream;
use serde::Deserialize;
use serde_json::{Value, json};

use super::accounts::{Account, BOARDS};
use super::api_error::SandboxApiError;
use super::caller::{Caller, PROFILE};
use super::fact::{Comment, Post};
use super::record_calls::{CallRecorder, ResponseSummary};
use super::sandbox_state::SandboxState;
use super::{Sandbox, timestamp};

/// Posts per chunk of the complete list.
const PIECE: usize = 500;

/// The account of the token, and the other accounts of its grant.
pub(super) async fn get_me(State(sandbox): State<Sandbox>, caller: Caller) -> Result<Json<Value>, SandboxApiError> {
    caller.needs(PROFILE)?;
    let mut me = public_profile(&sandbox, caller.account);
    if !caller.also.is_empty() {
        me["grant"] = caller.grant.to_string().into();
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

/// The caller's posts with a reference, oldest first.
pub(super) async fn list_posts(
    State(sandbox): State<Sandbox>,
    Extension(call): Extension<CallRecorder>,
    caller: Result<Caller, SandboxApiError>,
    query: Result<Query<ByReference>, QueryRejection>,
) -> Result<Response, SandboxApiError> {
    let (caller, reference) = look_up(&call, caller, query)?;
    let ledger = sandbox.ledger();
    let posts = ledger.state().posts().iter().zip(1_usize..).filter_map(|(post, id)| {
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
    Ok(found(posts.collect(), "post"))
}

/// The caller's comments on a post with a reference, oldest first.
pub(super) async fn list_own_comments(
    State(sandbox): State<Sandbox>,
    Extension(call): Extension<CallRecorder>,
    Path(post): Path<String>,
    caller: Result<Caller, SandboxApiError>,
    query: Result<Query<ByReference>, QueryRejection>,
) -> Result<Response, SandboxApiError> {
    let (caller, reference) = look_up(&call, caller, query)?;
    let ledger = sandbox.ledger();
    let post = post.parse().ok().filter(|it| ledger.state().post(*it).is_some());
    let Some(post) = post else { return Err(SandboxApiError::content("unknown_post", "this post does not exist")) };
    let comments = ledger.state().comments().iter().zip(1_usize..).filter_map(|(comment, id)| {
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
    Ok(found(comments.collect(), "comment"))
}

/// The caller and the reference of a look-up. Applies the only kind of fault of these calls.
fn look_up(
    call: &CallRecorder,
    caller: Result<Caller, SandboxApiError>,
    query: Result<Query<ByReference>, QueryRejection>,
) -> Result<(Caller, String), SandboxApiError> {
    if let Ok(Query(ByReference { reference })) = &query {
        call.set_reference(reference);
    }
    let caller = caller?;
    let Query(ByReference { reference }) = query?;
    if call.strike(caller.account).is_some() {
        return Err(SandboxApiError::Broken);
    }
    Ok((caller, reference))
}

fn found(items: Vec<Value>, noun: &str) -> Response {
    let summary = match items.len() {
        0 => "found none".to_owned(),
        1 => format!("found 1 {noun}"),
        many => format!("found {many} {noun}s"),
    };
    (Extension(ResponseSummary(summary)), Json(items)).into_response()
}

/// All public posts in order, including repeated ones. The response is written in chunks, so a long
/// history is not in memory twice.
pub(super) async fn list_all_posts(State(sandbox): State<Sandbox>) -> Response {
    let end = sandbox.ledger().state().posts().len();
    let pieces = stream::unfold(0, move |start| {
        let sandbox = sandbox.clone();
        async move {
            (start <= end).then(|| {
                let next = (start + PIECE).min(end);
                let piece = piece(&sandbox, start, next, end);
                // A start beyond the end means that nothing follows.
                (Ok::<_, Infallible>(piece), if next == end { end + 1 } else { next })
            })
        }
    });
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    (headers, Body::from_stream(pieces)).into_response()
}

/// All comments, in order.
pub(super) async fn list_comments(State(sandbox): State<Sandbox>) -> Response {
    let ledger = sandbox.ledger();
    let comments = ledger.state().comments().iter().zip(1_usize..).map(|(comment, id)| {
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

fn piece(sandbox: &Sandbox, start: usize, next: usize, end: usize) -> Bytes {
    let ledger = sandbox.ledger();
    let state = ledger.state();
    let posts: Vec<_> = state.posts()[start..next]
        .iter()
        .zip(start + 1..)
        .map(|(post, id)| public_post(sandbox, state, id, post).to_string())
        .collect();
    let before = match start {
        0 => "[",
        _ => ",",
    };
    let after = if next == end { "]" } else { "" };
    format!("{before}{}{after}", posts.join(",")).into()
}

fn public_post(sandbox: &Sandbox, state: &SandboxState, id: usize, post: &Post) -> Value {
    let media = post.media.iter().filter_map(|id| {
        let medium = state.medium(id)?;
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

#[cfg(test)]
mod tests {
    use super::super::fact::Fact;
    use super::super::testing::{SandboxHarness, VERIFIER};
    use super::*;

    #[tokio::test]
    async fn me_returns_the_profile_of_the_caller() {
        let harness = SandboxHarness::new();
        let token = harness.connect("harbour").await.access;

        let me = harness.call("GET", "/sandbox/api/me", &token, None).await;

        let expected = json!({
            "id": "101",
            "handle": "harbour",
            "name": "The Harbour",
            "avatar_url": "http://sandbox.test/sandbox/avatars/harbour.svg",
            "profile_url": "http://sandbox.test/sandbox/@harbour",
        });
        assert_eq!(me.json(), expected);
        for path in ["/sandbox/avatars/harbour.svg", "/sandbox/@harbour"] {
            assert_eq!(harness.get(path).await.status, 200, "{path}");
        }
    }

    #[tokio::test]
    async fn grant_for_several_accounts_posts_to_the_named_one() {
        let harness = SandboxHarness::new();
        let code = harness.allow_several("harbour", &["meadow", "harbour"]).await;
        let token = harness.exchange(&code, VERIFIER).await.string("access_token");

        let me = harness.call("GET", "/sandbox/api/me", &token, None).await.json();

        assert_eq!((&me["handle"], &me["grant"]), (&json!("harbour"), &json!("1")));
        let also: Vec<_> = me["also"].as_array().unwrap().iter().map(|it| &it["handle"]).collect();
        assert_eq!(also, [&json!("meadow")]);
        let authorization = format!("Bearer {token}");
        for (account, status) in [("101", 201), ("103", 201), ("102", 403), ("", 403), ("meadow", 403)] {
            let headers = [
                ("authorization", authorization.as_str()),
                ("content-type", "application/json"),
                ("sandbox-account", account),
            ];
            let posted = harness
                .send("POST", "/sandbox/api/posts", &headers, json!({ "text": account }).to_string().into())
                .await;
            assert_eq!(posted.status, status, "{account}: {}", posted.text());
        }
        let posts = harness.get("/sandbox/posts.json").await.json();
        let by: Vec<_> = posts.as_array().unwrap().iter().map(|it| (&it["text"], &it["account"])).collect();
        assert_eq!(by, [(&json!("101"), &json!("harbour")), (&json!("103"), &json!("meadow"))]);
    }

    #[tokio::test]
    async fn the_public_list_names_account_media_and_time() {
        let harness = SandboxHarness::new();
        let token = harness.connect("meadow").await.access;
        let uploaded = harness.upload(&token, "image/png", b"png".to_vec()).await;
        let post = json!({"text": "Look", "media_ids": [uploaded.json()["id"]]});
        harness.post(&token, post).await;

        let list = harness.get("/sandbox/posts.json").await;

        let expected = json!([{
            "id": "1",
            "account": "meadow",
            "text": "Look",
            "media": [{"url": uploaded.json()["url"], "mime_type": "image/png"}],
            "received_at": "2024-10-04T00:00:00.000Z",
        }]);
        assert_eq!(list.json(), expected);
    }

    #[tokio::test]
    async fn public_list_is_complete_at_chunk_boundaries() {
        let harness = SandboxHarness::new();
        let lengths = [0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 2 * PIECE + 1];
        let mut written = 0;
        for length in lengths {
            while written < length {
                let post = Post {
                    account: Account::find("meadow").unwrap(),
                    text: written.to_string(),
                    media: vec![],
                    alt_texts: std::collections::BTreeMap::new(),
                    options: domain::options::Options::default(),
                    reference: String::new(),
                    reply_to: None,
                    at: harness.sandbox.now(),
                };
                harness.sandbox.ledger().record(Fact::Posted(post)).unwrap();
                written += 1;
            }
            let expected: Vec<_> = (0..length).map(|it| it.to_string()).collect();
            assert_eq!(harness.public_texts().await, expected);
        }
    }
}
