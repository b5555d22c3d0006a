//! Pinterest: one account with two boards, and an app with Standard access.
//!
//! Made from the official description of the API v5 (5.23), independently of the adapter: fields that it does not list
//! are refused. Not imitated: sections of boards, prices of calls, the sandbox.

mod network;
mod pins;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Json;
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use chrono::{DateTime, TimeDelta, Utc};
use domain::clock::Clock;
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use platforms::conformance::network::{Call, Trouble};
use platforms::conformance::stage::ORIGIN;
use serde_json::{Value, json};

use self::pins::{Media, Pin};
use crate::stand_in::arrivals::{self, Arrivals};
use crate::stand_in::echo::{self, Echo};
use crate::stand_in::front::{self, Front};
use crate::stand_in::oauth::{self, App, Authorizes, Client, Fault, Grant, OAuth, Pkce, Refresh, Rules};
use crate::stand_in::ordered::Ordered;
use crate::stand_in::params::{Params, essence};
use crate::stand_in::troubles::Troubles;
use crate::stand_in::wire;

/// The account's username, by which the person chooses it.
pub const USERNAME: &str = "keeper_ada";

/// A public board of the account.
pub const BOARD: &str = "549755885175";

/// A board for advertisements, which accepts no pins of people.
const ADS_BOARD: &str = "549755885176";

const RULES: Rules = Rules {
    clients: &[Client::Basic],
    // The documents do not know challenges.
    pkce: Pkce::Unknown,
    scopes: &["boards:read", "boards:write", "pins:read", "pins:write", "user_accounts:read"],
    separator: ',',
    access_lives: Some(TimeDelta::days(30)),
    refresh: Refresh::Rotating,
    ..Rules::STANDARD
};

/// Pinterest.
pub struct Pinterest {
    here: Arc<Here>,
    address: SocketAddr,
    app: App,
    /// What arrived.
    pub arrivals: Arrivals,
}

struct Here {
    clock: Clock,
    oauth: Mutex<OAuth>,
    memory: Mutex<Memory>,
    echo: Echo,
    /// Where files are uploaded; another host than the API's in reality.
    storage: Mutex<String>,
}

#[derive(Default)]
struct Memory {
    /// Oldest first.
    pins: Vec<Pin>,
    media: BTreeMap<String, Media>,
    /// Whether videos cannot be processed from now on.
    spoils: bool,
    troubles: Troubles,
    ordered: Ordered,
    last_id: u64,
}

impl Pinterest {
    /// Starts one on a free port. It tells the time by `clock`.
    pub async fn start(clock: Clock) -> Self {
        let mut oauth = OAuth::new(RULES);
        let app = oauth.register(&format!("{ORIGIN}/connect/callback/pinterest"));
        let here = Arc::new(Here {
            clock,
            oauth: Mutex::new(oauth),
            memory: Mutex::new(Memory { last_id: 813_744_226_420_795_000, ..Memory::default() }),
            echo: Arc::new(AtomicBool::new(false)),
            storage: Mutex::default(),
        });
        let server = oauth::routes::<Here>("/oauth/", "/v5/oauth/token", None)
            .route("/v5/user_account", get(user_account))
            .route("/v5/boards", get(boards))
            .route("/v5/boards/{id}/pins", get(pins::list))
            .route("/v5/pins", post(pins::create))
            .route("/v5/media", post(pins::register))
            .route("/v5/media/{id}", get(pins::status))
            .route("/storage", post(pins::store))
            .layer(DefaultBodyLimit::disable());
        let server = front::around(server, Arc::clone(&here)).with_state(Arc::clone(&here));
        let arrivals = Arrivals::default();
        let address = wire::serve(arrivals::around(echo::around(server, &here.echo), &arrivals)).await;
        *here.storage.lock().unwrap() = format!("http://{address}/storage");
        Self { here, address, app, arrivals }
    }

    /// Where it is, without a slash at the end.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The next call to a path that begins like this is answered with this.
    pub fn refuses(&self, path: &str, status: u16, body: Value) {
        self.here.memory().ordered.order(path, status, body);
    }

    /// Upload URLs lead here from now on.
    pub fn stores_files_at(&self, url: &str) {
        url.clone_into(&mut self.here.storage.lock().unwrap());
    }

    /// The account's owner adds this pin by hand.
    pub fn pins_by_hand(&self, description: &str) {
        let (description, at) = (description.to_owned(), self.here.clock.now());
        self.here.memory().add(Pin { description, at, ..Pin::default() });
    }

    /// The latest pin as its request stated it.
    pub fn latest_request(&self) -> Value {
        self.here.memory().pins.last().map(|it| it.request.clone()).unwrap_or_default()
    }
}

impl Here {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts a call whose token has all of these scopes.
    fn accept(&self, headers: &HeaderMap, path: &str, scopes: &[&str]) -> Result<(), Refusal> {
        for scope in scopes {
            self.oauth().accept(headers, &[scope], self.clock.now()).map_err(|fault| match fault {
                Fault::BeyondScope => Refusal::new(403, 3, "Authorization failed: not enough scopes."),
                _ => Refusal::new(401, 2, "Authentication failed."),
            })?;
        }
        let ordered = self.memory().ordered.take(path);
        ordered.map_or(Ok(()), |(status, body)| Err(Refusal { status: status_of(status), body }))
    }
}

impl Memory {
    /// An id that nothing else has.
    fn next_id(&mut self) -> String {
        self.last_id += 1;
        self.last_id.to_string()
    }
}

/// `{"code": …, "message": …}`: the description has no list of codes.
struct Refusal {
    status: StatusCode,
    body: Value,
}

impl Refusal {
    fn new(status: u16, code: u32, message: &str) -> Self {
        Self { status: status_of(status), body: json!({ "code": code, "message": message }) }
    }

    fn invalid(message: &str) -> Self {
        Self::new(400, 1, message)
    }
}

fn status_of(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap()
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, Json(self.body)).into_response()
    }
}

/// `GET /v5/user_account`
async fn user_account(State(here): State<Arc<Here>>, headers: HeaderMap) -> Result<Json<Value>, Refusal> {
    here.accept(&headers, "/v5/user_account", &["user_accounts:read"])?;
    Ok(Json(json!({
        "account_type": "BUSINESS", "id": "549755885170", "username": USERNAME, "business_name": "The Harbor",
        "profile_image": "https://i.pinimg.com/280x280/ada.jpg", "website_url": "", "board_count": 2,
        "pin_count": here.memory().pins.len(), "follower_count": 0, "following_count": 0, "monthly_views": 0,
    })))
}

/// `GET /v5/boards`, one board per page, so that a client has to follow the bookmark.
async fn boards(
    State(here): State<Arc<Here>>,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> Result<Json<Value>, Refusal> {
    here.accept(&headers, "/v5/boards", &["boards:read"])?;
    page_size(&query)?;
    let board = |id: &str, name: &str, is_ads_only: bool| {
        json!({ "id": id, "name": name, "privacy": "PUBLIC", "is_ads_only": is_ads_only, "pin_count": 0,
            "owner": { "username": USERNAME }, "created_at": "2022-03-14T15:15:22" })
    };
    Ok(Json(match query.get("bookmark").map(String::as_str) {
        None => json!({ "items": [board(ADS_BOARD, "Campaign", true)], "bookmark": "b1" }),
        Some("b1") => json!({ "items": [board(BOARD, "Boats", false)], "bookmark": null }),
        Some(_) => return Err(Refusal::invalid("Invalid bookmark.")),
    }))
}

fn page_size(query: &BTreeMap<String, String>) -> Result<usize, Refusal> {
    let size = query.get("page_size").map_or(Some(25), |it| it.parse().ok()).filter(|it| (1..=250).contains(it));
    size.ok_or_else(|| Refusal::invalid("page_size: 1 to 250"))
}

impl Authorizes for Here {
    fn oauth(&self) -> MutexGuard<'_, OAuth> {
        self.oauth.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    fn accounts(&self) -> &'static [&'static str] {
        &[USERNAME]
    }

    fn fault(&self, headers: &HeaderMap, _: &Params) -> Option<Fault> {
        Fault::unless_form(headers)
    }

    fn tokens(&self, grant: &Grant, rules: &Rules) -> Value {
        let mut tokens = grant.answer(rules);
        tokens["token_type"] = "bearer".into();
        tokens["scope"] = grant.scopes.join(" ").into();
        tokens["refresh_token_expires_in"] = TimeDelta::days(60).num_seconds().into();
        tokens["refresh_token_expires_at"] = (self.now() + TimeDelta::days(60)).timestamp().into();
        tokens
    }

    /// As clients report it.
    fn refusal(&self, fault: Fault) -> Response {
        match fault {
            Fault::InvalidGrant(_) => Refusal::new(401, 283, "The authorization grant is invalid"),
            Fault::UnknownClient => Refusal::new(401, 2, "Authentication failed."),
            other => Refusal::new(other.status().as_u16(), 1, &other.words()),
        }
        .into_response()
    }
}

impl Front for Here {
    fn call(&self, head: &Parts, body: &[u8]) -> Option<Call> {
        let path = head.uri.path();
        let is_refresh = || body.windows(24).any(|it| it == b"grant_type=refresh_token");
        match (&head.method, path) {
            (&Method::POST, "/v5/oauth/token") if is_refresh() => Some(Call::Refresh),
            (&Method::POST, "/v5/oauth/token") => Some(Call::Exchange),
            (&Method::POST, "/storage") => Some(Call::Upload),
            (&Method::GET, _) if path.starts_with("/v5/media/") => Some(Call::Process),
            (&Method::POST, "/v5/pins") => Some(Call::Publish),
            (&Method::GET, _) if path.ends_with("/pins") => Some(Call::LookUp),
            (&Method::GET, "/v5/user_account") => Some(Call::Account),
            _ => None,
        }
    }

    fn meet(&self, call: Call) -> Option<Trouble> {
        self.memory().troubles.meet(call)
    }

    fn answer(&self, call: Call, trouble: Trouble) -> Response {
        match (call, trouble) {
            (Call::Exchange | Call::Refresh, Trouble::Unwanted) => self.refusal(Fault::InvalidGrant("")),
            (_, Trouble::Limited { retry_after }) => {
                let mut response = Refusal::new(429, 8, "You have exceeded your rate limit.").into_response();
                response.headers_mut().insert("retry-after", retry_after.num_seconds().into());
                response
            }
            (_, Trouble::Unavailable) => Refusal::new(503, 9, "Service unavailable.").into_response(),
            (_, Trouble::Unwanted) => Refusal::new(403, 7, "This pin is not allowed.").into_response(),
            _ => Refusal::new(500, 12, "Something went wrong on our end.").into_response(),
        }
    }

    fn spoil(&self, _: &Parts) {
        self.memory().spoils = true;
    }
}

/// Whether a request says that its body is JSON.
fn is_json(headers: &HeaderMap) -> bool {
    essence(headers) == "application/json"
}
