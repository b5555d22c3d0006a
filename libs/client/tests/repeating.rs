//! Behavior of a call whose response is missing.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic here is the failing assertion")]

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use client::{
    BaseUrl, Client, Error, IdempotencyKey, ListPosts, NewPost, NewWebhook, PostChanges, PostTime, RetryPolicy,
};
use serde_json::json;

#[derive(Clone, Copy)]
enum Reply {
    Status(u16),
    /// 429 with this `Retry-After` in seconds.
    Limit(u64),
    Post,
    /// No response: the connection is cut.
    Disconnect,
}

#[derive(Clone, Default)]
struct Server {
    script: Arc<Mutex<VecDeque<Reply>>>,
    keys: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn with_script(script: &[Reply]) -> (Self, Client) {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let server = Self { script: Arc::new(Mutex::new(script.iter().copied().collect())), ..Self::default() };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(respond).with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let retry_policy = RetryPolicy { first_wait: Duration::from_millis(1), ..RetryPolicy::default() };
        let client = Client::new(reqwest::Client::new(), BaseUrl::parse(&origin).unwrap(), Some("sp_test".into()));
        (server, client.with_retry_policy(retry_policy))
    }

    /// Empty for a request without a key.
    fn keys(&self) -> Vec<String> {
        self.keys.lock().unwrap().clone()
    }
}

async fn respond(State(server): State<Server>, headers: HeaderMap, _: Request) -> Response {
    let key = headers.get("idempotency-key").map(|it| it.to_str().unwrap().to_owned());
    server.keys.lock().unwrap().push(key.unwrap_or_default());
    let reply = server.script.lock().unwrap().pop_front().unwrap_or(Reply::Disconnect);
    match reply {
        Reply::Status(status) => {
            (StatusCode::from_u16(status).unwrap(), json!({"message": "words"}).to_string()).into_response()
        }
        Reply::Limit(wait) => {
            (StatusCode::TOO_MANY_REQUESTS, [("retry-after", wait.to_string())], r#"{"message":"limit"}"#)
                .into_response()
        }
        Reply::Post => (StatusCode::CREATED, post()).into_response(),
        // The connection of a handler that panics is closed without a response.
        Reply::Disconnect => panic!("no response, as scripted"),
    }
}

fn post() -> String {
    json!({
        "id": 7, "revision": 1, "content": "a", "status": "draft", "scheduled_at": null, "created_at": "2026-11-21T09:30:00.000Z",
        "updated_at": "2026-11-21T09:30:00.000Z", "creator": {"id": 1, "name": "A"}, "platforms": [], "media": [], "thread": [],
        "external_id": null, "labels": [],
    })
    .to_string()
}

fn key() -> IdempotencyKey {
    IdempotencyKey::parse("k").unwrap()
}

fn new_post() -> NewPost {
    NewPost::new("a".to_owned())
}

#[tokio::test]
async fn post_with_a_key_is_repeated_under_the_same_key() {
    let (server, client) =
        Server::with_script(&[Reply::Disconnect, Reply::Status(500), Reply::Status(503), Reply::Post]).await;

    assert_eq!(client.create_post(&new_post(), Some(&key())).await.unwrap().id, 7);

    assert_eq!(server.keys(), ["k", "k", "k", "k"]);
}

#[tokio::test]
async fn a_post_without_a_key_is_sent_once() {
    for reply in [Reply::Disconnect, Reply::Status(500), Reply::Status(503)] {
        let (server, client) = Server::with_script(&[reply, Reply::Post]).await;

        assert!(matches!(client.create_post(&new_post(), None).await, Err(Error::Unknown(_))));
        assert_eq!(server.keys().len(), 1);
    }
    let (_, client) = Server::with_script(&[Reply::Disconnect]).await;
    assert!(matches!(client.create_webhook(&NewWebhook::default()).await, Err(Error::Unknown(_))));
}

#[tokio::test]
async fn change_without_a_key_is_sent_once() {
    let (server, client) = Server::with_script(&[Reply::Disconnect, Reply::Post]).await;
    let again = PostChanges::schedule(PostTime::Now);

    assert!(matches!(client.change_post(7, &again, None).await, Err(Error::Unknown(_))));

    assert_eq!(server.keys().len(), 1);
}

#[tokio::test]
async fn missing_response_ends_as_unknown_even_with_a_key() {
    let (server, client) = Server::with_script(&[]).await;

    assert!(matches!(client.create_post(&new_post(), Some(&key())).await, Err(Error::Unknown(_))));

    assert_eq!(server.keys().len(), 4);
}

#[tokio::test]
async fn request_that_changes_nothing_is_never_unknown() {
    let (server, client) = Server::with_script(&[]).await;
    assert!(matches!(client.list_posts(&ListPosts::default()).await, Err(Error::Unreachable(_))));
    assert_eq!(server.keys().len(), 4);

    let (_, client) = Server::with_script(&[Reply::Disconnect, Reply::Status(422)]).await;
    assert!(matches!(client.validate_post(&new_post()).await, Err(Error::Refused(_))));
}

#[tokio::test]
async fn refusal_is_returned_without_a_retry() {
    for (status, is_sign_in) in [(401, true), (403, false), (404, false), (422, false)] {
        let (server, client) = Server::with_script(&[Reply::Status(status), Reply::Post]).await;

        let error = client.create_post(&new_post(), Some(&key())).await.unwrap_err();

        assert_eq!(error.status(), Some(status));
        assert_eq!(matches!(error, Error::NotSignedIn(_)), is_sign_in);
        assert_eq!(server.keys().len(), 1);
    }
}

#[tokio::test]
async fn refusal_after_a_lost_response_is_certain_only_with_a_key() {
    let (_, client) = Server::with_script(&[Reply::Disconnect, Reply::Status(422)]).await;
    assert!(matches!(client.create_post(&new_post(), Some(&key())).await, Err(Error::Refused(_))));

    let (_, client) = Server::with_script(&[Reply::Disconnect, Reply::Status(401)]).await;
    assert!(matches!(client.create_post(&new_post(), Some(&key())).await, Err(Error::Unknown(_))));

    // The first change may have taken effect, and the post is being published.
    let (_, client) = Server::with_script(&[Reply::Disconnect, Reply::Status(422)]).await;
    assert!(matches!(client.change_post(7, &PostChanges::default(), None).await, Err(Error::Unknown(_))));
}

#[tokio::test]
async fn repeated_delete_with_404_counts_as_deleted() {
    let (_, client) = Server::with_script(&[Reply::Disconnect, Reply::Status(404)]).await;
    assert!(client.delete_post(7, None).await.is_ok());

    let (_, client) = Server::with_script(&[Reply::Status(404)]).await;
    assert_eq!(client.delete_post(7, None).await.unwrap_err().status(), Some(404));
}

#[tokio::test]
async fn call_waits_while_the_first_with_its_key_is_in_progress() {
    let (_, client) = Server::with_script(&[Reply::Status(409), Reply::Status(409), Reply::Post]).await;
    assert!(client.create_post(&new_post(), Some(&key())).await.is_ok());
}

static NOTICED_WAITS: AtomicU32 = AtomicU32::new(0);

#[tokio::test]
async fn short_limit_is_waited_for_and_long_limit_is_an_error() {
    let (server, client) = Server::with_script(&[Reply::Limit(0), Reply::Limit(0), Reply::Post]).await;
    let client = client.with_limit_notice(|_| {
        NOTICED_WAITS.fetch_add(1, Ordering::Relaxed);
    });
    // This holds without a key too, because a limited call has not begun.
    assert!(client.create_post(&new_post(), None).await.is_ok());
    assert_eq!((server.keys().len(), NOTICED_WAITS.load(Ordering::Relaxed)), (3, 2));

    let (server, client) = Server::with_script(&[Reply::Limit(3600), Reply::Post]).await;
    assert_eq!(client.create_post(&new_post(), None).await.unwrap_err().status(), Some(429));
    assert_eq!(server.keys().len(), 1);
}

#[tokio::test]
async fn unreachable_service_is_not_an_unknown_outcome() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let client = Client::new(reqwest::Client::new(), BaseUrl::parse(&format!("http://{closed}")).unwrap(), None);
    let quick = RetryPolicy { first_wait: Duration::from_millis(1), ..RetryPolicy::default() };
    let error = client.with_retry_policy(quick).create_post(&new_post(), None).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable(_)), "{error}");
}
