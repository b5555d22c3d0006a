//! Google Business Profile: a person with two accounts and three locations, and a project that has
//! access to the APIs. All APIs are on one origin, because their paths differ.
//!
//! Source: the discovery documents of account management v1 and business information v1, and the
//! reference of local posts v4, independently of the adapter. Fields that clients cannot set are
//! refused. What the reference does not limit (texts, the number of files, the button of an offer) is
//! as dated field tests found it. Not simulated: scheduled and recurring posts, alerts, changes of
//! posts, filters of lists, limits, and fetching a picture after the response.

mod fake_platform;
mod fields;
mod locations;
mod posts;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{DefaultBodyLimit, FromRequestParts, Query};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use domain::clock::Clock;
use http::Method;
use http::request::Parts;
use serde_json::{Value, json};

use self::posts::LocalPost;
use crate::conformance::fake_platform::{Call, InjectedFault};
use crate::fake::front::FaultInjection;
use crate::fake::oauth::{Authorizes, classify_token_call};
use crate::fake::server;
use crate::google::api_error::{self, ApiError, error_body, error_info, refusal};
use crate::google::{no_such_path, oauth};

/// The person who consents.
pub const USER: &str = "ada.keeper@gmail.com";
pub const SCOPE: &str = "https://www.googleapis.com/auth/business.manage";
/// The host of local posts.
pub const SERVICE: &str = "mybusiness.googleapis.com";

/// The location of the personal account that may post, with that account.
pub const LOCATION: &str = "accounts/101945832217235206545/locations/12341542785316514846";
/// A location of the same account, whose metadata do not permit posts.
pub const LOCATION_WITHOUT_POSTS: &str = "accounts/101945832217235206545/locations/5550001112223334445";
/// A location of the other account, with the same title.
pub const OTHER_LOCATION: &str = "accounts/117700112233445566778/locations/9876543210987654321";

/// The states of a post, each with the seconds from its creation until it has that state.
pub type Review = &'static [(i64, &'static str)];

/// The review of a post without a problem.
pub const PASSES: Review = &[(0, "PROCESSING"), (12, "LIVE")];

/// Google Business Profile. With `FOR_SUITE`, one location may have posts, as the conformance suite expects, and
/// pictures may be smaller than Google accepts, as those of the suite are.
pub struct GoogleBusiness<const FOR_SUITE: bool = false> {
    fake: Arc<Fake>,
}

type Fake = server::FakeServer<Memory>;

struct Memory {
    /// Oldest first.
    posts: Vec<LocalPost>,
    /// The URLs of fetched pictures, in order.
    fetched: Vec<String>,
    /// Of the next posts.
    review: Review,
    is_for_suite: bool,
    last_id: u64,
}

impl<const FOR_SUITE: bool> GoogleBusiness<FOR_SUITE> {
    pub async fn start(clock: Clock) -> Self {
        let parent = "/v4/accounts/{account}/locations/{location}";
        let routes = oauth::routes::<Fake>()
            .route("/v1/accounts", get(locations::accounts))
            .route("/v1/accounts/{account}/locations", get(locations::list))
            .route("/v1/locations/{location}", get(locations::location))
            .route(&format!("{parent}/localPosts"), get(posts::list).post(posts::create))
            .route(&format!("{parent}/localPosts/{{post}}"), get(posts::post))
            .fallback(no_such_path)
            .layer(DefaultBodyLimit::disable());
        let (posts, fetched, last_id) = (Vec::new(), Vec::new(), 4_211_980_000_000_000_000);
        let memory = Memory { posts, fetched, review: PASSES, is_for_suite: FOR_SUITE, last_id };
        Self { fake: Fake::serve("google_business", clock, oauth::rules(&[SCOPE]), memory, routes).await }
    }

    /// The next call to a path with this prefix gets this response.
    pub fn refuses(&self, path: &str, status: u16, body: Value) {
        self.fake.injected_faults().refuse(path, status, body);
    }

    /// The next posts have these states, such as `&[(0, "LIVE"), (3_600, "REJECTED")]`.
    pub fn reviews(&self, review: Review) {
        self.fake.memory().review = review;
    }

    /// A person changes the texts of all posts in Google's own pages.
    pub fn edit_posts(&self, text: &str) {
        let now = self.fake.clock.now();
        self.fake.memory().posts.iter_mut().for_each(|it| it.edit(text, now));
    }

    /// A person deletes all posts in Google's own pages.
    pub fn delete_posts(&self) {
        self.fake.memory().posts.clear();
    }

    /// The request body of the latest post.
    pub fn latest_request(&self) -> Value {
        self.fake.memory().posts.last().map(|it| it.request.clone()).unwrap_or_default()
    }
}

/// A call with a valid token.
struct Accepted {
    fake: Arc<Fake>,
    /// The path after the version, such as the name of a post.
    name: String,
    query: BTreeMap<String, String>,
}

impl FromRequestParts<Arc<Fake>> for Accepted {
    type Rejection = ApiError;

    async fn from_request_parts(head: &mut Parts, fake: &Arc<Fake>) -> Result<Self, ApiError> {
        let accepted = fake.oauth().accept(&head.headers, &[SCOPE], fake.clock.now()).map(|_| ());
        accepted.map_err(|fault| refusal(api_error::token_refused(&fault, SERVICE)))?;
        let path = head.uri.path();
        if let Some((status, body)) = fake.injected_faults().refusal(path) {
            return Err((status, Json(body)));
        }
        let Query(query) = Query::try_from_uri(&head.uri).unwrap_or_default();
        Ok(Self { fake: Arc::clone(fake), name: path["/v1/".len()..].to_owned(), query })
    }
}

/// The error of a field, with a number from the enum `ErrorCode`; `field` is empty if there is none.
fn invalid(code: u32, field: &str, message: &str) -> Value {
    let mut detail = json!({ "code": code, "message": message });
    if !field.is_empty() {
        detail["field"] = field.into();
    }
    let name = "type.googleapis.com/google.mybusiness.v4.ValidationError";
    let details = [json!({ "@type": name, "errorDetails": [detail] })];
    error_body(400, "INVALID_ARGUMENT", "Request contains an invalid argument.", &details)
}

/// `LOCATION_DISABLED_FOR_LOCAL_POST_API`
pub fn location_disabled() -> Value {
    let mut body = invalid(1_302, "", "Location Disabled for Local Post API.");
    let info = error_info("LOCATION_DISABLED_FOR_LOCAL_POST_API", &json!({}));
    body["error"]["details"].as_array_mut().unwrap().push(info);
    body
}

impl Authorizes for Fake {
    fn accounts(&self) -> &'static [&'static str] {
        &[USER]
    }
}

impl FaultInjection for Fake {
    const TRANSLATED: &'static [&'static str] =
        &["/error/message", "/error/details/0/errorDetails/0/message", "/error_description"];

    fn call(&self, head: &Parts, body: &[u8]) -> Option<Call> {
        let path = head.uri.path();
        match (&head.method, path) {
            (&Method::POST, "/token") => Some(classify_token_call(head, body)),
            (&Method::POST, "/revoke") => Some(Call::Revoke),
            (&Method::POST, _) if path.ends_with("/localPosts") => Some(Call::Publish),
            (&Method::GET, _) if path.contains("/localPosts") => Some(Call::LookUp),
            (&Method::GET, _) if path.starts_with("/v1/") => Some(Call::Account),
            _ => None,
        }
    }

    fn respond(&self, call: Call, fault: InjectedFault) -> Response {
        if (call, fault) == (Call::Publish, InjectedFault::Refused) {
            return refusal(invalid(fields::INVALID_VALUE, "summary", "Invalid value")).into_response();
        }
        api_error::respond(call, fault, SERVICE)
    }
}
