//! Routing and checks of all calls of the Web API, and the small methods.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use chrono::TimeDelta;
use serde_json::{Value, json};

use super::api_error::ApiError;
use super::arguments::{self, CURSOR, LIMIT, text};
use super::call::Call;
use super::{ARCHIVED, CHANNEL, Fake, PRIVATE, TEAM, TEAM_ID, TEAM_URL, access, chat, files};
use crate::fake::limits::{Limit, WindowStart};
use crate::fake::schema::{self, Boolean, Fields, Optional, TEXT};

/// A tier's limit: calls of a method per minute.
const fn limit_per_minute(name: &'static str, max: u64) -> Limit {
    Limit { name, max, period: TimeDelta::minutes(1), window_start: WindowStart::FirstRequest }
}

const TIER_3: Limit = limit_per_minute("tier 3", 50);
const TIER_4: Limit = limit_per_minute("tier 4", 100);

/// For methods with special limits, which are not documented for all.
const SPECIAL: Limit = limit_per_minute("special", 600);

type Handler = fn(&mut Call<'_>, &Value) -> Result<Value, ApiError>;

/// The scope of a method, if any, its rate limit, arguments and handler.
fn method_rule(method: &str) -> Option<(Option<&'static str>, Limit, Fields, Handler)> {
    Some(match method {
        "auth.test" => (None, SPECIAL, &[], auth_test),
        // Private channels need another scope, which is checked for each channel.
        "users.conversations" => (Some("channels:read"), TIER_3, CHANNELS, channels),
        "conversations.history" => (Some("channels:history"), TIER_3, chat::HISTORY, chat::history),
        "conversations.replies" => (Some("channels:history"), TIER_3, chat::REPLIES, chat::replies),
        "chat.postMessage" => (Some("chat:write"), SPECIAL, chat::MESSAGE, chat::post),
        "files.getUploadURLExternal" => (Some("files:write"), TIER_4, files::UPLOAD, files::announce),
        "files.completeUploadExternal" => (Some("files:write"), TIER_4, files::SHARE, files::share),
        "files.info" => (Some("files:read"), TIER_4, files::FILE, files::info),
        "files.delete" => (Some("files:write"), TIER_3, files::FILE, files::delete),
        _ => return None,
    })
}

const CHANNELS: Fields = &[("types", Optional, TEXT), ("exclude_archived", Optional, Boolean), LIMIT, CURSOR];

/// `/api/{method}`
pub(super) async fn respond(
    State(fake): State<Arc<Fake>>,
    Path(method): Path<String>,
    request: Request,
) -> Result<Json<Value>, ApiError> {
    if method == "auth.revoke" {
        let (arguments, headers) = arguments::read(request, &[]).await?;
        access::accept(&fake, &headers, None)?;
        schema::check(&arguments, &[])?;
        return Ok(Json(access::revoke(&fake)));
    }
    let (scope, limit, fields, handle) = method_rule(&method).ok_or_else(|| ApiError::new("unknown_method"))?;
    let (arguments, headers) = arguments::read(request, fields).await?;
    let grant = access::accept(&fake, &headers, scope)?;
    let now = fake.clock.now();
    let mut memory = fake.memory();
    let usage = memory.limits.count(limit, &method, 1, now);
    if usage.is_exceeded {
        return Err(ApiError::too_many((usage.resets_at - now).num_seconds().max(1)));
    }
    if let Some(code) = memory.refusals.remove(&method) {
        return Err(ApiError::new(&code));
    }
    schema::check(&arguments, fields)?;
    handle(&mut Call { memory: &mut memory, scopes: &grant.scopes, now }, &arguments).map(Json)
}

/// `auth.test`
#[expect(clippy::unnecessary_wraps, reason = "a `Handler`")]
fn auth_test(_: &mut Call<'_>, _: &Value) -> Result<Value, ApiError> {
    Ok(json!({
        "ok": true, "url": TEAM_URL, "team": TEAM, "team_id": TEAM_ID, "user": "keeper",
        "user_id": "U0KEEPERBOT", "bot_id": "B0KEEPERBOT", "is_enterprise_install": false,
    }))
}

/// `users.conversations`
fn channels(call: &mut Call<'_>, arguments: &Value) -> Result<Value, ApiError> {
    let types = text(arguments, "types").unwrap_or_else(|| "public_channel".to_owned());
    let (excludes, page) = (arguments["exclude_archived"] == true, call.page(arguments));
    let types: Vec<_> = types.split(',').map(str::trim).collect();
    let may_see = |it: &&str| match *it {
        "public_channel" => true,
        "private_channel" => call.scopes.iter().any(|it| it == "groups:read"),
        _ => false,
    };
    if !types.iter().all(may_see) {
        return Err(ApiError::new("invalid_types"));
    }
    let all = [(CHANNEL, "general", false), (ARCHIVED, "lanterns", false), (PRIVATE, "keepers", true)];
    let all = all.map(|(id, name, is_private)| (id.to_owned(), name.to_owned(), is_private));
    let further = (0..call.memory.further_channels).map(|it| (format!("C9{it:08}"), format!("room-{it}"), false));
    let is_listed = |(id, _, is_private): &(String, String, bool)| {
        let kind = if *is_private { "private_channel" } else { "public_channel" };
        call.memory.is_invited && types.contains(&kind) && !(excludes && *id == ARCHIVED)
    };
    let listed = all.into_iter().chain(further).filter(is_listed).map(|(id, name, is_private)| {
        json!({
            "id": id, "name": name, "is_channel": !is_private, "is_group": is_private,
            "is_private": is_private, "is_archived": id == ARCHIVED, "is_general": id == CHANNEL,
        })
    });
    let (channels, next) = page.slice(listed.collect());
    Ok(json!({ "ok": true, "channels": channels, "response_metadata": { "next_cursor": next } }))
}
