//! Pinterest: one account with two boards, and an app with Standard access.
//!
//! Source: the official description of the API v5 (5.23), independently of the adapter. Fields that
//! it does not list are refused. Not simulated: board sections, prices of calls, the sandbox,
//! images as covers, video lengths.

mod fake_platform;
mod pins;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use chrono::TimeDelta;
use domain::clock::Clock;
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};

use self::pins::{Media, Pin};
use crate::conformance::fake_platform::{Call, InjectedFault};
use crate::fake::front::FaultInjection;
use crate::fake::oauth::{self, Authorizes, Client, Fault, Grant, Pkce, Refresh, Rules};
use crate::fake::server;

/// The username by which the user chooses the account.
pub const USERNAME: &str = "keeper_ada";

/// A public board of the account.
pub const BOARD: &str = "549755885175";

/// A board for advertisements, which accepts no pins of users.
const ADS_BOARD: &str = "549755885176";

const RULES: Rules = Rules {
    clients: &[Client::Basic],
    // The documentation does not mention PKCE.
    pkce: Pkce::Unknown,
    scopes: &["boards:read", "boards:write", "pins:read", "pins:write", "user_accounts:read"],
    separator: ',',
    access_lives: Some(TimeDelta::days(30)),
    refresh: Refresh::Rotating,
    refresh_lives: Some(TimeDelta::days(60)),
    ..Rules::STANDARD
};

pub struct Pinterest {
    fake: Arc<Fake>,
}

type Fake = server::FakeServer<Memory>;

#[derive(Default)]
struct Memory {
    /// Oldest first.
    pins: Vec<Pin>,
    media: BTreeMap<String, Media>,
    spoils: bool,
    last_id: u64,
}

impl Pinterest {
    pub async fn start(clock: Clock) -> Self {
        let routes = oauth::routes::<Fake>("/oauth/", "/v5/oauth/token", None)
            .route("/v5/user_account", get(user_account))
            .route("/v5/boards", get(boards))
            .route("/v5/boards/{id}/pins", get(pins::list))
            .route("/v5/pins", post(pins::create))
            .route("/v5/media", post(pins::register))
            .route("/v5/media/{id}", get(pins::status))
            .route("/storage", post(pins::store))
            .layer(DefaultBodyLimit::disable());
        let memory = Memory { last_id: 813_744_226_420_795_000, ..Memory::default() };
        Self { fake: Fake::serve("pinterest", clock, RULES, memory, routes).await }
    }

    /// The next call to a path with this prefix gets this response.
    pub fn refuses(&self, path: &str, status: u16, body: Value) {
        self.fake.injected_faults().refuse(path, status, body);
    }

    pub fn latest_request(&self) -> Value {
        self.fake.memory().pins.last().map(|it| it.request.clone()).unwrap_or_default()
    }
}

impl Fake {
    /// Accepts a call whose token has all of these scopes.
    fn accept(&self, headers: &HeaderMap, path: &str, scopes: &[&str]) -> Result<(), ApiError> {
        for scope in scopes {
            self.oauth().accept(headers, &[scope], self.clock.now()).map_err(|fault| match fault {
                Fault::BeyondScope => refusal(403, 3, "Authorization failed: not enough scopes."),
                _ => refusal(401, 2, "Authentication failed."),
            })?;
        }
        self.injected_faults().refusal(path).map_or(Ok(()), |(status, body)| Err((status, Json(body))))
    }
}

impl Memory {
    fn next_id(&mut self) -> String {
        self.last_id += 1;
        self.last_id.to_string()
    }
}

type ApiError = (StatusCode, Json<Value>);
type ApiResult = Result<Json<Value>, ApiError>;
type Created = Result<(StatusCode, Json<Value>), ApiError>;
type Paging = Query<BTreeMap<String, String>>;

/// The API description has no list of codes.
fn refusal(status: u16, code: u32, message: &str) -> ApiError {
    (StatusCode::from_u16(status).unwrap(), Json(json!({ "code": code, "message": message })))
}

fn invalid(message: &str) -> ApiError {
    refusal(400, 1, message)
}

/// `GET /v5/user_account`
async fn user_account(State(fake): State<Arc<Fake>>, headers: HeaderMap) -> ApiResult {
    fake.accept(&headers, "/v5/user_account", &["user_accounts:read"])?;
    Ok(Json(json!({
        "account_type": "BUSINESS", "id": "549755885170", "username": USERNAME, "business_name": "The Harbor",
        "profile_image": "https://i.pinimg.com/280x280/ada.jpg", "website_url": "", "board_count": 2,
        "pin_count": fake.memory().pins.len(), "follower_count": 0, "following_count": 0, "monthly_views": 0,
    })))
}

/// `GET /v5/boards`, with one board per page, so that a client must follow the bookmark.
async fn boards(State(fake): State<Arc<Fake>>, Query(query): Paging, headers: HeaderMap) -> ApiResult {
    fake.accept(&headers, "/v5/boards", &["boards:read"])?;
    let boards = [(ADS_BOARD, "Campaign", true), (BOARD, "Boats", false)].map(|(id, name, is_ads_only)| {
        json!({ "id": id, "name": name, "privacy": "PUBLIC", "is_ads_only": is_ads_only, "pin_count": 0,
            "owner": { "username": USERNAME }, "created_at": "2022-03-14T15:15:22" })
    });
    page(&query, 1, &boards)
}

/// A page of a list. The bookmark is the position of the next page.
fn page(query: &BTreeMap<String, String>, max_items: usize, all: &[Value]) -> ApiResult {
    let number = |name: &str, default: usize| query.get(name).map_or(Some(default), |it| it.parse().ok());
    let size = number("page_size", 25).filter(|it| (1..=250).contains(it));
    let size = size.ok_or_else(|| invalid("page_size: 1 to 250"))?.min(max_items);
    let start = number("bookmark", 0).ok_or_else(|| invalid("Invalid bookmark."))?;
    let items: Vec<_> = all.iter().skip(start).take(size).collect();
    let next = start + items.len();
    Ok(Json(json!({ "items": items, "bookmark": (next < all.len()).then(|| next.to_string()) })))
}

impl Authorizes for Fake {
    fn accounts(&self) -> &'static [&'static str] {
        &[USERNAME]
    }

    fn tokens(&self, grant: &Grant, rules: &Rules) -> Value {
        let mut tokens = grant.respond(rules);
        tokens["token_type"] = "bearer".into();
        tokens["scope"] = grant.scopes.join(" ").into();
        tokens["refresh_token_expires_at"] = grant.refresh_ends_at.map(|it| it.timestamp()).into();
        tokens
    }

    /// As clients report these errors.
    fn refusal(&self, fault: Fault) -> Response {
        match fault {
            Fault::InvalidGrant(_) => refusal(401, 283, "The authorization grant is invalid"),
            Fault::UnknownClient => refusal(401, 2, "Authentication failed."),
            other => refusal(other.status().as_u16(), 1, &other.message()),
        }
        .into_response()
    }
}

impl FaultInjection for Fake {
    fn call(&self, head: &Parts, body: &[u8]) -> Option<Call> {
        let path = head.uri.path();
        match (&head.method, path) {
            (&Method::POST, "/v5/oauth/token") => Some(oauth::classify_token_call(head, body)),
            (&Method::POST, "/storage") => Some(Call::Upload),
            (&Method::GET, _) if path.starts_with("/v5/media/") => Some(Call::Process),
            (&Method::POST, "/v5/pins") => Some(Call::Publish),
            (&Method::GET, _) if path.ends_with("/pins") => Some(Call::LookUp),
            (&Method::GET, "/v5/user_account") => Some(Call::Account),
            _ => None,
        }
    }

    fn respond(&self, call: Call, fault: InjectedFault) -> Response {
        match (call, fault) {
            (Call::Exchange | Call::Refresh, InjectedFault::Refused) => return self.refusal(Fault::InvalidGrant("")),
            (_, InjectedFault::RateLimited { retry_after }) => {
                let headers = [("retry-after", retry_after.num_seconds().to_string())];
                return (headers, refusal(429, 8, "You have exceeded your rate limit.")).into_response();
            }
            (_, InjectedFault::Unavailable) => refusal(503, 9, "Service unavailable."),
            (_, InjectedFault::Refused) => refusal(403, 7, "This pin is not allowed."),
            _ => refusal(500, 12, "Something went wrong on our end."),
        }
        .into_response()
    }

    fn inject_fault(&self, _: &Parts) {
        self.memory().spoils = true;
    }
}
