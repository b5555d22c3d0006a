//! Posting and reading messages.

use std::fmt::Write;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::api_error::ApiError;
use super::call::Call;
use super::fields::Fields;
use super::{ARCHIVED, Message};
use crate::fake::limits::{Limit, WindowStart};

/// "Limit the number of characters in the text field to 4,000". Slack accepts more, and then splits
/// or truncates the text.
const MAX_TEXT: usize = 4_000;

/// "1 message per second per channel".
const PER_CHANNEL: Limit =
    Limit { name: "channel", max: 1, period: TimeDelta::seconds(1), window_start: WindowStart::FirstRequest };

/// `chat.postMessage`
pub(super) fn post(call: &mut Call<'_>, mut fields: Fields) -> Result<Value, ApiError> {
    let channel = fields.required("channel")?;
    let text = fields.text("text")?.ok_or_else(|| ApiError::new("no_text"))?;
    let (unfurl_links, unfurl_media) = (fields.flag("unfurl_links")?, fields.flag("unfurl_media")?);
    let links_names = fields.flag("link_names")?.unwrap_or_default();
    let metadata = fields.json("metadata")?;
    let thread = fields.text("thread_ts")?;
    fields.end()?;
    if metadata.as_ref().is_some_and(|it| !is_metadata(it)) {
        return Err(ApiError::new("invalid_metadata_format"));
    }
    check_may_post(call, &channel, &text)?;
    check_thread(call, &channel, thread.as_deref())?;
    let usage = call.memory.limits.count(PER_CHANNEL, &channel, 1, call.now);
    if usage.is_exceeded {
        return Err(ApiError::too_many((usage.resets_at - call.now).num_seconds().max(1)));
    }
    call.memory.calls_people += called(&text) + usize::from(links_names && text.contains('@'));
    let ts = call.memory.say(&channel, &text, metadata, Vec::new(), call.now);
    if let Some(message) = call.memory.messages.last_mut() {
        message.unfurls = (unfurl_links, unfurl_media);
        message.thread = thread;
    }
    Ok(json!({
        "ok": true, "channel": channel, "ts": ts,
        "message": { "type": "message", "subtype": "bot_message", "text": text, "ts": ts, "bot_id": "B0KEEPERBOT" },
    }))
}

/// Checks that the bot may post this text to the channel.
pub(super) fn check_may_post(call: &Call<'_>, channel: &str, text: &str) -> Result<(), ApiError> {
    call.enter(channel)?;
    if channel == ARCHIVED {
        return Err(ApiError::new("is_archived"));
    }
    if text.trim().is_empty() {
        return Err(ApiError::new("no_text"));
    }
    if MAX_TEXT < text.chars().count() {
        return Err(ApiError::new("msg_too_long"));
    }
    Ok(())
}

/// Checks that replies can refer to this message. "Never use a reply's ts value; use its parent instead." Slack does not
/// say what it returns for another `ts`. It is reported to accept some, and to show such replies nowhere.
pub(super) fn check_thread(call: &Call<'_>, channel: &str, thread: Option<&str>) -> Result<(), ApiError> {
    let Some(thread) = thread else { return Ok(()) };
    parse_ts(Some(thread.to_owned()), "invalid_thread_ts")?;
    let is_root = |it: &&Message| it.channel == channel && it.ts == thread && it.at <= call.now;
    match call.memory.messages.iter().find(is_root) {
        None => Err(ApiError::new("thread_not_found")),
        Some(Message { thread: Some(_), .. }) => Err(ApiError::new("cannot_reply_to_message")),
        Some(_) => Ok(()),
    }
}

/// Whether this is an event type with a payload.
fn is_metadata(metadata: &Value) -> bool {
    let Some(object) = metadata.as_object() else { return false };
    let is_name = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
    object.len() == 2
        && object.get("event_type").and_then(Value::as_str).is_some_and(is_name)
        && object.get("event_payload").is_some_and(Value::is_object)
}

/// Number of mentions in a text: `<!channel>`, `<@U…>`.
pub(super) fn called(text: &str) -> usize {
    ["<!channel", "<!here", "<!everyone", "<!subteam", "<@"].iter().map(|it| text.matches(it).count()).sum()
}

/// The displayed text: commands in angle brackets are replaced by their labels, and entities are decoded.
pub(super) fn shown(text: &str) -> String {
    let (mut shown, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('<') {
        shown.push_str(before);
        let Some((command, after)) = after.split_once('>') else {
            rest = after;
            continue;
        };
        let (target, label) = command.split_once('|').unwrap_or((command, command));
        let _ = if target.starts_with(['!', '@', '#']) { write!(shown, "@{target}") } else { write!(shown, "{label}") };
        rest = after;
    }
    shown.push_str(rest);
    shown.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// `conversations.history`: newest first, without replies.
pub(super) fn history(call: &mut Call<'_>, fields: Fields) -> Result<Value, ApiError> {
    let mut response = list(call, fields, |it| it.thread.is_none(), true)?;
    response["pin_count"] = 0.into();
    Ok(response)
}

/// `conversations.replies`: the first message of the thread and its replies, oldest first.
pub(super) fn replies(call: &mut Call<'_>, mut fields: Fields) -> Result<Value, ApiError> {
    let ts = fields.required("ts")?;
    let Some(named) = call.memory.messages.iter().find(|it| it.ts == ts) else {
        return Err(ApiError::new("thread_not_found"));
    };
    let root = named.thread.clone().unwrap_or(ts);
    list(call, fields, |it| it.ts == root || it.thread.as_ref() == Some(&root), false)
}

fn list(
    call: &Call<'_>,
    mut fields: Fields,
    is_listed: impl Fn(&Message) -> bool,
    newest_first: bool,
) -> Result<Value, ApiError> {
    let channel = fields.required("channel")?;
    let with_metadata = fields.flag("include_all_metadata")?.unwrap_or_default();
    let inclusive = fields.flag("inclusive")?.unwrap_or_default();
    let oldest = parse_ts(fields.text("oldest")?, "invalid_ts_oldest")?;
    let latest = parse_ts(fields.text("latest")?, "invalid_ts_latest")?;
    let page = call.page(&mut fields, 100, 1_000)?;
    fields.end()?;
    if channel.starts_with('G') && !call.scopes.iter().any(|it| it == "groups:history") {
        return Err(ApiError::scope("groups:history", call.scopes));
    }
    call.enter(&channel)?;
    let is_asked = |at: DateTime<Utc>| {
        let is_edge = inclusive && (Some(at) == oldest || Some(at) == latest);
        is_edge || (oldest.is_none_or(|it| it < at) && latest.is_none_or(|it| at < it))
    };
    let messages = call.memory.messages.iter().filter(|it| it.at <= call.now && it.channel == channel);
    let messages = messages.filter(|it| is_asked(it.at) && is_listed(it)).map(|it| {
        let mut message = json!({ "type": "message", "text": it.text, "ts": it.ts, "user": "U0KEEPERBOT" });
        if let Some(thread) = &it.thread {
            message["thread_ts"] = thread.as_str().into();
        }
        if let (true, Some(metadata)) = (with_metadata, &it.metadata) {
            message["metadata"] = metadata.clone();
        }
        message
    });
    let mut messages: Vec<_> = messages.collect();
    if newest_first {
        messages.reverse();
    }
    let (messages, next) = page.slice(messages);
    let mut response = json!({ "ok": true, "messages": messages, "has_more": !next.is_empty() });
    if !next.is_empty() {
        response["response_metadata"] = json!({ "next_cursor": next });
    }
    Ok(response)
}

/// The instant of a `ts`.
fn parse_ts(ts: Option<String>, code: &str) -> Result<Option<DateTime<Utc>>, ApiError> {
    let Some(ts) = ts else { return Ok(None) };
    let at = ts.split_once('.').and_then(|(seconds, rest)| {
        let is_rest = rest.len() == 6 && rest.bytes().all(|it| it.is_ascii_digit());
        DateTime::from_timestamp(seconds.parse().ok()?, 0).filter(|_| is_rest)
    });
    at.map(Some).ok_or_else(|| ApiError::new(code))
}
