//! Apps, the page on which the person decides, codes and tokens.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use domain::clock::Clock;
use domain::testing::noon;
use platforms::conformance::network::{Call, Decision, Network};
use serde_json::{Value, json};

use super::{CALLBACK, Visit, error, post_json, read, refused};
use crate::fake::wire::browser;
use crate::mastodon::{Flavor, Server};

#[tokio::test]
async fn an_app_needs_a_name_an_address_and_known_scopes() {
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
async fn an_old_server_knows_neither_lists_of_addresses_nor_profile_nor_metadata() {
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
async fn the_page_refuses_what_was_not_registered() {
    let visit = Visit::stranger(Flavor::Mastodon, "profile write:statuses").await;
    let open = async |url: String| browser().get(url).send().await.unwrap().status().as_u16();
    let consent = visit.consent("profile", CALLBACK);

    assert_eq!(open(consent.clone()).await, 200);
    assert_eq!(open(visit.consent("profile", "https://us.example/other")).await, 400);
    assert_eq!(open(visit.consent("profile write:media", CALLBACK)).await, 400);
    assert_eq!(open(consent.replace("response_type=code", "response_type=token")).await, 400);
    assert_eq!(open(consent.replace("S256", "plain")).await, 400);
    assert_eq!(open(consent.replace("client_id=", "client_id=x")).await, 401);
}

#[tokio::test]
async fn a_denial_comes_back_with_the_state() {
    let visit = Visit::stranger(Flavor::Mastodon, "profile").await;

    let query = visit.server.decide(&visit.consent("profile", CALLBACK), Decision::Deny).await;

    assert_eq!((query["error"].as_str(), query["state"].as_str()), ("access_denied", "a state"));
    assert_eq!(visit.server.grants(), 0);
}

#[tokio::test]
async fn a_code_is_exchanged_once_by_its_app_with_its_verifier() {
    let visit = Visit::stranger(Flavor::Mastodon, "profile").await;
    let code = visit.code("profile").await;
    let exchange = async |change: &[(&str, &str)]| error(visit.token(&visit.form(&code, change)).await);

    assert_eq!(exchange(&[("code", "another")]).await, refused(400, "invalid_grant"));
    assert_eq!(exchange(&[("client_id", "another")]).await, refused(401, "invalid_client"));
    assert_eq!(exchange(&[("client_secret", "another")]).await, refused(401, "invalid_client"));
    assert_eq!(exchange(&[("redirect_uri", "https://us.example/other")]).await, refused(400, "invalid_grant"));
    assert_eq!(exchange(&[("code_verifier", "another")]).await, refused(400, "invalid_grant"));
    assert_eq!(exchange(&[("code_verifier", "")]).await, refused(400, "invalid_grant"));
    assert_eq!(exchange(&[("grant_type", "password")]).await, refused(400, "unsupported_grant_type"));
    assert_eq!(exchange(&[]).await, refused(200, ""));
    assert_eq!(exchange(&[]).await, refused(400, "invalid_grant"));
    assert_eq!((visit.server.grants(), visit.server.calls(Call::Exchange)), (1, 9));
}

#[tokio::test]
async fn a_code_waits_ten_minutes() {
    let visit = Visit::stranger(Flavor::Mastodon, "profile").await;
    let code = visit.code("profile").await;

    visit.clock.advance(TimeDelta::minutes(10));

    assert_eq!(error(visit.token(&visit.form(&code, &[])).await), refused(400, "invalid_grant"));
}

#[tokio::test]
async fn mastodon_gives_an_app_the_token_again_that_it_has() {
    let visit = Visit::stranger(Flavor::Mastodon, "profile").await;

    assert_eq!(visit.tokens("profile").await["access_token"], visit.tokens("profile").await["access_token"]);
    assert_eq!(visit.server.grants(), 1);
}

#[tokio::test]
async fn a_forgotten_app_is_unknown() {
    let visit = Visit::stranger(Flavor::OldMastodon, "read:accounts").await;
    let code = visit.code("read:accounts").await;

    visit.server.forget_apps();

    assert_eq!(error(visit.token(&visit.form(&code, &[])).await), refused(401, "invalid_client"));
}

#[tokio::test]
async fn only_a_living_token_with_the_scope_is_let_in() {
    let mut visit = Visit::friend(Flavor::Mastodon, "profile").await;
    let me =
        async |visit: &Visit| error(read(visit.get("/api/v1/accounts/verify_credentials").send().await.unwrap()).await);

    assert_eq!(me(&visit).await, refused(200, ""));
    let beyond = visit.publish(&json!({"status": "hello"})).await;
    assert_eq!(error(beyond), refused(403, "This action is outside the authorized scopes"));
    let source = visit.get("/api/v1/statuses/1/source").send().await.unwrap();
    assert_eq!(error(read(source).await), refused(403, "This action is outside the authorized scopes"));
    visit.server.revoke();
    assert_eq!(me(&visit).await, refused(401, "The access token was revoked"));
    visit.token = "another".to_owned();
    assert_eq!(me(&visit).await, refused(401, "The access token is invalid"));
}

#[tokio::test]
async fn an_app_revokes_its_own_token_only() {
    let visit = Visit::usual().await;
    let revoke = async |secret: &str| {
        let (id, token) = (visit.app("client_id"), visit.token.clone());
        let form = BTreeMap::from([("client_id", id), ("client_secret", secret.to_owned()), ("token", token)]);
        error(read(visit.post("/oauth/revoke").form(&form).send().await.unwrap()).await)
    };

    assert_eq!(revoke("another").await, refused(403, "unauthorized_client"));
    assert_eq!(visit.server.grants(), 1);
    assert_eq!(revoke(&visit.app("client_secret")).await, refused(200, ""));
    assert_eq!(visit.server.grants(), 0);
    assert_eq!(revoke(&visit.app("client_secret")).await, refused(200, ""));
}

#[tokio::test]
async fn pleroma_gives_new_tokens_for_old_ones_once() {
    let mut visit = Visit::stranger(Flavor::Pleroma, "read write").await;
    let tokens = visit.tokens("read write").await;
    visit.token = tokens["access_token"].as_str().unwrap().to_owned();
    let refresh_token = tokens["refresh_token"].as_str().unwrap();
    let refresh = visit.form("", &[("grant_type", "refresh_token"), ("refresh_token", refresh_token)]);
    let without_account = [("grant_type", "client_credentials")];

    assert_eq!(tokens["expires_in"], 3600);
    assert_eq!(visit.publish(&json!({"status": "hello"})).await.0, 200);
    visit.server.end_access_tokens();
    let late = visit.publish(&json!({"status": "hello"})).await;
    assert_eq!(error(late), refused(401, "The access token expired"));
    let (status, renewed) = visit.token(&refresh).await;
    assert_eq!(status, 200);
    assert_eq!(error(visit.token(&refresh).await), refused(400, "Invalid credentials"));
    assert_eq!(visit.token(&visit.form("", &without_account)).await.0, 200);
    let stranger = visit.form("", &[without_account[0], ("client_id", "another")]);
    assert_eq!(error(visit.token(&stranger).await), refused(400, "Invalid credentials"));
    visit.token = renewed["access_token"].as_str().unwrap().to_owned();
    assert_eq!(visit.publish(&json!({"status": "hello"})).await.0, 200);
    // The account's and the app's own.
    assert_eq!((visit.server.grants(), visit.server.calls(Call::Refresh)), (2, 2));
}
