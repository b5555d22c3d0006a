//! Webhooks: access checks, the resource, and deletion.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, RawQuery, State};
use axum::response::{Html, IntoResponse, Response};
use http::request::Parts;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::api_error::ApiError;
use super::{CHANNEL, Fake, GUILD, Memory, NAME, Webhook, oauth};
use crate::conformance::fake_platform::{Call, InjectedFault};
use crate::fake::front::FaultInjection;

impl Memory {
    pub(super) fn called(&mut self, id: &str, token: &str) -> Result<&mut Webhook, ApiError> {
        if id.parse::<u64>().is_err() {
            let message = format!("Value \"{id}\" is not snowflake.");
            return Err(ApiError::field("webhook_id", "NUMBER_TYPE_COERCE", &message));
        }
        let webhook = self.webhooks.iter_mut().find(|it| it.id == id && !it.is_deleted);
        let webhook = webhook.ok_or_else(ApiError::unknown_webhook)?;
        if webhook.token != token {
            return Err(ApiError::new(StatusCode::UNAUTHORIZED, 50_027, "Invalid Webhook Token"));
        }
        Ok(webhook)
    }
}

impl Webhook {
    /// The webhook resource for callers with the webhook token.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "type": 1,
            "name": NAME,
            "avatar": null,
            "channel_id": CHANNEL,
            "application_id": self.application_id,
            "token": self.token,
            "url": format!("https://discord.com/api/webhooks/{}/{}", self.id, self.token),
            "guild_id": GUILD,
        })
    }
}

pub(super) async fn show(
    State(fake): State<Arc<Fake>>,
    Path((id, token)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, ApiError> {
    refuse_query(query)?;
    let mut memory = fake.memory();
    Ok(Json(memory.called(&id, &token)?.to_json()))
}

pub(super) async fn delete(
    State(fake): State<Arc<Fake>>,
    Path((id, token)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<StatusCode, ApiError> {
    refuse_query(query)?;
    fake.memory().called(&id, &token)?.is_deleted = true;
    Ok(StatusCode::NO_CONTENT)
}

/// A message that was sent with this webhook's token.
pub(super) async fn message(
    State(fake): State<Arc<Fake>>,
    Path((id, token, message)): Path<(String, String, String)>,
) -> Result<Json<Value>, ApiError> {
    let mut memory = fake.memory();
    memory.called(&id, &token)?;
    let found = memory.messages.iter().find(|it| it.id == message);
    let found = found.ok_or_else(|| ApiError::new(StatusCode::NOT_FOUND, 10_008, "Unknown Message"))?;
    Ok(Json(json!({ "id": found.id, "channel_id": CHANNEL, "content": found.text, "webhook_id": id })))
}

pub(super) fn refuse_query(query: Option<String>) -> Result<(), ApiError> {
    match query.filter(|it| !it.is_empty()) {
        Some(query) => Err(ApiError::field(&query.replace('.', "_"), "UNKNOWN", "There is no such parameter.")),
        None => Ok(()),
    }
}

impl FaultInjection for Fake {
    const TRANSLATED: &'static [&'static str] = &["/message", "/error_description"];

    fn call(&self, head: &Parts, _: &[u8]) -> Option<Call> {
        let path = head.uri.path();
        match head.method {
            Method::POST if path == oauth::TOKEN => Some(Call::Exchange),
            _ if !path.starts_with("/api/v10/webhooks/") => None,
            Method::GET => Some(Call::Exchange),
            Method::POST => Some(Call::Publish),
            Method::DELETE => Some(Call::Revoke),
            _ => None,
        }
    }

    fn respond(&self, _: Call, fault: InjectedFault) -> Response {
        respond(fault)
    }
}

/// The response to a call that fails with an injected fault.
pub(super) fn respond(trouble: InjectedFault) -> Response {
    match trouble {
        InjectedFault::RateLimited { retry_after } => ApiError::too_many(retry_after.as_seconds_f64()).into_response(),
        // Cloudflare's own page.
        InjectedFault::Unavailable => {
            let page = "<!DOCTYPE html>\n<html><head><title>503 Service Unavailable</title></head></html>\n";
            (StatusCode::SERVICE_UNAVAILABLE, Html(page)).into_response()
        }
        InjectedFault::Refused => ApiError::bad(200_000, "Message was blocked by automatic moderation").into_response(),
        _ => ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, 0, "500: Internal Server Error").into_response(),
    }
}
