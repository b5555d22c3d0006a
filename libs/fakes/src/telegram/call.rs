//! Calls of a bot, and the form of responses.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use chrono::TimeDelta;
use http::request::Parts;
use serde_json::{Value, json};

use super::api_error::ApiError;
use super::fields::Fields;
use super::{BOT, CHANNEL, Fake, TOKEN, send};
use crate::conformance::fake_platform::{Call, InjectedFault};
use crate::fake::front::FaultInjection;
use crate::fake::limits::{Limit, WindowStart};

/// Messages of a bot to one chat: "20 messages per minute to the same group".
const PER_CHAT: Limit =
    Limit { name: "chat", max: 20, period: TimeDelta::minutes(1), window_start: WindowStart::FirstRequest };

pub(super) async fn not_found() -> ApiError {
    ApiError::new(404, "Not Found")
}

/// `/bot{token}/{method}`
pub(super) async fn respond(
    State(fake): State<Arc<Fake>>,
    Path((bot, method)): Path<(String, String)>,
    request: Request,
) -> Result<Json<Value>, ApiError> {
    let token = bot.strip_prefix("bot").filter(|it| it.contains(':')).ok_or_else(|| ApiError::new(404, "Not Found"))?;
    if token != TOKEN {
        return Err(ApiError::new(401, "Unauthorized"));
    }
    let mut fields = Fields::read(request).await?;
    let result = match method.as_str() {
        "getMe" => json!({ "id": BOT, "is_bot": true, "first_name": "Keeper", "username": "keeper_bot" }),
        "getChat" => {
            let id = chat(&fake, &mut fields, Access::Read)?;
            fake.memory().chat(id)
        }
        "getChatMember" => {
            chat(&fake, &mut fields, Access::Read)?;
            if fields.take("user_id").as_deref() != Some(BOT.to_string().as_str()) {
                return Err(ApiError::bad("invalid user_id specified"));
            }
            json!({ "status": "administrator", "can_post_messages": true, "user": { "id": BOT } })
        }
        "getChatMemberCount" => {
            chat(&fake, &mut fields, Access::Write)?;
            json!(7)
        }
        "sendMessage" | "sendPhoto" | "sendVideo" | "sendAnimation" | "sendDocument" | "sendMediaGroup" => {
            let to = chat(&fake, &mut fields, Access::Write)?;
            let now = fake.clock.now();
            let usage = fake.memory().limits.count(PER_CHAT, &to.to_string(), 1, now);
            if usage.is_exceeded {
                return Err(ApiError::too_many((usage.resets_at - now).num_seconds().max(1)));
            }
            send::message(&fake, &method, &mut fields)?
        }
        _ => return Err(ApiError::new(404, "Not Found: method not found")),
    };
    let rest = fields.rest();
    if !rest.is_empty() {
        return Err(ApiError::bad(&format!("{method} has no {}", rest.join(", "))));
    }
    Ok(Json(json!({ "ok": true, "result": result })))
}

/// Access of a call to its chat (`AccessRights` in `Client.cpp`).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// A migrated group can still be read by its old id.
    Read,
    /// Sending, and all calls about members.
    Write,
}

/// The chat of a call, if the bot is a member.
fn chat(fake: &Fake, fields: &mut Fields, access: Access) -> Result<i64, ApiError> {
    let named = fields.take("chat_id").ok_or_else(|| ApiError::bad("chat_id is empty"))?;
    let mut memory = fake.memory();
    let (first, id) = (memory.original_chat_id(), memory.id());
    if named == first.to_string() && id != first {
        memory.calls_to_old_id += 1;
        return if access == Access::Read { Ok(first) } else { Err(ApiError::moved(id)) };
    }
    let is_name = !memory.is_group && named == format!("@{CHANNEL}");
    if named != id.to_string() && !is_name {
        return Err(ApiError::bad("chat not found"));
    }
    if memory.is_kicked {
        return Err(ApiError::new(403, "Forbidden: bot was kicked from the channel chat"));
    }
    Ok(id)
}

// Many errors have the same code and differ only in their messages, so none is translated.
impl FaultInjection for Fake {
    fn call(&self, head: &Parts, _: &[u8]) -> Option<Call> {
        match head.uri.path().rsplit('/').next().unwrap_or_default() {
            "getMe" => Some(Call::Exchange),
            "getChat" => Some(Call::Account),
            "getChatMemberCount" => Some(Call::Refresh),
            it if it.starts_with("send") => Some(Call::Publish),
            _ => None,
        }
    }

    fn respond(&self, _: Call, fault: InjectedFault) -> Response {
        match fault {
            InjectedFault::RateLimited { retry_after } => ApiError::too_many(retry_after.num_seconds()),
            InjectedFault::Unavailable => ApiError::new(503, "Service Unavailable"),
            InjectedFault::Refused => ApiError::bad("PHOTO_INVALID_DIMENSIONS"),
            _ => ApiError::new(500, "Internal Server Error"),
        }
        .into_response()
    }
}
