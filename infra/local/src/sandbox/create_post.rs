//! Publishes posts, and applies the faults of that call.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use domain::options::{OptionValue, Options};
use serde::Deserialize;
use serde_json::json;

use super::Sandbox;
use super::accounts::{Account, BOARDS};
use super::api_error::SandboxApiError;
use super::caller::{Caller, PUBLISH};
use super::fact::{Fact, Post};
use super::fault_kind::FaultKind;
use super::faults::InjectedFault;
use super::record_calls::{CallRecorder, ResponseSummary, cut_connection};

/// Maximum length of a text, in characters.
const MAX_TEXT: usize = 500;
/// Maximum number of pictures and videos of a post.
const MAX_MEDIA: usize = 4;
/// Maximum length of an alt text, in characters.
const MAX_ALT_TEXT: usize = 1000;
/// Maximum length of a reference, in characters.
pub(super) const MAX_REFERENCE: usize = 100;

/// The request body.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewPost {
    #[serde(default)]
    text: String,
    #[serde(default)]
    media_ids: Vec<String>,
    /// Alt texts by file id.
    #[serde(default)]
    alt_texts: BTreeMap<String, String>,
    #[serde(default)]
    options: Options,
    #[serde(default)]
    reference: String,
    /// The id of the post that it replies to.
    #[serde(default)]
    in_reply_to: Option<String>,
}

/// Publishes a post. A repeated request publishes another one.
pub(super) async fn create_post(
    State(sandbox): State<Sandbox>,
    Extension(call): Extension<CallRecorder>,
    caller: Result<Caller, SandboxApiError>,
    body: Result<Json<NewPost>, JsonRejection>,
) -> Result<Response, SandboxApiError> {
    // Recorded before the token is checked, so that the list of calls has this post even if the token is
    // invalid.
    if let Ok(Json(post)) = &body {
        call.set_reference(&post.reference);
    }
    let caller = caller?;
    caller.needs(PUBLISH)?;
    let Json(post) = body?;
    let fault = call.strike(caller.account);
    let creation = PostCreation { sandbox, call, account: caller.account, post };
    match fault {
        None => creation.publish(),
        Some(fault) => creation.apply_fault(fault, &caller).await,
    }
}

struct PostCreation {
    sandbox: Sandbox,
    call: CallRecorder,
    account: Account,
    post: NewPost,
}

impl PostCreation {
    async fn apply_fault(self, fault: InjectedFault, caller: &Caller) -> Result<Response, SandboxApiError> {
        match fault.kind {
            FaultKind::Refuse => {
                let message = "this content is against the rules of the sandbox";
                Err(SandboxApiError::content("content_refused", message))
            }
            FaultKind::Busy => Err(SandboxApiError::Busy { wait_seconds: None }),
            FaultKind::BusyUntil => Err(SandboxApiError::Busy { wait_seconds: Some(fault.wait_seconds()) }),
            FaultKind::RateLimit => Err(SandboxApiError::RateLimited { wait_seconds: fault.wait_seconds() }),
            FaultKind::ErrorBefore => Err(SandboxApiError::Broken),
            FaultKind::ErrorAfter => self.publish().and(Err(SandboxApiError::Broken)),
            FaultKind::LoseCall => Ok(cut_connection()),
            FaultKind::LoseAnswer => self.publish().map(|_| cut_connection()),
            // In a separate task, which continues if the client closes the connection.
            FaultKind::Slow => tokio::spawn(self.publish_after(fault)).await.unwrap_or(Err(SandboxApiError::Internal)),
            FaultKind::Late => {
                self.check()?;
                tokio::spawn(self.publish_after(fault));
                Ok(cut_connection())
            }
            kind => caller.lose_access(&self.sandbox, kind).and_then(|()| self.publish()),
        }
    }

    async fn publish_after(self, fault: InjectedFault) -> Result<Response, SandboxApiError> {
        tokio::time::sleep(fault.delay).await;
        self.publish()
    }

    fn publish(self) -> Result<Response, SandboxApiError> {
        self.check()?;
        let NewPost { text, media_ids: media, alt_texts, options, reference, in_reply_to } = self.post;
        let reply_to = in_reply_to.and_then(|it| it.parse().ok());
        let at = self.sandbox.now();
        let mut ledger = self.sandbox.ledger();
        let post = Post { account: self.account, text, media, alt_texts, options, reference, reply_to, at };
        ledger.record(Fact::Posted(post))?;
        let id = ledger.state().posts().len().to_string();
        self.call.made(&id);
        let url = self.sandbox.url(&format!("posts/{id}"));
        let summary = Extension(ResponseSummary(format!("post {id}")));
        Ok((StatusCode::CREATED, summary, Json(json!({ "id": id, "url": url }))).into_response())
    }

    fn check(&self) -> Result<(), SandboxApiError> {
        let ledger = self.sandbox.ledger();
        let own = |id: &str| ledger.state().medium(id).filter(|it| it.account == self.account);
        check(&self.post, |id| own(id).is_some())?;
        let is_own_post = |id: &str| {
            let parent = id.parse().ok().and_then(|it| ledger.state().post(it));
            parent.is_some_and(|it| it.account == self.account)
        };
        if self.post.in_reply_to.as_deref().is_some_and(|it| !is_own_post(it)) {
            return Err(SandboxApiError::content("unknown_post", "the account has no post with the id in in_reply_to"));
        }
        let waits = self.post.media_ids.iter().filter_map(|id| own(id)?.processing_time_left(self.sandbox.now()));
        match waits.max() {
            None => Ok(()),
            Some(wait) => Err(SandboxApiError::processing(wait)),
        }
    }
}

fn check(post: &NewPost, is_own_medium: impl Fn(&str) -> bool) -> Result<(), SandboxApiError> {
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
    if post.media_ids.iter().any(|it| !is_own_medium(it)) {
        let message = "a file was not uploaded by this account; upload it first";
        return Err(SandboxApiError::content("unknown_media", message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::super::testing::{CUT, SandboxHarness};
    use super::*;

    const POSTS: &str = "/sandbox/api/posts";

    #[tokio::test]
    async fn a_repeated_post_is_shown_twice() {
        let harness = SandboxHarness::new();
        let token = harness.connect("meadow").await.access;

        let first = harness.post(&token, json!({"text": "Hello", "reference": "r1"})).await;
        let second = harness.post(&token, json!({"text": "Hello", "reference": "r1"})).await;

        assert_eq!((first.status, second.status), (201, 201));
        assert_eq!(first.json()["url"], "http://sandbox.test/sandbox/posts/1");
        assert_eq!(harness.public_texts().await, ["Hello", "Hello"]);
        let found = harness.call("GET", &format!("{POSTS}?reference=r1"), &token, None).await;
        assert_eq!(found.json().as_array().unwrap().len(), 2);
        assert_eq!(found.json()[1]["id"], second.json()["id"]);
    }

    #[tokio::test]
    async fn a_reference_finds_only_posts_of_its_account() {
        let harness = SandboxHarness::new();
        let meadow = harness.connect("meadow").await.access;
        let harbour = harness.connect("harbour").await.access;
        harness.post(&meadow, json!({"text": "Hello", "reference": "r1"})).await;

        let found = harness.call("GET", &format!("{POSTS}?reference=r1"), &harbour, None).await;

        assert_eq!(found.json(), json!([]));
    }

    #[tokio::test]
    async fn reply_is_to_a_post_of_its_own_account() {
        let harness = SandboxHarness::new();
        let meadow = harness.connect("meadow").await.access;
        let harbour = harness.connect("harbour").await.access;
        harness.post(&meadow, json!({"text": "one"})).await;

        for id in ["2", "0", "x", ""] {
            let refused = harness.post(&meadow, json!({"text": "two", "in_reply_to": id})).await;
            assert_eq!((refused.status, refused.error()), (422, "unknown_post".into()), "{id}");
        }
        let refused = harness.post(&harbour, json!({"text": "two", "in_reply_to": "1"})).await;
        assert_eq!((refused.status, refused.error()), (422, "unknown_post".into()));
        let reply = harness.post(&meadow, json!({"text": "two", "in_reply_to": "1"})).await;

        assert_eq!(reply.status, 201);
        let posts = harness.get("/sandbox/posts.json").await.json();
        assert_eq!((posts[0].get("reply_to"), &posts[1]["reply_to"]), (None, &json!("1")));
        let page = harness.get("/sandbox").await;
        assert!(page.text().contains("<a href=\"/sandbox/posts/1\">Reply to post 1</a>"), "{}", page.text());
    }

    #[tokio::test]
    async fn content_over_a_limit_is_refused_and_not_shown() {
        let harness = SandboxHarness::new();
        let token = harness.connect("meadow").await.access;
        for (post, error) in [
            (json!({"text": "é".repeat(501)}), "text_too_long"),
            (json!({"text": "a", "media_ids": ["1", "2", "3", "4", "5"]}), "too_many_media"),
            (json!({"text": "a", "reference": "r".repeat(101)}), "reference_too_long"),
            (json!({"text": " \n"}), "empty_post"),
            (json!({"text": "a", "options": {"board": "nowhere"}}), "unknown_board"),
            (json!({"text": "a", "media_ids": ["nothing"]}), "unknown_media"),
            (json!({"test": "a"}), "invalid_request"),
        ] {
            let answer = harness.post(&token, post).await;
            assert_eq!((answer.status, answer.error()), (422, error.into()));
        }
        assert!(harness.public_texts().await.is_empty());

        let longest = harness.post(&token, json!({"text": "é".repeat(500)})).await;
        assert_eq!(longest.status, 201);
    }

    #[tokio::test]
    async fn invalid_token_publishes_nothing() {
        let harness = SandboxHarness::new();

        let answer = harness.post("guess", json!({"text": "Hello"})).await;

        assert_eq!((answer.status, answer.error()), (401, "invalid_token".into()));
    }

    #[tokio::test]
    async fn a_grant_without_publish_may_not_post() {
        let harness = SandboxHarness::new();
        let token = harness.connect_with("meadow", Some("profile")).await.access;

        let answer = harness.post(&token, json!({"text": "Hello"})).await;

        assert_eq!((answer.status, answer.error()), (403, "insufficient_scope".into()));
    }

    #[tokio::test]
    async fn each_fault_has_its_documented_effect_once() {
        for (kind, delay_ms, status, error, retry_after, is_public) in [
            ("refuse", 0, 422, "content_refused", "", false),
            ("busy", 5000, 429, "busy", "", false),
            ("busy_until", 5000, 429, "busy", "5", false),
            ("rate_limit", 0, 429, "rate_limited", "2", false),
            ("rate_limit", 1001, 429, "rate_limited", "2", false),
            ("rate_limit", 5000, 429, "rate_limited", "5", false),
            ("error_before", 0, 500, "server_error", "", false),
            ("error_after", 0, 500, "server_error", "", true),
            ("lose_call", 0, CUT, "", "", false),
            ("lose_answer", 0, CUT, "", "", true),
            ("slow", 1, 201, "", "", true),
        ] {
            let harness = SandboxHarness::new();
            let token = harness.connect("meadow").await.access;
            harness.arm(json!({"account": "meadow", "kind": kind, "delay_ms": delay_ms})).await;

            let struck = harness.post(&token, json!({"text": "first"})).await;
            let texts = harness.public_texts().await;
            let next = harness.post(&token, json!({"text": "second"})).await;

            assert_eq!((struck.status, struck.header("retry-after")), (status, retry_after), "{kind}");
            if !error.is_empty() {
                assert_eq!(struck.error(), error, "{kind}");
            }
            assert_eq!(texts.contains(&"first".to_owned()), is_public, "{kind}");
            assert_eq!(next.status, 201, "{kind}");
        }
    }

    #[tokio::test]
    async fn a_late_post_is_published_after_its_call_was_cut_off() {
        let harness = SandboxHarness::new();
        let token = harness.connect("meadow").await.access;
        harness.arm(json!({"kind": "late", "delay_ms": 50})).await;

        let struck = harness.post(&token, json!({"text": "late"})).await;
        let before = harness.public_texts().await;
        let published = async {
            while harness.public_texts().await.is_empty() {
                tokio::task::yield_now().await;
            }
        };

        assert_eq!((struck.status, before), (CUT, vec![]));
        tokio::time::timeout(Duration::from_secs(30), published).await.unwrap();
    }

    #[tokio::test]
    async fn expired_access_token_can_be_refreshed() {
        let harness = SandboxHarness::new();
        let tokens = harness.connect("meadow").await;
        harness.arm(json!({"kind": "expire"})).await;

        let struck = harness.post(&tokens.access, json!({"text": "Hello"})).await;
        let later = harness.post(&tokens.access, json!({"text": "Hello"})).await;
        let renewed = harness.refresh(&tokens.refresh).await.string("access_token");
        let posted = harness.post(&renewed, json!({"text": "Hello"})).await;

        assert_eq!((struck.status, later.status, posted.status), (401, 401, 201));
    }

    #[tokio::test]
    async fn published_post_can_be_missing_from_one_look_up() {
        let harness = SandboxHarness::new();
        let token = harness.connect("meadow").await.access;
        harness.arm(json!({"kind": "look_error"})).await;

        let struck = harness.call("GET", &format!("{POSTS}?reference=r1"), &token, None).await;
        let next = harness.call("GET", &format!("{POSTS}?reference=r1"), &token, None).await;

        assert_eq!((struck.status, next.status), (500, 200));
    }

    #[tokio::test]
    async fn revoked_grant_cannot_be_refreshed() {
        let harness = SandboxHarness::new();
        let tokens = harness.connect("meadow").await;
        harness.arm(json!({"kind": "revoke"})).await;

        let struck = harness.post(&tokens.access, json!({"text": "Hello"})).await;
        let later = harness.post(&tokens.access, json!({"text": "Hello"})).await;
        let refreshed = harness.refresh(&tokens.refresh).await;

        assert_eq!((struck.status, struck.error()), (401, "invalid_token".into()));
        assert_eq!((later.status, refreshed.status), (401, 400));
        assert!(harness.public_texts().await.is_empty());
    }

    #[tokio::test]
    async fn slow_post_is_published_after_client_disconnect() {
        let harness = SandboxHarness::new();
        let token = harness.connect("meadow").await.access;
        harness.arm(json!({"kind": "slow", "delay_ms": 50})).await;

        let mut client = Box::pin(harness.post(&token, json!({"text": "late"})));
        let waits = futures::poll!(&mut client).is_pending();
        drop(client);
        let before = harness.public_texts().await;
        let published = async {
            while harness.public_texts().await.is_empty() {
                tokio::task::yield_now().await;
            }
        };

        assert!(waits);
        assert!(before.is_empty());
        tokio::time::timeout(Duration::from_secs(30), published).await.unwrap();
    }

    #[tokio::test]
    async fn a_lost_answer_is_a_broken_connection_and_a_public_post() {
        let harness = SandboxHarness::new();
        let token = harness.connect("meadow").await.access;
        harness.arm(json!({"kind": "lose_answer"})).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(axum::serve(listener, harness.router()).into_future());
        let body = r#"{"text":"said"}"#;
        let request = format!(
            "POST {POSTS} HTTP/1.1\r\nhost: sandbox\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );

        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // A reset counts as an end: neither is a response.
        let _ = client.read_to_end(&mut answer).await;

        assert_eq!(String::from_utf8_lossy(&answer), "");
        assert_eq!(harness.public_texts().await, ["said"]);
        server.abort();
    }
}
