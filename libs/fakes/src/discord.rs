//! Discord: its OAuth for webhooks, webhooks, and one channel of a server.
//!
//! Made from the documentation of API v10 and its `OpenAPI` description. It is stricter
//! than the real one: fields and parameters that a call does not have are refused,
//! and so are files that are not what they say.

mod api_error;
pub mod bot;
mod fake_platform;
mod fields;
mod files;
mod oauth;
mod send;
mod webhooks;

use std::sync::Arc;

use axum::Json;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::middleware::{Next, from_fn};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use domain::clock::Clock;
use http::{StatusCode, header};
use platforms::conformance::fake_platform::PublicMedium;
use serde_json::{Value, json};

use self::api_error::ApiError;
use crate::fake::limits::Limits;
use crate::fake::oauth::secret;
use crate::fake::params::essence;
use crate::fake::request_log::RequestLog;
use crate::fake::server;

/// The number of the server.
pub const GUILD: &str = "290926792226357250";

/// The number of its channel.
pub const CHANNEL: &str = "345626669224982402";

/// What webhooks of the channel are called.
pub const NAME: &str = "Lighthouse news";

/// Discord; with `APP`, the service is registered there as an app.
pub struct Discord<const APP: bool = true> {
    fake: Arc<Fake>,
    /// What arrived so far.
    pub request_log: RequestLog,
}

type Fake = server::FakeServer<Memory>;

#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
struct Memory {
    webhooks: Vec<Webhook>,
    messages: Vec<Message>,
    limits: Limits,
    /// How many ids were given out.
    ids: u64,
    /// Whether the channel is a forum.
    is_forum: bool,
    /// Whether webhooks are shown without their server and with a picture.
    is_bare: bool,
    /// Whether tokens come without a webhook.
    keeps_webhooks: bool,
    /// Whether posts of a forum need a tag.
    requires_tags: bool,
    /// What the next message is refused with.
    refusal: Option<ApiError>,
}

struct Webhook {
    id: String,
    token: String,
    /// Of the app that was given it, where one was.
    application_id: Option<String>,
    is_deleted: bool,
}

/// What people see in the channel.
struct Message {
    id: String,
    text: String,
    media: Vec<PublicMedium>,
    /// As it came.
    payload: Value,
}

impl<const APP: bool> Discord<APP> {
    /// Starts one on a free port, in whose channel somebody has made a webhook. It tells
    /// the time by `clock`.
    pub async fn start(clock: Clock) -> Self {
        let webhook = get(webhooks::show).post(send::execute).delete(webhooks::delete);
        let routes = Router::new()
            .route("/api/v10/webhooks/{id}/{token}", webhook)
            .route("/api/v10/webhooks/{id}/{token}/messages/{message}", get(webhooks::message))
            .merge(crate::fake::oauth::routes("/oauth2/authorize", oauth::TOKEN, None))
            .fallback(api_error::not_found)
            // What is too large is refused in `send`.
            .layer(DefaultBodyLimit::disable());
        let strict = |server: Router| server.layer(from_fn(strict));
        let fake = Fake::serve_with((), "discord", clock, oauth::RULES, Memory::default(), routes, strict).await;
        fake.memory().webhook(None);
        Self { request_log: fake.request_log.clone(), fake }
    }

    /// The address of the webhook that somebody has made, as the app copies it.
    pub fn webhook_url(&self) -> String {
        let memory = self.fake.memory();
        let Webhook { id, token, .. } = &memory.webhooks[0];
        format!("https://discord.com/api/webhooks/{id}/{token}")
    }

    /// The channel is a forum from now on.
    pub fn make_forum(&self) {
        self.fake.memory().is_forum = true;
    }

    /// Posts of a forum need a tag from now on.
    pub fn requires_tags(&self) {
        self.fake.memory().requires_tags = true;
    }

    /// The next message is refused with this status and code of the documentation.
    pub fn refuses(&self, status: u16, code: u32, message: &str) {
        let status = StatusCode::from_u16(status).expect("tests name statuses that there are");
        self.fake.memory().refusal = Some(ApiError::new(status, code, message));
    }

    /// Webhooks are shown without their server from now on, and with a picture.
    pub fn hide_guild(&self) {
        self.fake.memory().is_bare = true;
    }

    /// Tokens come without a webhook from now on.
    pub fn keeps_webhooks(&self) {
        self.fake.memory().keeps_webhooks = true;
    }

    pub fn is_webhook_token(&self, token: &str) -> bool {
        self.fake.memory().webhooks.iter().any(|it| it.token == token)
    }

    /// What the latest message came as.
    pub fn latest_payload(&self) -> Value {
        self.fake.memory().messages.last().map(|it| it.payload.clone()).unwrap_or_default()
    }
}

/// Calls of the API say what program makes them (reference, "User Agent"). Cloudflare
/// turns others away. The body of a call for tokens is a form (topic
/// `OAuth2`, "Shared Resources").
async fn strict(request: Request, next: Next) -> Response {
    let name = request.headers().get(header::USER_AGENT).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let user_agent_url =
        name.strip_prefix("DiscordBot (").and_then(|it| it.split_once(')')).and_then(|it| it.0.split_once(", "));
    let is_valid = user_agent_url.is_some_and(|(url, version)| {
        url::Url::parse(url).is_ok_and(|it| it.scheme() == "https")
            && version.starts_with(|it: char| it.is_ascii_digit())
    });
    let path = request.uri().path();
    if path == oauth::TOKEN && essence(request.headers()) != "application/x-www-form-urlencoded" {
        let fault = json!({ "error": "invalid_request", "error_description": "JSON content is not permitted." });
        return (StatusCode::BAD_REQUEST, Json(fault)).into_response();
    }
    if is_valid || !path.starts_with("/api/") {
        return next.run(request).await;
    }
    let page = "<!DOCTYPE html>\n<html><body>error code: 1010</body></html>\n";
    (StatusCode::FORBIDDEN, Html(page)).into_response()
}

impl Memory {
    /// An id that nothing else has.
    fn id(&mut self) -> String {
        self.ids += 1;
        (347_114_750_880_120_000 + self.ids).to_string()
    }

    /// A webhook is made: by somebody in the app, or for one of these apps.
    fn webhook(&mut self, application_id: Option<String>) -> &Webhook {
        let (id, token) = (self.id(), format!("{}_-{}", secret(), &secret()[..20]));
        self.webhooks.push(Webhook { id, token, application_id, is_deleted: false });
        &self.webhooks[self.webhooks.len() - 1]
    }
}
