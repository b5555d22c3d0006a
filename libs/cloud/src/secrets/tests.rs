use std::sync::Mutex as StdMutex;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use domain::testing::noon;
use serde::Deserialize;
use serde_json::{Value, json};

use super::*;
use crate::testing::sdk_config;

const ID: &str = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:sandbox-x1Y2z3";

#[derive(Debug, Deserialize, PartialEq, Eq)]
struct Pin {
    pin: String,
}

#[derive(Clone)]
struct FakeSecretsManager {
    answer: Arc<StdMutex<(u16, String)>>,
    seen: Arc<StdMutex<Vec<Value>>>,
    clock: Clock,
}

impl FakeSecretsManager {
    fn with_value(value: &str) -> Self {
        let manager = Self { answer: Arc::default(), seen: Arc::default(), clock: Clock::manual(noon()) };
        manager.keeps(value);
        manager
    }

    fn keeps(&self, value: &str) {
        self.respond_with(200, &json!({"ARN": ID, "Name": "sandbox", "SecretString": value}).to_string());
    }

    fn fails(&self, status: u16, code: &str) {
        self.respond_with(status, &json!({"__type": code, "Message": "so it is"}).to_string());
    }

    fn respond_with(&self, status: u16, body: &str) {
        *self.answer.lock().unwrap() = (status, body.to_owned());
    }

    fn request_count(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    async fn secret(&self) -> Secret<Pin> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let routes = Router::new().route("/", post(get_secret_value)).with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        self.secret_at(&endpoint)
    }

    fn secret_at(&self, endpoint: &str) -> Secret<Pin> {
        Secret::new(&sdk_config(endpoint), ID.to_owned(), r#"{"pin": "…"}"#, self.clock.clone())
    }
}

async fn get_secret_value(State(manager): State<FakeSecretsManager>, headers: HeaderMap, body: String) -> Response {
    assert_eq!(headers["x-amz-target"], "secretsmanager.GetSecretValue");
    manager.seen.lock().unwrap().push(serde_json::from_str(&body).unwrap());
    let (status, body) = manager.answer.lock().unwrap().clone();
    let headers = [("content-type", "application/x-amz-json-1.1")];
    (StatusCode::from_u16(status).unwrap(), headers, body).into_response()
}

#[tokio::test]
async fn secret_is_read_at_first_use_and_cached_for_ten_minutes() {
    let manager = FakeSecretsManager::with_value(r#"{"pin": "1234"}"#);
    let secret = manager.secret().await;
    assert_eq!(manager.request_count(), 0, "nobody has asked");

    assert_eq!(secret.get().await.unwrap().pin, "1234");
    assert_eq!(*manager.seen.lock().unwrap(), [json!({ "SecretId": ID })]);

    manager.keeps(r#"{"pin": "5678"}"#);
    manager.clock.advance(CACHE_LIFETIME - TimeDelta::seconds(1));
    assert_eq!(secret.get().await.unwrap().pin, "1234");
    manager.clock.advance(TimeDelta::seconds(1));
    assert_eq!(secret.get().await.unwrap().pin, "5678");
    assert_eq!(manager.request_count(), 2);
}

#[tokio::test]
async fn concurrent_callers_share_one_read() {
    let manager = FakeSecretsManager::with_value(r#"{"pin": "1234"}"#);
    let secret = manager.secret().await;

    let all = futures::future::join_all((0..50).map(|_| secret.get())).await;
    assert!(all.iter().all(|it| it.as_ref().is_ok_and(|it| it.pin == "1234")), "{all:?}");
    assert_eq!(manager.request_count(), 1);

    manager.fails(500, "InternalServiceError");
    let fresh = manager.secret().await;
    let all = futures::future::join_all((0..50).map(|_| fresh.get())).await;
    assert!(all.iter().all(Result::is_err), "{all:?}");
    assert_eq!(manager.request_count(), 2, "a failure is shared too");
}

#[tokio::test]
async fn refused_value_is_read_again_unless_already_replaced() {
    let manager = FakeSecretsManager::with_value(r#"{"pin": "1234"}"#);
    let secret = manager.secret().await;
    let wrong = secret.get().await.unwrap();
    manager.keeps(r#"{"pin": "5678"}"#);

    secret.refused(&wrong);
    assert_eq!(secret.get().await.unwrap().pin, "5678");
    secret.refused(&wrong);
    assert_eq!(secret.get().await.unwrap().pin, "5678");

    assert_eq!(manager.request_count(), 2);
}

#[tokio::test]
async fn error_names_the_secret_and_the_remedy() {
    let cases = [
        (400, "ResourceNotFoundException", "does not exist; create it"),
        (400, "AccessDeniedException", "allow the function's role secretsmanager:GetSecretValue on it"),
        (400, "DecryptionFailure", "DecryptionFailure: so it is"),
        (500, "InternalServiceError", "InternalServiceError: so it is"),
    ];
    for (status, code, expected) in cases {
        let manager = FakeSecretsManager::with_value("");
        manager.fails(status, code);

        let error = manager.secret().await.get().await.unwrap_err().to_string();

        assert!(error.contains(ID) && error.contains(expected), "{code}: {error}");
    }

    let unreachable = FakeSecretsManager::with_value("").secret_at("http://127.0.0.1:1").get().await.unwrap_err();
    assert!(matches!(unreachable, SecretError::Unavailable { .. }), "{unreachable}");
    assert!(unreachable.to_string().contains("dispatch failure: "), "{unreachable}");
}

#[tokio::test]
async fn failed_read_is_retried_after_30_seconds() {
    let manager = FakeSecretsManager::with_value("");
    let secret = manager.secret().await;
    manager.fails(400, "ResourceNotFoundException");
    assert_eq!(secret.get().await, Err(SecretError::NotThere { id: ID.to_owned() }));
    manager.keeps(r#"{"pin": "1234"}"#);

    assert!(secret.get().await.is_err());
    manager.clock.advance(RETRY_AFTER);
    assert_eq!(secret.get().await.unwrap().pin, "1234");
}

#[tokio::test]
async fn last_value_is_used_while_unavailable_but_not_when_denied() {
    let manager = FakeSecretsManager::with_value(r#"{"pin": "1234"}"#);
    let secret = manager.secret().await;
    secret.get().await.unwrap();

    manager.fails(500, "InternalServiceError");
    manager.clock.advance(CACHE_LIFETIME);
    assert_eq!(secret.get().await.unwrap().pin, "1234");

    manager.fails(400, "AccessDeniedException");
    assert_eq!(secret.get().await.unwrap().pin, "1234", "no second read before 30 seconds");
    manager.clock.advance(RETRY_AFTER);
    assert_eq!(secret.get().await, Err(SecretError::AccessDenied { id: ID.to_owned() }));
}

#[tokio::test]
async fn unreadable_value_is_not_shown() {
    let long = format!(r#"{{"pin": "very-secret", "more": "{}"}}"#, "x".repeat(MAX_BYTES));
    for value in ["very-secret", r#""very-secret""#, r#"{"pin": ["very-secret"]}"#, &long] {
        let error = FakeSecretsManager::with_value(value).secret().await.get().await.unwrap_err();

        assert_eq!(error, SecretError::Unreadable { id: ID.to_owned(), form: r#"{"pin": "…"}"# });
        assert!(!format!("{error} {error:?}").contains("very-secret"), "{error}");
    }

    let manager = FakeSecretsManager::with_value("");
    manager.respond_with(200, &json!({"ARN": ID, "SecretBinary": "dmVyeS1zZWNyZXQ="}).to_string());
    assert!(matches!(manager.secret().await.get().await, Err(SecretError::Unreadable { .. })));

    // The answer itself is broken: the SDK's error has it in it.
    manager.respond_with(200, r#"{"SecretString": "very-secret""#);
    let broken = manager.secret().await.get().await.unwrap_err();
    assert!(matches!(broken, SecretError::Unavailable { .. }), "{broken:?}");
    assert!(!format!("{broken} {broken:?}").contains("very-secret"), "{broken:?}");
}
