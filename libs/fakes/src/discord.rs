//! Discord: OAuth for webhooks, webhooks, and one channel of a server.
//!
//! Based on the documentation of API v10 and its `OpenAPI` description. The fake is
//! stricter than Discord: it refuses unknown fields and parameters, and files whose
//! content does not match their declared type.

mod api_error;
pub mod bot;
mod fake_platform;
mod files;
mod message;
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
use serde_json::{Value, json};

use crate::conformance::fake_platform::PublicMedium;
use crate::fake::limits::Limits;
use crate::fake::oauth::secret;
use crate::fake::params::essence;
use crate::fake::request_log::RequestLog;
use crate::fake::server;

pub const GUILD: &str = "290926792226357250";

pub const CHANNEL: &str = "345626669224982402";

/// The name of the channel's webhooks.
pub const NAME: &str = "Lighthouse news";

/// Discord; with `APP`, the service is registered as an app.
pub struct Discord<const APP: bool = true> {
    fake: Arc<Fake>,
    pub request_log: RequestLog,
}

type Fake = server::FakeServer<Memory>;

#[derive(Default)]
struct Memory {
    webhooks: Vec<Webhook>,
    messages: Vec<Message>,
    limits: Limits,
    ids: u64,
    is_forum: bool,
    /// Whether token responses lack the webhook.
    keeps_webhooks: bool,
}

struct Webhook {
    id: String,
    token: String,
    /// The app that owns the webhook; `None` for one that a user made.
    application_id: Option<String>,
    is_deleted: bool,
}

/// A public message of the channel.
struct Message {
    id: String,
    text: String,
    media: Vec<PublicMedium>,
    /// The payload as received.
    payload: Value,
}

impl<const APP: bool> Discord<APP> {
    /// Starts the fake on a free port; a user has already made a webhook in the channel.
    /// `clock` is the fake's clock.
    pub async fn start(clock: Clock) -> Self {
        let webhook = get(webhooks::show).post(send::execute).delete(webhooks::delete);
        let routes = Router::new()
            .route("/api/v10/webhooks/{id}/{token}", webhook)
            .route("/api/v10/webhooks/{id}/{token}/messages/{message}", get(webhooks::message))
            .merge(crate::fake::oauth::routes("/oauth2/authorize", oauth::TOKEN, None))
            .fallback(api_error::not_found)
            // `send` refuses bodies that are too large.
            .layer(DefaultBodyLimit::disable());
        let strict = |server: Router| server.layer(from_fn(strict));
        let fake = Fake::serve_with((), "discord", clock, oauth::RULES, Memory::default(), routes, strict).await;
        fake.memory().webhook(None);
        Self { request_log: fake.request_log.clone(), fake }
    }

    /// The URL of the user's webhook, as the Discord app copies it.
    pub fn webhook_url(&self) -> String {
        let memory = self.fake.memory();
        let Webhook { id, token, .. } = &memory.webhooks[0];
        format!("https://discord.com/api/webhooks/{id}/{token}")
    }

    pub fn make_forum(&self) {
        self.fake.memory().is_forum = true;
    }

    /// Removes the webhook from token responses.
    pub fn keeps_webhooks(&self) {
        self.fake.memory().keeps_webhooks = true;
    }

    pub fn latest_payload(&self) -> Value {
        self.fake.memory().messages.last().map(|it| it.payload.clone()).unwrap_or_default()
    }
}

/// API calls need a valid user agent (reference, "User Agent"); Cloudflare denies
/// others. The body of a token request is a form (topic `OAuth2`, "Shared Resources").
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
    fn id(&mut self) -> String {
        self.ids += 1;
        (347_114_750_880_120_000 + self.ids).to_string()
    }

    /// Creates a webhook: for an app, or one of a user (`None`).
    fn webhook(&mut self, application_id: Option<String>) -> &Webhook {
        let (id, token) = (self.id(), format!("{}_-{}", secret(), &secret()[..20]));
        self.webhooks.push(Webhook { id, token, application_id, is_deleted: false });
        &self.webhooks[self.webhooks.len() - 1]
    }
}
