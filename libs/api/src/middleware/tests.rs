use axum::body::Body;
use axum::routing::{get, post};
use chrono::TimeDelta;
use domain::access_token::AccessToken;
use domain::id::{PostId, UserId};
use domain::oauth::{ClientId, Resource};
use domain::scope::{Scope, Scopes};
use domain::testing::{a_profile, a_user};
use http::HeaderMap;
use http_body_util::BodyExt;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use storage::testing::join;
use storage::{TokenGrant, WriteOutcome};
use tower::ServiceExt;

use super::*;
use crate::scope_guard::{PostsRead, PostsWrite};
use crate::testing::api;
use crate::{ApiResult, Caller, Id, RequestBody, TrustedProxy, Visitor};

/// One route of each kind.
struct Harness {
    api: Api,
    router: Router,
}

struct TestResponse {
    status: u16,
    headers: HeaderMap,
    body: Value,
}

async fn show(_: Caller<PostsRead>, Id(post): Id<PostId>) -> ApiResult<String> {
    if post.get() == 7 { Ok("\"seven\"".to_owned()) } else { Err(ApiError::NotFound) }
}

async fn change(_: Caller<PostsWrite>, Id(post): Id<PostId>, incoming: RequestBody) -> ApiResult<String> {
    if post.get() != 7 {
        return Err(ApiError::NotFound);
    }
    let mut fields = incoming.fields(&["content"])?;
    let content = fields.required_text("content").unwrap_or_default();
    fields.finish(content)
}

async fn show_owner(caller: Caller<PostsRead>) -> String {
    let of_profile = caller.of_profile.map(|it| it.profile_id);
    json!([caller.owner.user_id, caller.owner.limited_to, of_profile]).to_string()
}

async fn rename(caller: Caller<PostsWrite>) -> ApiResult<()> {
    caller.deny_if_limited("rename profiles")
}

fn service_with(api: Api) -> Harness {
    let router = Router::new()
        .route("/api/v1/posts/{post}", get(show).patch(change))
        .route("/api/v1/media", post(|_: Caller<PostsWrite>| async {}))
        .route("/api/v1/owner", get(show_owner).post(rename))
        .route("/api/v1/open", post(|_: Visitor| async {}))
        .route("/api/v1/broken", get(|| async { ApiError::Internal }))
        .route("/account/files", post(|| async {}))
        .route("/page", get(|| async { "page" }));
    let router = finish(router, api.clone());
    Harness { api, router }
}

async fn service() -> Harness {
    service_with(api().await)
}

impl Harness {
    async fn token(&self, scopes: &[Scope]) -> String {
        let user = a_user();
        join(&self.api.store, &user).await;
        self.token_for_user(user.user_id, scopes).await
    }

    async fn token_for_user(&self, owner: UserId, scopes: &[Scope]) -> String {
        let now = self.api.clock.now();
        self.put(TokenGrant::made(owner, Scopes::from_requested(scopes), now, self.api.token_lifetime.ends(now, now)))
            .await
    }

    async fn put(&self, grant: TokenGrant) -> String {
        let token = AccessToken::mint(grant.owner);
        assert_eq!(self.api.store.put_token(&token.hash(), &grant).await.unwrap(), WriteOutcome::Applied);
        token.secret().expose_secret().to_owned()
    }

    async fn send(&self, method: &str, path: &str, token: Option<&str>, body: &str) -> TestResponse {
        let mut request = Request::builder().method(method).uri(path);
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.header("content-type", "application/json").body(Body::from(body.to_owned())).unwrap();
        self.send_request(request).await
    }

    async fn send_request(&self, mut request: Request) -> TestResponse {
        request.extensions_mut().insert(ClientIp([192, 0, 2, 1].into()));
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        TestResponse { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    async fn status(&self, method: &str, path: &str, token: Option<&str>, body: &str) -> u16 {
        self.send(method, path, token, body).await.status
    }

    async fn exhaust_limit(&self, token: Option<&str>) {
        for _ in 0..self.api.limits.requests_per_minute {
            self.send("GET", "/api/v1/nothing", token, "").await;
        }
    }
}

impl TestResponse {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |it| it.to_str().unwrap())
    }
}

const POST: &str = "/api/v1/posts/7";

#[tokio::test]
async fn requests_are_denied_in_the_order_of_the_contract() {
    let service = service().await;
    let full = service.token(&[]).await;
    let reader = service.token(&[Scope::PostsRead]).await;

    assert_eq!(service.status("PATCH", "/api/v1/nothing", None, "{").await, 404);
    assert_eq!(service.status("DELETE", POST, None, "{").await, 405);
    assert_eq!(service.status("PATCH", "/api/v1/posts/8", None, "{").await, 401);
    assert_eq!(service.status("PATCH", "/api/v1/posts/8", Some(&reader), "{").await, 403);
    for post in ["8", "x", "0", "-1", "9007199254740992", "%ff"] {
        assert_eq!(service.status("PATCH", &format!("/api/v1/posts/{post}"), Some(&full), "{").await, 404, "{post}");
    }
    assert_eq!(service.status("PATCH", POST, Some(&full), "{").await, 400);
    assert_eq!(service.status("PATCH", POST, Some(&full), "{}").await, 422);
    assert_eq!(service.status("PATCH", POST, Some(&full), r#"{"content":"x"}"#).await, 200);

    service.exhaust_limit(None).await;
    assert_eq!(service.status("PATCH", POST, None, "{").await, 429);
    assert_eq!(service.status("DELETE", POST, None, "{").await, 405);
    assert_eq!(service.status("GET", "/api/v1/nothing", None, "").await, 404);
}

#[tokio::test]
async fn wrong_method_gets_the_allowed_ones() {
    let service = service().await;

    let answer = service.send("DELETE", POST, None, "").await;

    assert_eq!(answer.status, 405);
    assert_eq!(answer.header("allow"), "GET,HEAD,PATCH");
    assert!(answer.body["message"].is_string());
}

#[tokio::test]
async fn every_response_has_an_id_and_the_remaining_requests() {
    let service = service().await;
    let token = service.token(&[]).await;

    for (path, status, left) in [(POST, 200, "59"), ("/api/v1/nothing", 404, "58"), ("/api/v1/broken", 500, "57")] {
        let answer = service.send("GET", path, Some(&token), "").await;
        assert_eq!(answer.status, status);
        assert_eq!(answer.header("x-request-id").len(), 32);
        assert_eq!(answer.header("x-ratelimit-limit"), "60");
        assert_eq!(answer.header("x-ratelimit-remaining"), left);
        let ends = service.api.clock.now().timestamp() / 60 * 60 + 60;
        assert_eq!(answer.header("x-ratelimit-reset"), ends.to_string());
    }
}

#[tokio::test]
async fn sixty_requests_per_minute_are_allowed() {
    let service = service().await;
    let token = service.token(&[]).await;

    service.exhaust_limit(Some(&token)).await;
    let refused = service.send("GET", POST, Some(&token), "").await;
    service.api.clock.advance(TimeDelta::minutes(1));
    let next = service.send("GET", POST, Some(&token), "").await;

    assert_eq!((refused.status, refused.header("retry-after")), (429, "60"));
    assert_eq!(refused.header("x-ratelimit-remaining"), "0");
    assert_eq!((next.status, next.header("x-ratelimit-remaining")), (200, "59"));
}

#[tokio::test]
async fn uploads_have_a_limit_of_their_own() {
    let service = service().await;
    let token = service.token(&[]).await;

    let first = service.send("POST", "/api/v1/media", Some(&token), "").await;
    for _ in 1..30 {
        assert_eq!(service.status("POST", "/api/v1/media", Some(&token), "").await, 200);
    }

    assert_eq!((first.header("x-ratelimit-limit"), first.header("x-ratelimit-remaining")), ("30", "29"));
    assert_eq!(service.status("POST", "/api/v1/media", Some(&token), "").await, 429);
    let other = service.send("GET", POST, Some(&token), "").await;
    assert_eq!((other.status, other.header("x-ratelimit-remaining")), (200, "28"));
}

#[tokio::test]
async fn uploads_from_a_page_have_a_limit_of_their_own() {
    let service = service().await;

    let first = service.send("POST", "/account/files", None, "").await;
    for _ in 1..30 {
        assert_eq!(service.status("POST", "/account/files", None, "").await, 200);
    }

    assert_eq!((first.header("x-ratelimit-limit"), first.header("x-ratelimit-remaining")), ("30", "29"));
    assert_eq!(service.status("POST", "/account/files", None, "").await, 429);
    assert_eq!(service.status("GET", "/page", None, "").await, 200);
}

#[tokio::test]
async fn valid_token_passes_from_a_limited_address() {
    let service = service().await;
    let good = service.token(&[]).await;
    let unknown = AccessToken::mint(a_user().user_id).secret().expose_secret().to_owned();

    let rejected = service.send("GET", POST, Some(&unknown), "").await;
    let nonsense = service.send("GET", POST, Some("nonsense"), "").await;
    service.exhaust_limit(None).await;

    assert_eq!((rejected.status, rejected.header("x-ratelimit-remaining")), (401, "59"));
    assert_eq!((nonsense.status, nonsense.header("x-ratelimit-remaining")), (401, "58"));
    assert_eq!(nonsense.header("www-authenticate"), "Bearer");
    assert_eq!(service.status("GET", POST, Some(&unknown), "").await, 429);
    assert_eq!(service.status("POST", "/api/v1/open", None, "").await, 429);
    assert_eq!(service.status("GET", POST, Some(&good), "").await, 200);
}

#[tokio::test]
async fn a_token_lives_for_its_lifetime_after_its_last_use() {
    let service = service().await;
    let token = service.token(&[]).await;
    let lifetime = service.api.token_lifetime.unused;

    service.api.clock.advance(lifetime - TimeDelta::seconds(1));
    assert_eq!(service.status("GET", POST, Some(&token), "").await, 200);
    service.api.clock.advance(lifetime - TimeDelta::seconds(1));
    assert_eq!(service.status("GET", POST, Some(&token), "").await, 200);
    service.api.clock.advance(lifetime);

    assert_eq!(service.status("GET", POST, Some(&token), "").await, 401);
}

#[tokio::test]
async fn a_token_ends_although_its_mark_on_the_user_was_extended() {
    let service = service().await;
    let user = a_user();
    join(&service.api.store, &user).await;
    let token = service.token_for_user(user.user_id, &[]).await;
    let (hash, now) = (AccessToken::parse(&token).unwrap().hash(), service.api.clock.now());
    let lifetime = service.api.token_lifetime.unused;
    service.api.store.mark_token(user.user_id, &hash, now, now + lifetime * 2).await.unwrap().unwrap();

    service.api.clock.advance(lifetime);

    assert_eq!(service.status("GET", POST, Some(&token), "").await, 401);
}

#[tokio::test]
async fn a_token_that_is_used_every_month_ends_after_400_days() {
    let service = service().await;
    let token = service.token(&[]).await;

    for _ in 0..13 {
        service.api.clock.advance(TimeDelta::days(30));
        assert_eq!(service.status("GET", POST, Some(&token), "").await, 200);
    }
    service.api.clock.advance(TimeDelta::days(10));

    assert_eq!(service.status("GET", POST, Some(&token), "").await, 401);
}

#[tokio::test]
async fn a_token_of_a_client_lives_for_90_days_after_its_last_use() {
    let service = service().await;
    let user = a_user();
    join(&service.api.store, &user).await;
    let (now, day) = (service.api.clock.now(), TimeDelta::days(1));
    let made = TokenGrant::made(user.user_id, Scopes::from_requested(&[]), now, now + day * 90);
    let token = service.put(TokenGrant { client_id: ClientId::parse("https://app.example/c.json"), ..made }).await;

    service.api.clock.advance(day * 89);
    assert_eq!(service.status("GET", POST, Some(&token), "").await, 200);
    service.api.clock.advance(day * 89);
    assert_eq!(service.status("GET", POST, Some(&token), "").await, 200);
    service.api.clock.advance(day * 90);

    assert_eq!(service.status("GET", POST, Some(&token), "").await, 401);
}

#[tokio::test]
async fn a_token_is_accepted_at_its_resource_alone() {
    let mcp = |secret: &str| TrustedProxy::mcp(secret.into());
    let proof = mcp("secret of mcp");
    let edge = TrustedProxy { resource: Resource::Api, ..mcp("secret of the edge") };
    let service = service_with(Api { proxies: vec![edge.clone(), proof.clone()], ..api().await });
    let user = a_user();
    join(&service.api.store, &user).await;
    let send = async |token: &str, proof: Option<&TrustedProxy>| {
        let mut request = Request::get(POST).header("authorization", format!("Bearer {token}"));
        if let Some(proof) = proof {
            request.headers_mut().unwrap().extend(proof.forwarding_headers([198, 51, 100, 7].into()).unwrap());
        }
        service.send_request(request.body(Body::empty()).unwrap()).await.status
    };

    for (resource, directly, by_tools) in
        [(Resource::Service, 200, 200), (Resource::Api, 200, 401), (Resource::Mcp, 401, 200)]
    {
        let now = service.api.clock.now();
        let made = TokenGrant::made(user.user_id, Scopes::from_requested(&[]), now, now + TimeDelta::days(1));
        let token = service.put(TokenGrant { resource, ..made }).await;
        // Twice: what a process remembers about a token at one resource does not apply to the
        // other.
        for round in 0..2 {
            assert_eq!(send(&token, None).await, directly, "{resource:?}, {round}");
            assert_eq!(send(&token, Some(&edge)).await, directly, "{resource:?}, {round}, edge");
            assert_eq!(send(&token, Some(&mcp("forged"))).await, directly, "{resource:?}, {round}, forged");
            assert_eq!(send(&token, Some(&proof)).await, by_tools, "{resource:?}, {round}, tools");
        }
    }
}

#[tokio::test]
async fn rejected_token_counts_for_its_address_not_its_user() {
    let service = service().await;
    let user = a_user();
    join(&service.api.store, &user).await;
    let old = service.token_for_user(user.user_id, &[]).await;
    service.api.clock.advance(TimeDelta::days(200));
    let (good, revoked) =
        (service.token_for_user(user.user_id, &[]).await, service.token_for_user(user.user_id, &[]).await);
    let hash = AccessToken::parse(&revoked).unwrap().hash();
    assert_eq!(service.api.store.revoke_token(user.user_id, &hash).await.unwrap(), WriteOutcome::Applied);
    let made_up = AccessToken::mint(user.user_id).secret().expose_secret().to_owned();

    for (token, left) in [(&old, "59"), (&revoked, "58"), (&made_up, "57"), (&old, "56")] {
        let answer = service.send("GET", POST, Some(token), "").await;
        assert_eq!((answer.status, answer.header("x-ratelimit-remaining")), (401, left));
    }
    let all_at_once = (0..100).map(|_| service.status("GET", POST, Some(&made_up), ""));
    futures::future::join_all(all_at_once).await;

    let answer = service.send("GET", POST, Some(&good), "").await;
    assert_eq!((answer.status, answer.header("x-ratelimit-remaining")), (200, "59"));
}

#[tokio::test]
async fn counts_of_past_minutes_are_removed_from_the_user() {
    let service = service().await;
    let user = a_user();
    join(&service.api.store, &user).await;
    let token = service.token_for_user(user.user_id, &[]).await;

    for _ in 0..18 {
        assert_eq!(service.status("GET", POST, Some(&token), "").await, 200);
        service.api.clock.advance(TimeDelta::minutes(1));
    }

    let hash = AccessToken::parse(&token).unwrap().hash();
    let admitted = service.api.store.admit(user.user_id, &hash, false, service.api.clock.now()).await.unwrap();
    assert!(admitted.unwrap().stale.is_empty(), "only counts that are not worth a write are left");
}

#[tokio::test]
async fn a_limited_token_acts_for_its_profile_until_it_is_deleted() {
    let service = service().await;
    let user = a_user();
    join(&service.api.store, &user).await;
    let profile = a_profile(&user);
    service.api.store.create_profile(&profile, None).await.unwrap();
    let now = service.api.clock.now();
    let made = TokenGrant::made(user.user_id, Scopes::from_requested(&[]), now, now + TimeDelta::days(1));
    let token = service.put(TokenGrant { profile_id: Some(profile.profile_id), ..made }).await;
    let all = service.token_for_user(user.user_id, &[]).await;

    let owner = async |token: &str| service.send("GET", "/api/v1/owner", Some(token), "").await.body;
    let id = profile.profile_id.get();
    assert_eq!(owner(&token).await, json!([user.user_id.get(), id, id]));
    assert_eq!(owner(&all).await, json!([user.user_id.get(), null, null]));
    let refused = service.send("POST", "/api/v1/owner", Some(&token), "").await;
    assert_eq!((refused.status, service.status("POST", "/api/v1/owner", Some(&all), "").await), (403, 200));
    assert!(refused.body["message"].as_str().unwrap().contains("limited to a profile and cannot rename profiles"));

    service.api.store.delete_profile(user.user_id, profile.profile_id, None).await.unwrap();

    assert_eq!(service.status("GET", POST, Some(&token), "").await, 401);
    assert_eq!(service.status("GET", POST, Some(&all), "").await, 200);
}

#[tokio::test]
async fn disabled_user_is_denied_from_that_request_on() {
    let service = service().await;
    let user = a_user();
    join(&service.api.store, &user).await;
    let token = service.token_for_user(user.user_id, &[]).await;
    assert_eq!(service.status("GET", POST, Some(&token), "").await, 200);

    service.api.store.set_disabled(user.user_id, true).await.unwrap();

    assert_eq!(service.status("GET", POST, Some(&token), "").await, 401);
}

#[tokio::test]
async fn after_many_invalid_tokens_next_gets_429_and_a_valid_one_passes() {
    let service = service().await;
    let (good, revoked) = (service.token(&[]).await, service.token(&[]).await);
    let made_up = || AccessToken::mint(a_user().user_id).secret().expose_secret().to_owned();

    for _ in 0..60 {
        assert_eq!(service.status("GET", POST, Some(&made_up()), "").await, 401);
    }
    let refused = service.send("GET", POST, Some(&made_up()), "").await;

    assert_eq!((refused.status, refused.header("x-ratelimit-remaining")), (429, "0"));
    let passes = service.send("GET", POST, Some(&good), "").await;
    assert_eq!((passes.status, passes.header("x-ratelimit-remaining")), (200, "59"), "this process never saw it");
    let (hash, owner) = AccessToken::parse(&revoked).map(|it| (it.hash(), it.claimed_owner())).unwrap();
    assert_eq!(service.api.store.revoke_token(owner, &hash).await.unwrap(), WriteOutcome::Applied);
    assert_eq!(service.status("GET", POST, Some(&revoked), "").await, 429);
    service.api.clock.advance(TimeDelta::minutes(1));
    assert_eq!(service.status("GET", POST, Some(&made_up()), "").await, 401);
}

#[tokio::test]
async fn only_a_proven_proxy_sets_the_client_address() {
    let proxy = TrustedProxy { address_header: "x-client".parse().unwrap(), ..TrustedProxy::mcp("secret".into()) };
    let service = service_with(Api { proxies: vec![proxy], ..api().await });
    let send = async |address: &str, proof: &str| {
        let request = Request::post("/api/v1/open").header("x-client", address).header("x-proxy-secret", proof);
        service.send_request(request.body(Body::empty()).unwrap()).await.header("x-ratelimit-remaining").to_owned()
    };

    assert_eq!(send("198.51.100.1", "secret").await, "59");
    assert_eq!(send("198.51.100.2", "secret").await, "59");
    assert_eq!(send("198.51.100.1", "secret").await, "58");
    assert_eq!(send("198.51.100.3", "wrong").await, "59", "counted to the address of the connection");
    assert_eq!(send("198.51.100.4", "wrong").await, "58");
}

#[tokio::test]
async fn internal_error_names_only_the_request_id() {
    let service = service().await;

    let answer = service.send("GET", "/api/v1/broken", None, "").await;

    let message = answer.body["message"].as_str().unwrap();
    assert!(message.contains(answer.header("x-request-id")), "{message}");
    assert_eq!(answer.body, json!({ "message": message }));
}

#[tokio::test]
async fn pages_count_separately_and_assets_do_not_count() {
    let service = service().await;
    service.exhaust_limit(None).await;

    let page = service.send("GET", "/page", None, "").await;
    assert_eq!((page.status, page.header("x-ratelimit-remaining")), (200, "59"));
    assert_eq!(page.header("strict-transport-security"), "max-age=31536000");
    for _ in 0..59 {
        assert_eq!(service.status("GET", "/page", None, "").await, 200);
    }
    let refused = service.send("GET", "/page", None, "").await;

    assert_eq!((refused.status, refused.header("retry-after")), (429, "60"));
    assert_eq!(refused.header("content-type"), "text/html; charset=utf-8");
    assert_eq!(service.status("GET", "/nothing", None, "").await, 404);
    assert_eq!(service.status("DELETE", "/page", None, "").await, 405);
    for path in ["/assets/style.css", "/favicon.ico"] {
        let asset = service.send("GET", path, None, "").await;
        assert_eq!((asset.status, asset.header("x-request-id").len()), (200, 32), "{path}");
        assert_eq!((asset.header("x-ratelimit-limit"), asset.header("x-ratelimit-remaining")), ("60", "60"), "{path}");
        assert_eq!(asset.header("x-ratelimit-reset"), refused.header("x-ratelimit-reset"), "{path}");
    }
    service.api.clock.advance(TimeDelta::minutes(1));
    assert_eq!(service.status("GET", "/page", None, "").await, 200);
}

#[tokio::test]
async fn only_posts_to_media_count_as_uploads() {
    let service = service().await;
    let token = service.token(&[]).await;

    for (method, path) in [("POST", "/api/v1/open"), ("GET", "/api/v1/media"), ("POST", "/api/v1/media/1")] {
        let answer = service.send(method, path, Some(&token), "").await;
        assert_eq!(answer.header("x-ratelimit-limit"), "60", "{method} {path}");
    }
}

#[tokio::test]
async fn files_that_platforms_fetch_are_not_counted() {
    let service = service().await;

    for _ in 0..2 {
        let file = service.send("GET", &format!("{}nothing", FileAddress::PREFIX), None, "").await;
        assert_eq!((file.status, file.header("x-ratelimit-remaining")), (404, "60"));
    }
}

#[tokio::test]
async fn an_unknown_path_is_a_page_for_browsers_but_not_below_the_api() {
    let service = service().await;
    let content_type = async |path: &str, accept: &str| {
        let request = Request::get(path).header("accept", accept).body(Body::empty()).unwrap();
        service.send_request(request).await.header("content-type").to_owned()
    };

    assert!(content_type("/nothing", "text/html,*/*").await.starts_with("text/html"));
    assert_eq!(content_type("/nothing", "application/json").await, "application/json");
    assert_eq!(content_type("/api/v1/nothing", "text/html").await, "application/json");
}

#[tokio::test]
async fn api_responses_are_not_cached_and_https_is_enforced() {
    let service = service().await;
    let plain = service_with(Api { origin: "http://localhost:3000".to_owned(), ..api().await });

    let answer = service.send("GET", "/api/v1/nothing", None, "").await;
    let local = plain.send("GET", "/api/v1/nothing", None, "").await;

    assert_eq!((answer.header("cache-control"), answer.header("x-content-type-options")), ("no-store", "nosniff"));
    assert_eq!(answer.header("strict-transport-security"), "max-age=31536000");
    assert_eq!((local.header("cache-control"), local.header("strict-transport-security")), ("no-store", ""));
}

#[tokio::test]
async fn a_request_keeps_the_id_that_the_gateway_gave_it() {
    let service = service().await;
    let mut request = Request::get("/api/v1/nothing").body(Body::empty()).unwrap();
    request.extensions_mut().insert(RequestId("gateway-7".to_owned()));

    assert_eq!(service.send_request(request).await.header("x-request-id"), "gateway-7");
}

#[tokio::test]
async fn head_works_for_every_get_route() {
    let service = service().await;
    let token = service.token(&[]).await;

    assert_eq!(service.status("HEAD", POST, Some(&token), "").await, 200);
}

#[tokio::test]
async fn scripts_of_other_origins_need_to_be_allowed() {
    let api = Api { allowed_origins: vec!["https://app.example".to_owned()], ..api().await };
    let service = service_with(api);
    let preflight = |origin: &str| {
        Request::builder()
            .method("OPTIONS")
            .uri(POST)
            .header("origin", origin)
            .header("access-control-request-method", "PATCH")
            .body(Body::empty())
            .unwrap()
    };

    let allowed = service.send_request(preflight("https://app.example")).await;
    let refused = service.send_request(preflight("https://evil.example")).await;

    assert_eq!((allowed.status, allowed.header("access-control-allow-origin")), (204, "https://app.example"));
    assert!(allowed.header("access-control-allow-headers").contains("authorization"));
    assert_eq!((refused.status, refused.header("access-control-allow-origin")), (405, ""));
    assert_eq!(refused.header("vary"), "origin");
}
