use chrono::TimeDelta;
use http::Method;
use platforms::conformance::fake_platform::{Decision, FakePlatform};
use serde_json::{Value, json};

use crate::client::{Body, Client, Key, POSTING, REDIRECT, TID, assertion_header, loopback_id, post, random, tokens};

#[tokio::test]
async fn a_code_works_once_and_its_second_use_ends_the_grant() {
    let client = Client::new().await;
    let (page, verifier) = client.begin().await;
    let query = client.fake.redirect_query(&page, Decision::Allow).await;

    let first = client.exchange(&query["code"], &verifier).await;
    assert_eq!(first.body["sub"], client.fake.did());
    assert_eq!(first.body["expires_in"], 3599);
    assert_eq!(first.body["scope"], POSTING);
    assert_eq!(client.fake.grant_count(), 1);

    let second = client.exchange(&query["code"], &verifier).await;
    assert_eq!(second.error(), (400, "invalid_grant"));
    assert_eq!(client.fake.grant_count(), 0);
}

#[tokio::test]
async fn a_code_is_for_its_verifier_its_redirect_and_its_key() {
    let mut client = Client::new().await;
    for wrong in ["verifier", "redirect", "key", "time"] {
        let (page, verifier) = client.begin().await;
        let query = client.fake.redirect_query(&page, Decision::Allow).await;
        let code = &query["code"];
        let response = match wrong {
            "verifier" => client.exchange(code, &random()).await,
            "redirect" => {
                client.redirect = "http://127.0.0.1:2/".to_owned();
                client.exchange(code, &verifier).await
            }
            "key" => {
                client.key = Key::new();
                client.exchange(code, &verifier).await
            }
            _ => {
                client.clock.advance(TimeDelta::seconds(301));
                client.exchange(code, &verifier).await
            }
        };
        client.redirect = REDIRECT.to_owned();
        assert_eq!(response.error(), (400, "invalid_grant"), "{wrong}");
    }
    assert_eq!(client.fake.grant_count(), 0);
}

#[tokio::test]
async fn denial_is_returned() {
    let client = Client::new().await;
    let (page, _) = client.begin().await;

    let query = client.fake.redirect_query(&page, Decision::Deny).await;

    assert_eq!(query["error"], "access_denied");
    assert_eq!(query["state"], "the-state");
    assert_eq!(query["iss"], client.fake.issuer());
    assert!(!query.contains_key("code"));
}

#[tokio::test]
async fn a_page_is_only_for_a_request_that_waits() {
    let client = Client::new().await;
    let status = async |url: &str| client.send(client.http.get(url), None).await.error().0;
    let (page, _) = client.begin().await;
    client.fake.redirect_query(&page, Decision::Allow).await;
    assert_eq!(status(&page).await, 400, "decided");

    let (page, _) = client.begin().await;
    assert_eq!(status(&page).await, 200);
    client.clock.advance(TimeDelta::seconds(301));
    assert_eq!(status(&page).await, 400, "late");

    let (page, _) = client.begin().await;
    let other = page.replace("connect%252Fcallback", "elsewhere");
    assert_ne!(other, page);
    assert_eq!(status(&other).await, 400, "of another client");
    let unpushed = page.split("&request_uri").next().unwrap();
    assert_eq!(status(unpushed).await, 400, "not pushed");
}

#[tokio::test]
async fn a_pushed_request_is_complete() {
    let client = Client::new().await;
    for (name, value, error) in [
        ("response_type", Some("token"), "unsupported_response_type"),
        ("redirect_uri", None, "invalid_request"),
        ("redirect_uri", Some("http://127.0.0.1:1/elsewhere"), "invalid_request"),
        ("state", None, "invalid_request"),
        ("code_challenge", None, "invalid_request"),
        ("code_challenge_method", Some("plain"), "invalid_request"),
        ("scope", Some("atproto transition:generic"), "invalid_scope"),
        ("scope", Some("blob:image/*"), "invalid_scope"),
        ("login_hint", Some("not a handle"), "invalid_request"),
        ("client_id", Some("https://unknown.sps-loopback.dev/client.json"), "invalid_client_metadata"),
        ("client_id", Some("https://app.example.com/client.json"), "invalid_client_metadata"),
        ("client_id", Some(&loopback_id("http://localhost/cb", POSTING)), "invalid_client_metadata"),
        ("client_id", Some(&loopback_id("https://elsewhere.dev/cb", POSTING)), "invalid_client_metadata"),
        ("client_id", Some(&loopback_id(REDIRECT, "transition:generic")), "invalid_client_metadata"),
    ] {
        let response = client.push_with(name, value).await;
        assert_eq!(response.error(), (400, error), "{name} {value:?}: {response:?}");
    }
    let pushed = client.push_with("scope", Some("atproto")).await;
    assert_eq!((pushed.status.as_u16(), &pushed.body["expires_in"]), (201, &json!(299)));
}

#[tokio::test]
async fn a_refresh_token_works_once_and_its_second_use_ends_the_grant() {
    let client = Client::new().await;
    let first = client.connect().await;

    let second = tokens(&client.refresh(&first.refresh).await);
    assert_ne!(first.access, second.access);
    assert_eq!(client.put(&first.access, TID, &post("old token")).await.error(), (401, "invalid_token"));
    assert_eq!(client.put(&second.access, TID, &post("new token")).await.status, 200);

    let replayed = client.refresh(&first.refresh).await;
    assert_eq!(replayed.error(), (400, "invalid_grant"));
    assert_eq!(replayed.body["error_description"], "Refresh token replayed");
    assert_eq!(client.refresh(&second.refresh).await.error(), (400, "invalid_grant"));
    assert_eq!(client.put(&second.access, TID, &post("after")).await.error(), (401, "invalid_token"));
    assert_eq!(client.fake.grant_count(), 0);
}

#[tokio::test]
async fn tokens_expire_and_can_be_revoked() {
    let client = Client::new().await;
    let first = client.connect().await;
    client.clock.advance(TimeDelta::minutes(60));
    assert_eq!(client.put(&first.access, TID, &post("late")).await.error(), (401, "invalid_token"));
    let second = tokens(&client.refresh(&first.refresh).await);
    assert_eq!(client.put(&second.access, TID, &post("in time")).await.status, 200);

    client.clock.advance(TimeDelta::weeks(2));
    assert_eq!(client.refresh(&second.refresh).await.error(), (400, "invalid_grant"));

    let third = client.connect().await;
    for token in [third.refresh.as_str(), third.refresh.as_str(), "nonsense"] {
        let revoked = client.post("/oauth/revoke", &[("token", token)]).await;
        assert_eq!((revoked.status.as_u16(), revoked.body), (200, json!({})));
    }
    assert_eq!(client.fake.grant_count(), 0);
    assert_eq!(client.put(&third.access, TID, &post("gone")).await.error(), (401, "invalid_token"));
}

#[tokio::test]
async fn a_confidential_client_proves_itself_each_time() {
    let client = Client::confidential().await;
    let first = client.connect().await;
    client.clock.advance(TimeDelta::weeks(3));
    let second = tokens(&client.refresh(&first.refresh).await);
    assert_eq!(client.put(&second.access, TID, &post("hello")).await.status, 200);

    let now = client.seconds();
    let key = client.own_key.as_ref().unwrap();
    let with = |claim: &str, value: Value| {
        let mut claims = client.assertion();
        claims[claim] = value;
        key.sign(&assertion_header(), &claims)
    };
    let used = key.sign(&assertion_header(), &client.assertion());
    for (assertion, error) in [
        (used.clone(), ""),
        (used, "invalid_grant"),
        (with("iat", (now - 61).into()), "invalid_client"),
        (with("exp", now.into()), "invalid_client"),
        (with("aud", client.fake.pds().into()), "invalid_client"),
        (with("iss", "https://other.dev/client".into()), "invalid_client"),
        (with("sub", "https://other.dev/client".into()), "invalid_client"),
        (with("jti", Value::Null), "invalid_client"),
        (key.sign(&json!({ "alg": "ES256" }), &client.assertion()), "invalid_client"),
        (key.sign(&json!({ "alg": "ES256", "kid": "k2" }), &client.assertion()), "invalid_client"),
        (Key::new().sign(&assertion_header(), &client.assertion()), "invalid_client"),
    ] {
        let response = client.push_with("client_assertion", Some(&assertion)).await;
        assert_eq!(response.body["error"].as_str().unwrap_or_default(), error, "{response:?}");
    }
}

#[tokio::test]
async fn a_session_ends_with_the_key_that_began_it() {
    let mut client = Client::confidential().await;
    let first = client.connect().await;
    client.own_key = Some(Key::new());
    client.fake.add_client_document(&client.id, client.document());

    assert_eq!(client.refresh(&first.refresh).await.error(), (400, "invalid_grant"));
    assert_eq!(client.fake.grant_count(), 0);
}

#[tokio::test]
async fn a_client_document_is_in_order() {
    let client = Client::confidential().await;
    for (name, value) in [
        ("client_id", json!("https://app.sps-loopback.dev/other.json")),
        ("dpop_bound_access_tokens", json!(false)),
        ("grant_types", json!(["implicit"])),
        ("redirect_uris", json!([])),
        ("redirect_uris", json!(["http://app.sps-loopback.dev/cb"])),
        ("redirect_uris", json!(["https://elsewhere.dev/cb"])),
        ("redirect_uris", json!(["http://127.0.0.1:1/cb"])),
        ("scope", json!("blob:image/*")),
        ("token_endpoint_auth_method", json!("client_secret_basic")),
        ("token_endpoint_auth_signing_alg", Value::Null),
        ("jwks", Value::Null),
        ("jwks", json!({ "keys": [] })),
        ("jwks_uri", json!("https://app.sps-loopback.dev/jwks.json")),
        ("client_uri", json!("https://elsewhere.dev")),
    ] {
        let mut document = client.document();
        document[name] = value.clone();
        client.fake.add_client_document(&client.id, document);
        let response = client.push_with("none", None).await;
        assert_eq!(response.status, 400, "{name} {value}: {response:?}");
    }
}

#[tokio::test]
async fn a_grant_allows_what_its_scope_says() {
    for (scope, put, upload) in [
        ("atproto", 403, 403),
        ("atproto repo:app.bsky.feed.post", 200, 403),
        ("atproto repo:app.bsky.feed.post?action=create blob:image/jpeg", 403, 403),
        ("atproto repo:app.bsky.feed.like blob:image/*", 403, 200),
        ("atproto transition:generic", 200, 200),
    ] {
        let client = Client::with_scope(scope).await;
        let token = client.connect().await.access;

        let response = client.put(&token, TID, &post("hello")).await;
        assert_eq!(response.status, put, "{scope}: {response:?}");
        assert!(put == 200 || response.error().1 == "ScopeMissingError", "{response:?}");
        let response = client.upload(&token, "image/png", crate::client::PNG).await;
        assert_eq!(response.status, upload, "{scope}: {response:?}");
        // Reading the profile needs no scope.
        let response = client.call(Method::GET, "com.atproto.server.getSession", &token, Body::Nothing).await;
        assert_eq!(response.body["handle"], "alice.test");
        assert_eq!(response.body["email"], Value::Null);
    }
}
