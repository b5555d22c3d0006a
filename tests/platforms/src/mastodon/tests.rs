//! The server is as strict as it says, asked by a plain client.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};
use domain::clock::Clock;
use domain::testing::noon;
use platforms::conformance::network::{Call, Decision, Network, Trouble};
use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use url::Url;

use super::{Flavour, Server};
use crate::wire::browser;

const CALLBACK: &str = "https://us.example/callback";
const VERIFIER: &str = "a-verifier-of-more-than-forty-three-characters";
const PNG: &[u8] = b"\x89PNG\r\n\x1A\n and more";
const MP4: &[u8] = b"\0\0\0\x18ftypisom and more";

/// A server, its clock, and an app that the person knows.
struct Visit {
    server: Server,
    clock: Clock,
    app: Value,
    token: String,
}

impl Visit {
    /// At a server that the app is not connected with.
    async fn stranger(flavour: Flavour, scopes: &str) -> Self {
        let clock = Clock::manual(noon());
        let server = Server::start_as(flavour, clock.clone()).await;
        let app = json!({"client_name": "Us", "redirect_uris": CALLBACK, "scopes": scopes});
        let app = post_json(&server, "/api/v1/apps", &app).await;
        assert_eq!(app.status(), 200);
        Self { server, clock, app: app.json().await.unwrap(), token: String::new() }
    }

    /// At a server that the app is connected with.
    async fn friend(flavour: Flavour, scopes: &str) -> Self {
        let mut visit = Self::stranger(flavour, scopes).await;
        visit.token = visit.tokens(scopes).await["access_token"].as_str().unwrap().to_owned();
        visit
    }

    async fn usual() -> Self {
        Self::friend(Flavour::Mastodon, "profile read:statuses write:statuses write:media").await
    }

    fn app(&self, field: &str) -> String {
        self.app[field].as_str().unwrap().to_owned()
    }

    fn consent(&self, scope: &str, redirect_uri: &str) -> String {
        let mut url = Url::parse(&format!("{}/oauth/authorize", self.server.base_url())).unwrap();
        url.query_pairs_mut().extend_pairs([
            ("response_type", "code"),
            ("client_id", &self.app("client_id")),
            ("redirect_uri", redirect_uri),
            ("scope", scope),
            ("state", "a state"),
            ("code_challenge", &URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER))),
            ("code_challenge_method", "S256"),
        ]);
        url.into()
    }

    async fn code(&self, scope: &str) -> String {
        let query = self.server.decide(&self.consent(scope, CALLBACK), Decision::Allow).await;
        assert_eq!(query["state"], "a state");
        query["code"].clone()
    }

    /// The form of an exchange, with something else in it.
    fn form(&self, code: &str, change: &[(&str, &str)]) -> BTreeMap<String, String> {
        let mut form = BTreeMap::from([
            ("grant_type".to_owned(), "authorization_code".to_owned()),
            ("code".to_owned(), code.to_owned()),
            ("client_id".to_owned(), self.app("client_id")),
            ("client_secret".to_owned(), self.app("client_secret")),
            ("redirect_uri".to_owned(), CALLBACK.to_owned()),
            ("code_verifier".to_owned(), VERIFIER.to_owned()),
        ]);
        form.extend(change.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        form
    }

    async fn token(&self, form: &BTreeMap<String, String>) -> (u16, Value) {
        let url = format!("{}/oauth/token", self.server.base_url());
        read(browser().post(url).form(form).send().await.unwrap()).await
    }

    async fn tokens(&self, scope: &str) -> Value {
        let code = self.code(scope).await;
        let (status, tokens) = self.token(&self.form(&code, &[])).await;
        assert_eq!(status, 200, "{tokens}");
        tokens
    }

    fn get(&self, path: &str) -> RequestBuilder {
        browser().get(format!("{}{path}", self.server.base_url())).bearer_auth(&self.token)
    }

    fn post(&self, path: &str) -> RequestBuilder {
        browser().post(format!("{}{path}", self.server.base_url())).bearer_auth(&self.token)
    }

    async fn publish(&self, status: &Value) -> (u16, Value) {
        read(self.post("/api/v1/statuses").json(status).send().await.unwrap()).await
    }

    async fn upload(&self, part: &str, bytes: &[u8]) -> (u16, Value) {
        read(self.uploading("/api/v2/media", part, bytes).send().await.unwrap()).await
    }

    fn uploading(&self, path: &str, part: &str, bytes: &[u8]) -> RequestBuilder {
        let body = [b"--edge\r\n", part.as_bytes(), b"\r\n\r\n", bytes, b"\r\n--edge--\r\n"].concat();
        self.post(path).header("Content-Type", "multipart/form-data; boundary=edge").body(body)
    }

    async fn picture(&self) -> String {
        let (status, picture) = self.upload(&part("image/png"), PNG).await;
        assert_eq!(status, 200, "{picture}");
        picture["id"].as_str().unwrap().to_owned()
    }

    async fn video(&self) -> String {
        let (status, video) = self.upload(&part("video/mp4"), MP4).await;
        assert_eq!((status, &video["url"]), (202, &Value::Null));
        video["id"].as_str().unwrap().to_owned()
    }
}

fn part(mime_type: &str) -> String {
    format!("Content-Disposition: form-data; name=\"file\"; filename=\"a\"\r\nContent-Type: {mime_type}")
}

async fn post_json(server: &Server, path: &str, body: &Value) -> Response {
    browser().post(format!("{}{path}", server.base_url())).json(body).send().await.unwrap()
}

async fn read(response: Response) -> (u16, Value) {
    (response.status().as_u16(), response.json().await.unwrap())
}

fn error((status, mut answer): (u16, Value)) -> (u16, String) {
    (status, serde_json::from_value(answer["error"].take()).unwrap_or_default())
}

fn refused(status: u16, error: &str) -> (u16, String) {
    (status, error.to_owned())
}

#[tokio::test]
async fn an_app_needs_a_name_an_address_and_known_scopes() {
    let server = Server::start_as(Flavour::Mastodon, Clock::manual(noon())).await;
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
    let server = Server::start_as(Flavour::OldMastodon, Clock::manual(noon())).await;
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
    let visit = Visit::stranger(Flavour::Mastodon, "profile write:statuses").await;
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
    let visit = Visit::stranger(Flavour::Mastodon, "profile").await;

    let query = visit.server.decide(&visit.consent("profile", CALLBACK), Decision::Deny).await;

    assert_eq!((query["error"].as_str(), query["state"].as_str()), ("access_denied", "a state"));
    assert_eq!(visit.server.grants(), 0);
}

#[tokio::test]
async fn a_code_is_exchanged_once_by_its_app_with_its_verifier() {
    let visit = Visit::stranger(Flavour::Mastodon, "profile").await;
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
    let visit = Visit::stranger(Flavour::Mastodon, "profile").await;
    let code = visit.code("profile").await;

    visit.clock.advance(TimeDelta::minutes(10));

    assert_eq!(error(visit.token(&visit.form(&code, &[])).await), refused(400, "invalid_grant"));
}

#[tokio::test]
async fn mastodon_gives_an_app_the_token_again_that_it_has() {
    let visit = Visit::stranger(Flavour::Mastodon, "profile").await;

    assert_eq!(visit.tokens("profile").await["access_token"], visit.tokens("profile").await["access_token"]);
    assert_eq!(visit.server.grants(), 1);
}

#[tokio::test]
async fn a_forgotten_app_is_unknown() {
    let visit = Visit::stranger(Flavour::OldMastodon, "read:accounts").await;
    let code = visit.code("read:accounts").await;

    visit.server.forget_apps();

    assert_eq!(error(visit.token(&visit.form(&code, &[])).await), refused(401, "invalid_client"));
}

#[tokio::test]
async fn only_a_living_token_with_the_scope_is_let_in() {
    let mut visit = Visit::friend(Flavour::Mastodon, "profile").await;
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
    let mut visit = Visit::stranger(Flavour::Pleroma, "read write").await;
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

#[tokio::test]
async fn a_text_is_counted_as_the_server_counts() {
    let mastodon = Visit::usual().await;
    let go_to_social = Visit::friend(Flavour::GoToSocial, "write:statuses").await;
    let url = format!("https://example.com/{}", "a".repeat(5000));
    let rest = "é".repeat(476);

    let fits = mastodon.publish(&json!({"status": format!("{url} {rest}")})).await;
    let long = mastodon.publish(&json!({"status": format!("{url} {rest}!")})).await;
    let warned = mastodon.publish(&json!({"status": format!("{url} {rest}"), "spoiler_text": "!"})).await;
    let family = mastodon.publish(&json!({"status": "👨‍👩‍👧‍👦".repeat(500)})).await;
    let there = go_to_social.publish(&json!({"status": url})).await;

    assert_eq!(fits.0, 200, "{}", fits.1);
    assert_eq!(error(long), refused(422, "Validation failed: Text character limit of 500 exceeded"));
    assert_eq!(error(warned), refused(422, "Validation failed: Text character limit of 500 exceeded"));
    assert_eq!(family.0, 200, "{}", family.1);
    assert_eq!(error(there), refused(422, "Validation failed: Text character limit of 5000 exceeded"));
}

#[tokio::test]
async fn a_status_says_or_shows_something() {
    let visit = Visit::usual().await;
    let pixelfed = Visit::friend(Flavour::Pixelfed, "read write").await;
    let picture = visit.picture().await;

    let blank = visit.publish(&json!({"status": " \n", "media_ids": []})).await;
    let shown = visit.publish(&json!({"media_ids": [picture]})).await;
    let said = pixelfed.publish(&json!({"status": "words only"})).await;

    assert_eq!(error(blank), refused(422, "Validation failed: Text can't be blank"));
    assert_eq!(shown.0, 200, "{}", shown.1);
    assert_eq!(error(said), refused(422, "Validation failed: Media can't be blank"));
}

#[tokio::test]
async fn a_status_has_four_pictures_or_one_finished_video_each_once() {
    let visit = Visit::usual().await;
    let (picture, video) = (visit.picture().await, visit.video().await);
    let with = async |ids: &[&String]| error(visit.publish(&json!({"status": "look", "media_ids": ids})).await);
    let ask = async || {
        let answer = visit.get(&format!("/api/v1/media/{video}")).send().await.unwrap();
        answer.status().as_u16()
    };

    assert_eq!(with(&[&picture; 5]).await, refused(422, "Cannot attach more than 4 files"));
    let mixed = refused(422, "Cannot attach a video to a post that already contains images");
    assert_eq!(with(&[&picture, &video]).await, mixed);
    let early = refused(422, "Cannot attach files that have not finished processing. Try again in a moment!");
    assert_eq!(with(&[&video]).await, early);
    assert_eq!((ask().await, ask().await, ask().await), (206, 206, 200));
    assert_eq!(with(&[&video]).await, refused(200, ""));
    assert_eq!(ask().await, 404);
    let attached = format!("Media {video} not found or already attached to another post");
    assert_eq!(with(&[&video]).await, refused(422, &attached));
    visit.clock.advance(TimeDelta::days(1));
    let gone = format!("Media {picture} not found or already attached to another post");
    assert_eq!(with(&[&picture]).await, refused(422, &gone));
    assert_eq!(visit.server.public()[0].media[0].bytes, MP4);
}

#[tokio::test]
async fn a_video_that_fails_never_becomes_ready() {
    let visit = Visit::usual().await;
    let video = visit.video().await;
    visit.server.trouble(Call::Process, Trouble::Unwanted, 1);

    for _ in 0..2 {
        let answer = visit.get(&format!("/api/v1/media/{video}")).send().await.unwrap();
        assert_eq!(error(read(answer).await), refused(422, "Error processing thumbnail for uploaded media"));
    }
}

#[tokio::test]
async fn an_upload_is_a_form_with_a_named_file_of_a_known_type() {
    let visit = Visit::usual().await;
    let unknown = refused(422, "Validation failed: File content type is invalid, File is invalid");
    let missing = refused(422, "Validation failed: File can't be blank");

    let nameless = visit.upload("Content-Disposition: form-data; name=\"file\"\r\nContent-Type: image/png", PNG).await;
    let untyped = visit.upload("Content-Disposition: form-data; name=\"file\"; filename=\"a\"", PNG).await;
    let bitmap = visit.upload(&part("image/bmp"), PNG).await;
    let disguised = visit.upload(&part("image/jpeg"), PNG).await;
    let bare = visit.post("/api/v2/media").header("Content-Type", "image/png").body(PNG).send().await.unwrap();
    let pieces = futures::stream::iter([Ok::<_, std::io::Error>(PNG)]);
    let endless = visit
        .post("/api/v2/media")
        .header("Content-Type", "multipart/form-data; boundary=edge")
        .body(reqwest::Body::wrap_stream(pieces))
        .send()
        .await
        .unwrap();

    assert_eq!(error(nameless), missing);
    assert_eq!(error(untyped), unknown);
    assert_eq!(error(bitmap), unknown);
    assert!(error(disguised).1.contains("not what they are reported to be"));
    assert_eq!(error(read(bare).await), missing);
    assert_eq!(endless.status(), 411);
}

#[tokio::test]
async fn a_file_that_is_too_large_is_refused_by_the_server_or_before_it() {
    let visit = Visit::usual().await;
    let mut picture = PNG.to_vec();
    picture.resize(16 << 20, 0);
    let mut video = MP4.to_vec();
    video.resize(99 << 20, 0);

    let (status, answer) = visit.upload(&part("image/png"), &picture).await;
    let before = visit.uploading("/api/v2/media", &part("video/mp4"), &video).send().await.unwrap();

    assert_eq!(status, 422);
    assert!(answer["error"].as_str().unwrap().contains("must be less than 16 MB"), "{answer}");
    assert_eq!(before.status(), 413);
    picture.pop();
    assert_eq!(visit.upload(&part("image/png"), &picture).await.0, 200);
}

#[tokio::test]
async fn uploading_differs_from_server_to_server() {
    let upload = async |flavour, path| {
        let visit = Visit::friend(flavour, "read write").await;
        let answer = visit.uploading(path, &part("video/mp4"), MP4).send().await.unwrap();
        let (status, medium) = read(answer).await;
        (status, medium["url"].is_string())
    };

    assert_eq!(upload(Flavour::Mastodon, "/api/v1/media").await, (200, true));
    assert_eq!(upload(Flavour::GoToSocial, "/api/v2/media").await, (200, false));
    assert_eq!(upload(Flavour::Pleroma, "/api/v2/media").await, (202, true));
    assert_eq!(upload(Flavour::Pixelfed, "/api/v2/media").await, (404, false));
    assert_eq!(upload(Flavour::Pixelfed, "/api/v1/media").await, (200, true));
}

#[tokio::test]
async fn a_repeated_key_gets_the_first_status_for_an_hour() {
    let visit = Visit::usual().await;
    let status = json!({"status": "once", "media_ids": [visit.picture().await]});
    let publish = async || {
        let request = visit.post("/api/v1/statuses").header("Idempotency-Key", "target-1").json(&status);
        read(request.send().await.unwrap()).await
    };

    let first = publish().await;
    visit.clock.advance(TimeDelta::minutes(59));
    let again = publish().await;
    visit.clock.advance(TimeDelta::minutes(1));
    let late = publish().await;

    assert_eq!((first.0, &first.1["id"]), (again.0, &again.1["id"]));
    assert_eq!(late.0, 422, "its picture is attached");
    assert_eq!(visit.server.public().len(), 1);
}

#[tokio::test]
async fn go_to_social_knows_no_keys() {
    let visit = Visit::friend(Flavour::GoToSocial, "write:statuses").await;

    for _ in 0..2 {
        let request = visit.post("/api/v1/statuses").header("Idempotency-Key", "target-1");
        assert_eq!(request.json(&json!({"status": "twice"})).send().await.unwrap().status(), 200);
    }

    assert_eq!(visit.server.public().len(), 2);
}

#[tokio::test]
async fn limits_are_told_and_kept_until_their_span_ends() {
    let visit = Visit::usual().await;
    let ask = async || visit.get("/api/v1/accounts/verify_credentials").send().await.unwrap();
    let header = |response: &Response, name: &str| response.headers()[name].to_str().unwrap().to_owned();

    let first = ask().await;
    for _ in 1..300 {
        ask().await;
    }
    let last = ask().await;

    assert_eq!(header(&first, "x-ratelimit-limit"), "300");
    assert_eq!(header(&first, "x-ratelimit-remaining"), "299");
    assert_eq!(last.status(), 429);
    let reset: DateTime<Utc> = header(&last, "x-ratelimit-reset").parse().unwrap();
    assert!(noon() < reset && reset <= noon() + TimeDelta::minutes(5));
    assert_eq!(error(read(last).await), refused(429, "Too many requests"));
    visit.clock.skip_to(reset);
    assert_eq!(ask().await.status(), 200);
}

#[tokio::test]
async fn thirty_files_in_half_an_hour_are_enough() {
    let visit = Visit::usual().await;
    for _ in 0..30 {
        visit.picture().await;
    }

    assert_eq!(error(visit.upload(&part("image/png"), PNG).await), refused(429, "Too many requests"));
    visit.clock.advance(TimeDelta::minutes(30));
    visit.picture().await;
}

#[tokio::test]
async fn statuses_are_read_newest_first_by_everybody() {
    let mut visit = Visit::usual().await;
    let mut ids = Vec::new();
    for number in 0..45 {
        let visibility = if number == 44 { "private" } else { "public" };
        let (_, status) = visit.publish(&json!({"status": format!("<{number}>"), "visibility": visibility})).await;
        ids.push(status["id"].clone());
        visit.clock.advance(TimeDelta::seconds(1));
    }
    let list = async |visit: &Visit, query: &str| {
        let path = format!("/api/v1/accounts/109348293842938471/statuses?{query}");
        let page = visit.get(&path).send().await.unwrap().json::<Vec<Value>>().await.unwrap();
        page.into_iter().map(|it| it["id"].clone()).collect::<Vec<_>>()
    };
    let backwards = |from: usize, to: usize| ids[to..=from].iter().rev().cloned().collect::<Vec<_>>();

    assert_eq!(list(&visit, "").await, backwards(44, 25));
    visit.token = "nobody".to_owned();
    assert_eq!(list(&visit, "exclude_reblogs=true").await, backwards(43, 24));
    assert_eq!(list(&visit, "limit=80").await, backwards(43, 4));
    let (max, min) = (ids[10].as_str().unwrap(), ids[20].as_str().unwrap());
    assert_eq!(list(&visit, &format!("limit=3&max_id={max}")).await, backwards(9, 7));
    assert_eq!(list(&visit, &format!("limit=3&min_id={min}")).await, backwards(23, 21));
    let public = visit.server.public();
    assert_eq!((public.len(), public[0].text.as_str()), (44, "<0>"));
}

#[tokio::test]
async fn a_status_is_shown_as_html_and_its_source_as_it_was() {
    let visit = Visit::usual().await;
    let (_, status) = visit.publish(&json!({"status": " a & b\nc", "media_ids": [visit.picture().await]})).await;

    let source = visit.get(&format!("/api/v1/statuses/{}/source", status["id"].as_str().unwrap()));
    let (_, source) = read(source.send().await.unwrap()).await;

    assert_eq!(status["content"], "<p>a &amp; b<br />c</p>");
    assert_eq!(status["created_at"], noon().format("%Y-%m-%dT%H:%M:%S.000Z").to_string());
    assert_eq!(status["media_attachments"].as_array().unwrap().len(), 1);
    assert_eq!(source["text"], "a & b\nc");
    assert_eq!(visit.server.calls(Call::LookUp), 1);
}

#[tokio::test]
async fn instances_describe_themselves_in_their_ways() {
    let ask = async |flavour, path: &str| {
        let server = Server::start_as(flavour, Clock::manual(noon())).await;
        read(browser().get(format!("{}{path}", server.base_url())).send().await.unwrap()).await
    };

    let (_, mastodon) = ask(Flavour::Mastodon, "/api/v2/instance").await;
    let (_, old) = ask(Flavour::OldMastodon, "/api/v1/instance").await;
    let (_, pleroma) = ask(Flavour::Pleroma, "/api/v1/instance").await;

    assert_eq!(mastodon["api_versions"]["mastodon"], 7);
    assert_eq!(mastodon["configuration"]["media_attachments"]["video_size_limit"], 103_809_024);
    assert_eq!(old["configuration"]["statuses"]["characters_reserved_per_url"], 23);
    assert_eq!((&pleroma["max_toot_chars"], &pleroma["configuration"]), (&json!(5000), &Value::Null));
    assert_eq!(ask(Flavour::Pleroma, "/api/v2/instance").await.0, 404);
    assert_eq!(ask(Flavour::Pixelfed, "/api/v2/instance").await.0, 404);
}

#[tokio::test]
async fn a_call_in_trouble_is_done_or_not_and_counted_anyway() {
    let visit = Visit::usual().await;
    let publish = async |trouble| {
        visit.server.trouble(Call::Publish, trouble, 1);
        let sent = visit.post("/api/v1/statuses").json(&json!({"status": "hello"})).send().await;
        (sent.ok().map(|it| it.status().as_u16()), visit.server.public().len())
    };

    assert_eq!(publish(Trouble::CutBefore).await, (None, 0));
    assert_eq!(publish(Trouble::LoseAnswer).await, (None, 1));
    assert_eq!(publish(Trouble::Broken).await, (Some(500), 1));
    assert_eq!(publish(Trouble::BrokenAfter).await, (Some(500), 2));
    assert_eq!(publish(Trouble::Unavailable).await, (Some(503), 2));
    assert_eq!(publish(Trouble::Gibberish).await, (Some(200), 2));
    assert_eq!(publish(Trouble::Unwanted).await, (Some(422), 2));
    assert_eq!(visit.publish(&json!({"status": "hello"})).await.0, 200);
    assert_eq!(visit.server.calls(Call::Publish), 8);
}

#[tokio::test]
async fn the_end_of_a_limit_is_written_as_each_server_writes_it() {
    let limited = async |flavour| {
        let visit = Visit::friend(flavour, "read write").await;
        visit.server.trouble(Call::Publish, Trouble::Limited { retry_after: TimeDelta::seconds(90) }, 1);
        let answer = visit.post("/api/v1/statuses").json(&json!({"status": "hello"})).send().await.unwrap();
        (answer.status().as_u16(), answer.headers()["x-ratelimit-reset"].to_str().unwrap().to_owned())
    };
    let end = noon() + TimeDelta::seconds(90);

    assert_eq!(limited(Flavour::Mastodon).await, (429, end.format("%Y-%m-%dT%H:%M:%S.000000Z").to_string()));
    assert_eq!(limited(Flavour::GoToSocial).await, (429, end.timestamp().to_string()));
}
