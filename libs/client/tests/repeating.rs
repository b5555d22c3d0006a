//! What a call does when its answer does not come.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic here is the failing assertion")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use client::{Base, Client, Error, IdempotencyKey, ListPosts, NewPost, NewWebhook, Patience, PostChanges, PostTime};
use serde_json::json;

/// How a server answers one request.
#[derive(Clone, Copy)]
enum Says {
    /// With a status and a message.
    Status(u16),
    /// 429, and to come back in so many seconds.
    Limit(u64),
    Post,
    /// Not at all: the connection is cut.
    Nothing,
}

#[derive(Clone, Default)]
struct Server {
    script: Arc<Mutex<VecDeque<Says>>>,
    keys: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn saying(script: &[Says]) -> (Self, Client) {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let server = Self { script: Arc::new(Mutex::new(script.iter().copied().collect())), ..Self::default() };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let quick = Patience { first_wait: Duration::from_millis(1), ..Patience::default() };
        let client = Client::new(reqwest::Client::new(), Base::parse(&origin).unwrap(), Some("sp_test".into()));
        (server, client.with_patience(quick))
    }

    /// The keys of the requests that came; an empty one where there was none.
    fn keys(&self) -> Vec<String> {
        self.keys.lock().unwrap().clone()
    }
}

async fn answer(State(server): State<Server>, headers: HeaderMap, _: Request) -> Response {
    let key = headers.get("idempotency-key").map(|it| it.to_str().unwrap().to_owned());
    server.keys.lock().unwrap().push(key.unwrap_or_default());
    let says = server.script.lock().unwrap().pop_front().unwrap_or(Says::Nothing);
    match says {
        Says::Status(status) => {
            (StatusCode::from_u16(status).unwrap(), json!({"message": "words"}).to_string()).into_response()
        }
        Says::Limit(wait) => {
            (StatusCode::TOO_MANY_REQUESTS, [("retry-after", wait.to_string())], r#"{"message":"limit"}"#)
                .into_response()
        }
        Says::Post => (StatusCode::CREATED, post()).into_response(),
        // The connection of a handler that panics is closed without an answer.
        Says::Nothing => panic!("no answer, as the script wants it"),
    }
}

fn post() -> String {
    json!({
        "id": 7, "revision": 1, "content": "a", "status": "draft", "scheduled_at": null, "created_at": "2026-11-21T09:30:00.000Z",
        "updated_at": "2026-11-21T09:30:00.000Z", "creator": {"id": 1, "name": "A"}, "platforms": [], "media": [],
    })
    .to_string()
}

fn key() -> IdempotencyKey {
    IdempotencyKey::parse("k").unwrap()
}

fn new_post() -> NewPost {
    NewPost { content: "a".to_owned(), ..NewPost::default() }
}

#[tokio::test]
async fn a_post_with_a_key_is_sent_again_under_the_same_key() {
    let (server, client) = Server::saying(&[Says::Nothing, Says::Status(500), Says::Status(503), Says::Post]).await;

    assert_eq!(client.create_post(&new_post(), Some(&key())).await.unwrap().id, 7);

    assert_eq!(server.keys(), ["k", "k", "k", "k"]);
}

#[tokio::test]
async fn a_post_without_a_key_is_sent_once() {
    for says in [Says::Nothing, Says::Status(500), Says::Status(503)] {
        let (server, client) = Server::saying(&[says, Says::Post]).await;

        assert!(matches!(client.create_post(&new_post(), None).await, Err(Error::Unknown(_))));
        assert_eq!(server.keys().len(), 1);
    }
    let (_, client) = Server::saying(&[Says::Nothing]).await;
    assert!(matches!(client.create_webhook(&NewWebhook::default()).await, Err(Error::Unknown(_))));
}

#[tokio::test]
async fn a_change_is_sent_once() {
    let (server, client) = Server::saying(&[Says::Nothing, Says::Post]).await;
    let again = PostChanges { scheduled_at: Some(Some(PostTime::Now)), ..PostChanges::default() };

    assert!(matches!(client.change_post(7, &again, None).await, Err(Error::Unknown(_))));

    assert_eq!(server.keys().len(), 1);
}

#[tokio::test]
async fn what_never_gets_an_answer_ends_as_unknown_with_a_key_too() {
    let (server, client) = Server::saying(&[]).await;

    assert!(matches!(client.create_post(&new_post(), Some(&key())).await, Err(Error::Unknown(_))));

    assert_eq!(server.keys().len(), 4);
}

#[tokio::test]
async fn a_question_that_changes_nothing_is_never_unknown() {
    let (server, client) = Server::saying(&[]).await;
    assert!(matches!(client.list_posts(&ListPosts::default()).await, Err(Error::Unreachable(_))));
    assert_eq!(server.keys().len(), 4);

    let (_, client) = Server::saying(&[Says::Nothing, Says::Status(422)]).await;
    assert!(matches!(client.validate_post(&new_post()).await, Err(Error::Refused(_))));
}

#[tokio::test]
async fn a_refusal_is_told_at_once() {
    for (status, is_sign_in) in [(401, true), (403, false), (404, false), (422, false)] {
        let (server, client) = Server::saying(&[Says::Status(status), Says::Post]).await;

        let error = client.create_post(&new_post(), Some(&key())).await.unwrap_err();

        assert_eq!(error.status(), Some(status));
        assert_eq!(matches!(error, Error::NotSignedIn(_)), is_sign_in);
        assert_eq!(server.keys().len(), 1);
    }
}

#[tokio::test]
async fn a_refusal_after_silence_proves_nothing_unless_the_key_says_so() {
    let (_, client) = Server::saying(&[Says::Nothing, Says::Status(422)]).await;
    assert!(matches!(client.create_post(&new_post(), Some(&key())).await, Err(Error::Refused(_))));

    let (_, client) = Server::saying(&[Says::Nothing, Says::Status(401)]).await;
    assert!(matches!(client.create_post(&new_post(), Some(&key())).await, Err(Error::Unknown(_))));

    // Perhaps the first change took effect, and the post is going out since.
    let (_, client) = Server::saying(&[Says::Nothing, Says::Status(422)]).await;
    assert!(matches!(client.change_post(7, &PostChanges::default(), None).await, Err(Error::Unknown(_))));
}

#[tokio::test]
async fn what_is_gone_when_it_is_deleted_again_was_deleted() {
    let (_, client) = Server::saying(&[Says::Nothing, Says::Status(404)]).await;
    assert!(client.delete_post(7, None).await.is_ok());

    let (_, client) = Server::saying(&[Says::Status(404)]).await;
    assert_eq!(client.delete_post(7, None).await.unwrap_err().status(), Some(404));
}

#[tokio::test]
async fn while_the_first_is_answered_the_second_waits() {
    let (_, client) = Server::saying(&[Says::Status(409), Says::Status(409), Says::Post]).await;
    assert!(client.create_post(&new_post(), Some(&key())).await.is_ok());
}

#[tokio::test]
async fn a_limit_is_waited_out_and_a_longer_one_is_told() {
    let (server, client) = Server::saying(&[Says::Limit(0), Says::Limit(0), Says::Post]).await;
    // Without a key too: what is limited has not begun.
    assert!(client.create_post(&new_post(), None).await.is_ok());
    assert_eq!(server.keys().len(), 3);

    let (server, client) = Server::saying(&[Says::Limit(3600), Says::Post]).await;
    assert_eq!(client.create_post(&new_post(), None).await.unwrap_err().status(), Some(429));
    assert_eq!(server.keys().len(), 1);
}

#[tokio::test]
async fn a_service_that_is_not_there_was_sent_nothing() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let client = Client::new(reqwest::Client::new(), Base::parse(&format!("http://{closed}")).unwrap(), None);
    let quick = Patience { first_wait: Duration::from_millis(1), ..Patience::default() };
    let error = client.with_patience(quick).create_post(&new_post(), None).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable(_)), "{error}");
}
