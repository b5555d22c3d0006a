//! Adds comments to public posts, and applies the faults of that call.

use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::json;

use super::Sandbox;
use super::api_error::SandboxApiError;
use super::caller::{Caller, PUBLISH};
use super::create_post::MAX_REFERENCE;
use super::fact::{Comment, Fact};
use super::fault_kind::FaultKind;
use super::record_calls::{CallRecorder, ResponseSummary, cut_connection};

/// Maximum length of a comment, in characters.
const MAX_TEXT: usize = 200;

/// The request body.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewComment {
    text: String,
    #[serde(default)]
    reference: String,
}

/// Adds a comment. A repeated request adds another one.
pub(super) async fn create_comment(
    State(sandbox): State<Sandbox>,
    Extension(call): Extension<CallRecorder>,
    Path(post): Path<String>,
    caller: Result<Caller, SandboxApiError>,
    body: Result<Json<NewComment>, JsonRejection>,
) -> Result<Response, SandboxApiError> {
    if let Ok(Json(comment)) = &body {
        call.set_reference(&comment.reference);
    }
    let caller = caller?;
    caller.needs(PUBLISH)?;
    let Json(NewComment { text, reference }) = body?;
    let fault = call.strike(caller.account);
    match fault.as_ref().map(|it| (it.kind, it.wait_seconds())) {
        Some((FaultKind::CommentBusy, wait)) => return Err(SandboxApiError::Busy { wait_seconds: Some(wait) }),
        Some((FaultKind::CommentRefuse, _)) => {
            return Err(SandboxApiError::content("comment_refused", "the sandbox does not accept this comment"));
        }
        _ => {}
    }
    let mut ledger = sandbox.ledger();
    let post = post.parse().ok().filter(|it| ledger.state().post(*it).is_some());
    let Some(post) = post else { return Err(SandboxApiError::content("unknown_post", "this post does not exist")) };
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
    let id = Comment::id(ledger.state().comments().len());
    if fault.is_some_and(|it| it.kind == FaultKind::CommentLoseAnswer) {
        return Ok(cut_connection());
    }
    let summary = Extension(ResponseSummary(format!("comment {id}")));
    Ok((StatusCode::CREATED, summary, Json(json!({ "id": id }))).into_response())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing::{CUT, SandboxHarness, TestResponse};

    async fn comment(harness: &SandboxHarness, token: &str, post: &str, body: Value) -> TestResponse {
        harness.call("POST", &format!("/sandbox/api/posts/{post}/comments"), token, Some(body)).await
    }

    async fn texts(harness: &SandboxHarness) -> Vec<String> {
        let list = harness.get("/sandbox/comments.json").await.json();
        list.as_array().unwrap().iter().map(|it| it["text"].as_str().unwrap().to_owned()).collect()
    }

    #[tokio::test]
    async fn comment_is_shown_under_its_post_and_in_the_list() {
        let harness = SandboxHarness::new();
        let token = harness.connect("meadow").await.access;
        harness.post(&token, json!({"text": "Hello"})).await;
        let posts = harness.get("/sandbox/posts.json").await.json();

        let made = comment(&harness, &token, "1", json!({"text": "<b>More</b>", "reference": "r1"})).await;

        assert_eq!((made.status, made.json()["id"].clone()), (201, "c1".into()));
        let expected = json!([{
            "id": "c1", "post": "1", "account": "meadow", "text": "<b>More</b>",
            "received_at": "2024-10-04T00:00:00.000Z",
        }]);
        assert_eq!(harness.get("/sandbox/comments.json").await.json(), expected);
        assert_eq!(harness.get("/sandbox/posts.json").await.json(), posts);
        for path in ["/sandbox", "/sandbox/posts/1"] {
            let page = harness.get(path).await;
            assert!(page.text().contains("More") && !page.text().contains("<b>More"), "{}", page.text());
        }
    }

    #[tokio::test]
    async fn reference_finds_comments_of_its_post_and_account() {
        let harness = SandboxHarness::new();
        let meadow = harness.connect("meadow").await.access;
        let harbour = harness.connect("harbour").await.access;
        harness.post(&meadow, json!({"text": "Hello"})).await;
        harness.post(&meadow, json!({"text": "Hello"})).await;
        comment(&harness, &meadow, "1", json!({"text": "More", "reference": "other"})).await;
        comment(&harness, &meadow, "1", json!({"text": "More", "reference": "r1"})).await;
        let find = async |token: &str, post: &str| {
            let path = format!("/sandbox/api/posts/{post}/comments?reference=r1");
            harness.call("GET", &path, token, None).await
        };

        let found = find(&meadow, "1").await.json();

        let expected = json!([{
            "id": "c2", "text": "More", "reference": "r1", "posted_at": "2024-10-04T00:00:00.000Z",
        }]);
        assert_eq!(found, expected);
        assert_eq!(find(&meadow, "2").await.json(), json!([]));
        assert_eq!(find(&harbour, "1").await.json(), json!([]));
        let unknown = find(&meadow, "3").await;
        assert_eq!((unknown.status, unknown.error()), (422, "unknown_post".into()));
        harness.arm(json!({"kind": "look_error"})).await;
        assert_eq!(find(&meadow, "1").await.status, 500);
    }

    #[tokio::test]
    async fn invalid_comment_is_rejected() {
        let harness = SandboxHarness::new();
        let token = harness.connect("meadow").await.access;
        harness.post(&token, json!({"text": "Hello"})).await;
        let long = "é".repeat(201);
        for (post, body, status, error) in [
            ("2", json!({"text": "More"}), 422, "unknown_post"),
            ("0", json!({"text": "More"}), 422, "unknown_post"),
            ("x", json!({"text": "More"}), 422, "unknown_post"),
            ("1", json!({"text": " "}), 422, "comment_length"),
            ("1", json!({"text": long}), 422, "comment_length"),
            ("1", json!({}), 422, "invalid_request"),
        ] {
            let answer = comment(&harness, &token, post, body).await;
            assert_eq!((answer.status, answer.error()), (status, error.into()));
        }
        assert_eq!(comment(&harness, "guess", "1", json!({"text": "More"})).await.status, 401);
        assert!(texts(&harness).await.is_empty());
    }

    #[tokio::test]
    async fn comment_faults_apply_only_to_comments() {
        for (kind, status, is_added) in
            [("comment_busy", 429, false), ("comment_refuse", 422, false), ("comment_lose_answer", CUT, true)]
        {
            let harness = SandboxHarness::new();
            let token = harness.connect("meadow").await.access;
            harness.arm(json!({"kind": kind, "delay_ms": 3000})).await;

            assert_eq!(harness.post(&token, json!({"text": "Hello"})).await.status, 201);
            let struck = comment(&harness, &token, "1", json!({"text": "first"})).await;
            let next = comment(&harness, &token, "1", json!({"text": "second"})).await;

            assert_eq!((struck.status, next.status), (status, 201), "{kind}");
            assert_eq!(texts(&harness).await.contains(&"first".to_owned()), is_added, "{kind}");
        }
    }

    #[tokio::test]
    async fn comments_survive_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let harness = SandboxHarness::open(dir.path());
        let token = harness.connect("meadow").await.access;
        harness.post(&token, json!({"text": "Hello"})).await;
        comment(&harness, &token, "1", json!({"text": "More"})).await;
        drop(harness);

        assert_eq!(texts(&SandboxHarness::open(dir.path())).await, ["More"]);
    }
}
