use chrono::TimeDelta;
use fakes::bluesky::Bluesky;
use http::Method;
use platforms::conformance::fake_platform::FakePlatform;
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use crate::client::{Body, Client, PdsResponse, TID, post};

fn app_password(fake: &Bluesky) -> String {
    fake.direct_form_values().unwrap()["app_password"].expose_secret().to_owned()
}

async fn sign_in(client: &Client, identifier: &str, password: &str) -> PdsResponse {
    let body = json!({ "identifier": identifier, "password": password });
    client.bearer(Method::POST, "com.atproto.server.createSession", "", Body::Json(&body)).await
}

async fn refresh(client: &Client, token: &str) -> PdsResponse {
    client.bearer(Method::POST, "com.atproto.server.refreshSession", token, Body::Nothing).await
}

async fn put(client: &Client, token: &str) -> PdsResponse {
    let body = client.writing(TID, &post("hello"));
    client.bearer(Method::POST, "com.atproto.repo.putRecord", token, Body::Json(&body)).await
}

#[tokio::test]
async fn a_password_gives_a_session() {
    let client = Client::new().await;
    let password = app_password(&client.fake);

    assert_eq!(sign_in(&client, "alice.test", "wrong").await.error(), (401, "AuthenticationRequired"));
    assert_eq!(sign_in(&client, "bob.test", &password).await.error(), (401, "AuthenticationRequired"));
    let session = sign_in(&client, "alice.test", &password).await;
    assert_eq!(session.body["did"], client.fake.did());
    assert_eq!(put(&client, &session.text("accessJwt")).await.status, 200);
    assert_eq!(put(&client, &session.text("refreshJwt")).await.error(), (400, "InvalidToken"));
    assert_eq!(put(&client, "").await.error(), (401, "AuthMissing"));
    assert_eq!(client.fake.grant_count(), 1);

    client.fake.ask_for_second_factor();
    let main = sign_in(&client, "alice.test", client.fake.main_password()).await;
    assert_eq!(main.error(), (401, "AuthFactorTokenRequired"));
    assert_eq!(sign_in(&client, client.fake.did(), &password).await.status, 200);
}

#[tokio::test]
async fn a_used_refresh_token_works_for_two_more_hours() {
    let client = Client::new().await;
    let session = sign_in(&client, "alice.test", &app_password(&client.fake)).await;
    let (access, old) = (session.text("accessJwt"), session.text("refreshJwt"));
    client.clock.advance(TimeDelta::hours(2));
    assert_eq!(put(&client, &access).await.error(), (400, "ExpiredToken"));

    let new = refresh(&client, &old).await;
    assert_eq!(put(&client, &new.text("accessJwt")).await.status, 200);
    assert_eq!(client.fake.grant_count(), 1);
    client.clock.advance(TimeDelta::minutes(119));
    assert_eq!(refresh(&client, &old).await.status, 200);
    client.clock.advance(TimeDelta::minutes(2));
    assert_eq!(refresh(&client, &old).await.error(), (400, "ExpiredToken"));
    assert_eq!(refresh(&client, &access).await.error(), (400, "InvalidToken"));

    let deleted =
        client.bearer(Method::POST, "com.atproto.server.deleteSession", &new.text("refreshJwt"), Body::Nothing).await;
    assert_eq!((deleted.status.as_u16(), deleted.body), (200, Value::String(String::new())));
    assert_eq!(client.fake.grant_count(), 0);
}

#[tokio::test]
async fn a_revoked_password_ends_the_grant_but_not_the_access_token() {
    let client = Client::new().await;
    let password = app_password(&client.fake);
    let session = sign_in(&client, "alice.test", &password).await;

    client.fake.revoke();

    assert_eq!(client.fake.grant_count(), 0);
    assert_eq!(refresh(&client, &session.text("refreshJwt")).await.error(), (400, "ExpiredToken"));
    assert_eq!(sign_in(&client, "alice.test", &password).await.error(), (401, "AuthenticationRequired"));
    assert_eq!(sign_in(&client, "alice.test", &app_password(&client.fake)).await.status, 200);
    assert_eq!(put(&client, &session.text("accessJwt")).await.status, 200);
    client.fake.end_access_tokens();
    assert_eq!(put(&client, &session.text("accessJwt")).await.error(), (400, "ExpiredToken"));
}

#[tokio::test]
async fn an_account_that_was_taken_down_has_no_session() {
    let client = Client::new().await;
    let password = app_password(&client.fake);
    let session = sign_in(&client, "alice.test", &password).await;

    client.fake.take_down();

    assert_eq!(put(&client, &session.text("accessJwt")).await.error(), (401, "AccountTakedown"));
    assert_eq!(refresh(&client, &session.text("refreshJwt")).await.error(), (401, "AccountTakedown"));
    assert_eq!(sign_in(&client, "alice.test", &password).await.error(), (401, "AccountTakedown"));
}

#[tokio::test]
async fn passwords_are_not_tried_for_ever() {
    let client = Client::new().await;
    for _ in 0..30 {
        assert_eq!(sign_in(&client, "alice.test", "wrong").await.error().0, 401);
    }

    let limited = sign_in(&client, "alice.test", &app_password(&client.fake)).await;
    assert_eq!(limited.error(), (429, "RateLimitExceeded"));
    let reset: i64 = limited.headers["ratelimit-reset"].to_str().unwrap().parse().unwrap();
    assert_eq!(reset, client.seconds() + 300);
    client.clock.advance(TimeDelta::minutes(5));
    assert_eq!(sign_in(&client, "alice.test", &app_password(&client.fake)).await.status, 200);
}
