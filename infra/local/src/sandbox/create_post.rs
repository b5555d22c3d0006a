//! Publishing a post, and the faults that can be ordered for it.

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde::Deserialize;
use serde_json::json;
use std::io;

use super::Sandbox;
use super::accounts::Account;
use super::caller::{Caller, PUBLISH};
use super::fact::{Fact, Post};
use super::faults::Kind;
use super::refusal::Refusal;

/// Characters of a text.
const MAX_TEXT: usize = 500;
/// Pictures and videos of a post.
const MAX_MEDIA: usize = 4;
/// Characters of a reference.
const MAX_REFERENCE: usize = 100;

/// What a client wants to publish.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewPost {
    #[serde(default)]
    text: String,
    #[serde(default)]
    media_ids: Vec<String>,
    #[serde(default)]
    reference: String,
}

/// Makes a post public, every time anew: nothing here recognises a repetition.
pub(super) async fn create_post(
    State(sandbox): State<Sandbox>,
    caller: Caller,
    body: Result<Json<NewPost>, JsonRejection>,
) -> Result<Response, Refusal> {
    caller.needs(PUBLISH)?;
    let Json(post) = body?;
    let Some(strike) = sandbox.faults().take(caller.account) else {
        return publish(&sandbox, caller.account, post);
    };
    tracing::info!(kind = strike.kind.name(), account = caller.account.handle(), "a fault strikes");
    match strike.kind {
        Kind::Slow => {
            // A task of its own goes on when the client hangs up.
            let work = tokio::spawn(async move {
                tokio::time::sleep(strike.delay).await;
                publish(&sandbox, caller.account, post)
            });
            work.await.unwrap_or(Err(Refusal::Internal))
        }
        Kind::Refuse => {
            let message = "this content is against the rules of the sandbox";
            Err(Refusal::content("content_refused", message))
        }
        Kind::RateLimit => {
            let asked = u64::try_from(strike.delay.as_millis().div_ceil(1000)).unwrap_or(60);
            Err(Refusal::RateLimited { wait_seconds: if asked == 0 { 2 } else { asked } })
        }
        Kind::ErrorBefore => Err(Refusal::Internal),
        Kind::LoseAnswer => publish(&sandbox, caller.account, post).map(|_| cut_connection()),
        Kind::Revoke => {
            sandbox.ledger().record(Fact::Revoked { grant: caller.grant })?;
            Err(Refusal::InvalidToken)
        }
    }
}

fn publish(sandbox: &Sandbox, account: Account, post: NewPost) -> Result<Response, Refusal> {
    let mut ledger = sandbox.ledger();
    check(&post, |id| ledger.world().medium(id).is_some_and(|it| it.account == account))?;
    let NewPost { text, media_ids: media, reference } = post;
    ledger.record(Fact::Posted(Post { account, text, media, reference, at: sandbox.now() }))?;
    let id = ledger.world().posts().len().to_string();
    let url = sandbox.url(&format!("posts/{id}"));
    Ok((StatusCode::CREATED, Json(json!({ "id": id, "url": url }))).into_response())
}

fn check(post: &NewPost, is_own_medium: impl Fn(&str) -> bool) -> Result<(), Refusal> {
    let chars = post.text.chars().count();
    if MAX_TEXT < chars {
        let message = format!("a text may have {MAX_TEXT} characters; this one has {chars}");
        return Err(Refusal::content("text_too_long", message));
    }
    let count = post.media_ids.len();
    if MAX_MEDIA < count {
        let message = format!("a post may have {MAX_MEDIA} files; this one has {count}");
        return Err(Refusal::content("too_many_media", message));
    }
    if MAX_REFERENCE < post.reference.chars().count() {
        let message = format!("a reference may have {MAX_REFERENCE} characters");
        return Err(Refusal::content("reference_too_long", message));
    }
    if post.text.trim().is_empty() && count == 0 {
        return Err(Refusal::content("empty_post", "a post needs a text or a file"));
    }
    if post.media_ids.iter().any(|it| !is_own_medium(it)) {
        let message = "a file was not uploaded by this account; upload it first";
        return Err(Refusal::content("unknown_media", message));
    }
    Ok(())
}

/// An answer that fails before its first byte: the server has nothing to send
/// and closes the connection.
fn cut_connection() -> Response {
    let cut = io::Error::new(io::ErrorKind::ConnectionAborted, "cut on purpose");
    Body::from_stream(stream::once(async { Err::<Bytes, _>(cut) })).into_response()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::super::testing::Network;
    use super::*;

    const POSTS: &str = "/sandbox/api/posts";

    #[tokio::test]
    async fn a_repeated_post_is_shown_twice() {
        let network = Network::new();
        let token = network.connect("meadow").await.access;

        let first = network.post(&token, json!({"text": "Hello", "reference": "r1"})).await;
        let second = network.post(&token, json!({"text": "Hello", "reference": "r1"})).await;

        assert_eq!((first.status, second.status), (201, 201));
        assert_eq!(first.json()["url"], "http://sandbox.test/sandbox/posts/1");
        assert_eq!(network.public_texts().await, ["Hello", "Hello"]);
        let found = network.call("GET", &format!("{POSTS}?reference=r1"), &token, None).await;
        assert_eq!(found.json().as_array().unwrap().len(), 2);
        assert_eq!(found.json()[1]["id"], second.json()["id"]);
    }

    #[tokio::test]
    async fn a_reference_finds_only_posts_of_its_account() {
        let network = Network::new();
        let meadow = network.connect("meadow").await.access;
        let harbour = network.connect("harbour").await.access;
        network.post(&meadow, json!({"text": "Hello", "reference": "r1"})).await;

        let found = network.call("GET", &format!("{POSTS}?reference=r1"), &harbour, None).await;

        assert_eq!(found.json(), json!([]));
    }

    #[tokio::test]
    async fn content_over_a_limit_is_refused_and_not_shown() {
        let network = Network::new();
        let token = network.connect("meadow").await.access;
        for (post, error) in [
            (json!({"text": "é".repeat(501)}), "text_too_long"),
            (json!({"text": "a", "media_ids": ["1", "2", "3", "4", "5"]}), "too_many_media"),
            (json!({"text": "a", "reference": "r".repeat(101)}), "reference_too_long"),
            (json!({"text": " \n"}), "empty_post"),
            (json!({"text": "a", "media_ids": ["nothing"]}), "unknown_media"),
            (json!({"test": "a"}), "invalid_request"),
        ] {
            let answer = network.post(&token, post).await;
            assert_eq!((answer.status, answer.error()), (422, error.into()));
        }
        assert!(network.public_texts().await.is_empty());

        let longest = network.post(&token, json!({"text": "é".repeat(500)})).await;
        assert_eq!(longest.status, 201);
    }

    #[tokio::test]
    async fn without_a_good_token_nothing_is_published() {
        let network = Network::new();

        let answer = network.post("guess", json!({"text": "Hello"})).await;

        assert_eq!((answer.status, answer.error()), (401, "invalid_token".into()));
    }

    #[tokio::test]
    async fn a_grant_without_publish_may_not_post() {
        let network = Network::new();
        let token = network.connect_with("meadow", Some("profile")).await.access;

        let answer = network.post(&token, json!({"text": "Hello"})).await;

        assert_eq!((answer.status, answer.error()), (403, "insufficient_scope".into()));
    }

    #[tokio::test]
    async fn a_refused_post_is_not_published_and_the_next_one_is() {
        let network = Network::new();
        let token = network.connect("meadow").await.access;
        network.arm(json!({"account": "meadow", "kind": "refuse", "count": 1})).await;

        let refused = network.post(&token, json!({"text": "first"})).await;
        let next = network.post(&token, json!({"text": "second"})).await;

        assert_eq!((refused.status, refused.error()), (422, "content_refused".into()));
        assert_eq!(next.status, 201);
        assert_eq!(network.public_texts().await, ["second"]);
    }

    #[tokio::test]
    async fn a_rate_limit_says_how_long_to_wait() {
        let network = Network::new();
        let token = network.connect("meadow").await.access;
        for (delay_ms, wait) in [(0, "2"), (1001, "2"), (5000, "5")] {
            network.arm(json!({"account": null, "kind": "rate_limit", "delay_ms": delay_ms})).await;
            let answer = network.post(&token, json!({"text": "Hello"})).await;
            assert_eq!((answer.status, answer.header("retry-after")), (429, wait));
        }
        assert!(network.public_texts().await.is_empty());
    }

    #[tokio::test]
    async fn an_error_before_means_nothing_was_done() {
        let network = Network::new();
        let token = network.connect("meadow").await.access;
        network.arm(json!({"kind": "error_before"})).await;

        let answer = network.post(&token, json!({"text": "Hello"})).await;

        assert_eq!(answer.status, 500);
        assert!(network.public_texts().await.is_empty());
    }

    #[tokio::test]
    async fn a_revoked_grant_is_gone_for_good() {
        let network = Network::new();
        let tokens = network.connect("meadow").await;
        network.arm(json!({"kind": "revoke"})).await;

        let struck = network.post(&tokens.access, json!({"text": "Hello"})).await;
        let later = network.post(&tokens.access, json!({"text": "Hello"})).await;
        let refreshed = network.refresh(&tokens.refresh).await;

        assert_eq!((struck.status, struck.error()), (401, "invalid_token".into()));
        assert_eq!((later.status, refreshed.status), (401, 400));
        assert!(network.public_texts().await.is_empty());
    }

    #[tokio::test]
    async fn a_slow_post_is_published_although_the_client_has_gone() {
        let network = Network::new();
        let token = network.connect("meadow").await.access;
        network.arm(json!({"kind": "slow", "delay_ms": 50})).await;

        let mut client = Box::pin(network.post(&token, json!({"text": "late"})));
        let waits = futures::poll!(&mut client).is_pending();
        drop(client);
        let before = network.public_texts().await;
        let published = async {
            while network.public_texts().await.is_empty() {
                tokio::task::yield_now().await;
            }
        };

        assert!(waits);
        assert!(before.is_empty());
        tokio::time::timeout(Duration::from_secs(30), published).await.unwrap();
    }

    #[tokio::test]
    async fn a_lost_answer_is_a_broken_connection_and_a_public_post() {
        let network = Network::new();
        let token = network.connect("meadow").await.access;
        network.arm(json!({"kind": "lose_answer"})).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(axum::serve(listener, network.router()).into_future());
        let body = r#"{"text":"said"}"#;
        let request = format!(
            "POST {POSTS} HTTP/1.1\r\nhost: sandbox\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );

        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // A reset is as good as an end: neither is an answer.
        let _ = client.read_to_end(&mut answer).await;

        assert_eq!(String::from_utf8_lossy(&answer), "");
        assert_eq!(network.public_texts().await, ["said"]);
        server.abort();
    }
}
