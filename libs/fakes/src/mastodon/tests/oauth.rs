//! Apps, the consent page, codes and tokens.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use domain::clock::Clock;
use domain::testing::noon;
use platforms::conformance::fake_platform::{Call, Decision, FakePlatform};
use serde_json::{Value, json};

use super::{CALLBACK, Visit, error, post_json, read, refused};
use crate::fake::wire::browser;
use crate::mastodon::{Flavor, Server};

#[tokio::test]
async fn app_needs_name_redirect_uri_and_known_scopes() {
    let server = Server::start_as(Flavor::Mastodon, Clock::manual(noon())).await;
    let register = async |app: Value| error(read(post_json(&server, "/api/v1/apps", &app).await).await);

    let nameless = register(json!({"redirect_uris": CALLBACK})).await;
    let nowhere = register(json!({"client_name": "Us", "redirect_uris": "callback"})).await;
    let greedy = register(json!({"client_name": "Us", "redirect_uris": CALLBACK, "scopes": "everything"})).await;
    let listed = register(json!({"client_name": "Us", "redirect_uris": [CALLBACK], "scopes": "profile"})).await;

    assert_eq!(nameless, refused(422, "Validation failed: Name can't be blank"));
    assert_eq!(nowhere, refused(422, "Validation failed: Redirect URI must be an absolute URI."));
    assert_eq!(greedy, refused(422, "Validation failed: Scopes doesn't match configured on the server."));
    assert_eq!(listed, refused(200, ""));
}

#[tokio::test]
async fn old_server_lacks_uri_lists_profile_scope_and_metadata() {
    let server = Server::start_as(Flavor::OldMastodon, Clock::manual(noon())).await;
    let register = async |app: Value| error(read(post_json(&server, "/api/v1/apps", &app).await).await);

    let listed = register(json!({"client_name": "Us", "redirect_uris": [CALLBACK]})).await;
    let profile = register(json!({"client_name": "Us", "redirect_uris": CALLBACK, "scopes": "profile"})).await;
    let metadata = browser().get(format!("{}/.well-known/oauth-authorization-server", server.base_url()));

    assert_eq!(listed, refused(422, "Validation failed: Redirect URI can't be blank"));
    assert_eq!(profile, refused(422, "Validation failed: Scopes doesn't match configured on the server."));
    assert_eq!(metadata.send().await.unwrap().status(), 404);
}

#[tokio::test]
async fn authorization_page_refuses_unregistered_values() {
    let harness = Visit::stranger(Flavor::Mastodon, "profile write:statuses").await;
    let open = async |url: String| browser().get(url).send().await.unwrap().status().as_u16();
    let consent = harness.consent("profile", CALLBACK);

    assert_eq!(open(consent.clone()).await, 200);
    assert_eq!(open(harness.consent("profile", "https://us.example/other")).await, 400);
    assert_eq!(open(harness.consent("profile write:media", CALLBACK)).await, 400);
    assert_eq!(open(consent.replace("response_type=code", "response_type=token")).await, 400);
    assert_eq!(open(consent.replace("S256", "plain")).await, 400);
    assert_eq!(open(consent.replace("client_id=", "client_id=x")).await, 401);
}

#[tokio::test]
async fn denial_returns_the_state() {
    let harness = Visit::stranger(Flavor::Mastodon, "profile").await;

    let query = harness.server.redirect_query(&harness.consent("profile", CALLBACK), Decision::Deny).await;

    assert_eq!((query["error"].as_str(), query["state"].as_str()), ("access_denied", "a state"));
    assert_eq!(harness.server.grant_count(), 0);
}

#[tokio::test]
async fn code_is_exchanged_once_by_its_app_with_its_verifier() {
    let harness = Visit::stranger(Flavor::Mastodon, "profile").await;
    let code = harness.code("profile").await;
    let exchange = async |change: &[(&str, &str)]| error(harness.token(&harness.form(&code, change)).await);

    assert_eq!(exchange(&[("code", "another")]).await, refused(400, "invalid_grant"));
    assert_eq!(exchange(&[("client_id", "another")]).await, refused(401, "invalid_client"));
    assert_eq!(exchange(&[("client_secret", "another")]).await, refused(401, "invalid_client"));
    assert_eq!(exchange(&[("redirect_uri", "https://us.example/other")]).await, refused(400, "invalid_grant"));
    assert_eq!(exchange(&[("code_verifier", "another")]).await, refused(400, "invalid_grant"));
    assert_eq!(exchange(&[("code_verifier", "")]).await, refused(400, "invalid_grant"));
    assert_eq!(exchange(&[("grant_type", "password")]).await, refused(400, "unsupported_grant_type"));
    assert_eq!(exchange(&[]).await, refused(200, ""));
    assert_eq!(exchange(&[]).await, refused(400, "invalid_grant"));
    assert_eq!((harness.server.grant_count(), harness.server.call_count(Call::Exchange)), (1, 9));
}

#[tokio::test]
async fn code_expires_after_ten_minutes() {
    let harness = Visit::stranger(Flavor::Mastodon, "profile").await;
    let code = harness.code("profile").await;

    harness.clock.advance(TimeDelta::minutes(10));

    assert_eq!(error(harness.token(&harness.form(&code, &[])).await), refused(400, "invalid_grant"));
}

#[tokio::test]
async fn mastodon_returns_the_existing_token_to_an_app() {
    let harness = Visit::stranger(Flavor::Mastodon, "profile").await;

    assert_eq!(harness.tokens("profile").await["access_token"], harness.tokens("profile").await["access_token"]);
    assert_eq!(harness.server.grant_count(), 1);
}

#[tokio::test]
async fn forgotten_app_is_unknown() {
    let harness = Visit::stranger(Flavor::OldMastodon, "read:accounts").await;
    let code = harness.code("read:accounts").await;

    harness.server.forget_apps();

    assert_eq!(error(harness.token(&harness.form(&code, &[])).await), refused(401, "invalid_client"));
}

#[tokio::test]
async fn only_a_valid_token_with_the_scope_is_accepted() {
    let mut harness = Visit::start_connected(Flavor::Mastodon, "profile").await;
    let me = async |harness: &Visit| {
        error(read(harness.get("/api/v1/accounts/verify_credentials").send().await.unwrap()).await)
    };

    assert_eq!(me(&harness).await, refused(200, ""));
    let beyond = harness.publish(&json!({"status": "hello"})).await;
    assert_eq!(error(beyond), refused(403, "This action is outside the authorized scopes"));
    let source = harness.get("/api/v1/statuses/1/source").send().await.unwrap();
    assert_eq!(error(read(source).await), refused(403, "This action is outside the authorized scopes"));
    harness.server.revoke();
    assert_eq!(me(&harness).await, refused(401, "The access token was revoked"));
    harness.token = "another".to_owned();
    assert_eq!(me(&harness).await, refused(401, "The access token is invalid"));
}

#[tokio::test]
async fn app_revokes_only_its_own_token() {
    let harness = Visit::usual().await;
    let revoke = async |secret: &str| {
        let (id, token) = (harness.app("client_id"), harness.token.clone());
        let form = BTreeMap::from([("client_id", id), ("client_secret", secret.to_owned()), ("token", token)]);
        error(read(harness.post("/oauth/revoke").form(&form).send().await.unwrap()).await)
    };

    assert_eq!(revoke("another").await, refused(403, "unauthorized_client"));
    assert_eq!(harness.server.grant_count(), 1);
    assert_eq!(revoke(&harness.app("client_secret")).await, refused(200, ""));
    assert_eq!(harness.server.grant_count(), 0);
    assert_eq!(revoke(&harness.app("client_secret")).await, refused(200, ""));
}

#[tokio::test]
async fn pleroma_refreshes_each_token_once() {
    let mut harness = Visit::stranger(Flavor::Pleroma, "read write").await;
    let tokens = harness.tokens("read write").await;
    harness.token = tokens["access_token"].as_str().unwrap().to_owned();
    let refresh_token = tokens["refresh_token"].as_str().unwrap();
    let refresh = harness.form("", &[("grant_type", "refresh_token"), ("refresh_token", refresh_token)]);
    let without_account = [("grant_type", "client_credentials")];

    assert_eq!(tokens["expires_in"], 3600);
    assert_eq!(harness.publish(&json!({"status": "hello"})).await.0, 200);
    harness.server.end_access_tokens();
    let late = harness.publish(&json!({"status": "hello"})).await;
    assert_eq!(error(late), refused(401, "The access token expired"));
    let (status, renewed) = harness.token(&refresh).await;
    assert_eq!(status, 200);
    assert_eq!(error(harness.token(&refresh).await), refused(400, "Invalid credentials"));
    assert_eq!(harness.token(&harness.form("", &without_account)).await.0, 200);
    let stranger = harness.form("", &[without_account[0], ("client_id", "another")]);
    assert_eq!(error(harness.token(&stranger).await), refused(400, "Invalid credentials"));
    harness.token = renewed["access_token"].as_str().unwrap().to_owned();
    assert_eq!(harness.publish(&json!({"status": "hello"})).await.0, 200);
    // The account's token and the app's own.
    assert_eq!((harness.server.grant_count(), harness.server.call_count(Call::Refresh)), (2, 2));
}
