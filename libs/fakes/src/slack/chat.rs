//! Posting and reading messages.

use std::fmt::Write;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::api_error::ApiError;
use super::arguments::{self, CURSOR, LIMIT, NOT_EMPTY};
use super::call::Call;
use super::{ARCHIVED, Message};
use crate::fake::limits::{Limit, WindowStart};
use crate::fake::schema::{self, AnyObject, Boolean, Fields, Object, Optional, Pattern, Required, TEXT};

/// "Limit the number of characters in the text field to 4,000". Slack accepts more, and then splits
/// or truncates the text.
const MAX_TEXT: usize = 4_000;

/// "1 message per second per channel".
const PER_CHANNEL: Limit =
    Limit { name: "channel", max: 1, period: TimeDelta::seconds(1), window_start: WindowStart::FirstRequest };

pub(super) const MESSAGE: Fields = &[
    ("channel", Required, NOT_EMPTY),
    ("text", Required, NOT_EMPTY),
    ("unfurl_links", Optional, Boolean),
    ("unfurl_media", Optional, Boolean),
    ("link_names", Optional, Boolean),
    ("metadata", Optional, Object(METADATA)),
    ("thread_ts", Optional, TEXT),
];

const METADATA: Fields = &[("event_type", Required, Pattern(is_event_type)), ("event_payload", Required, AnyObject)];

pub(super) const HISTORY: Fields = &[
    ("channel", Required, NOT_EMPTY),
    ("include_all_metadata", Optional, Boolean),
    ("inclusive", Optional, Boolean),
    ("oldest", Optional, TEXT),
    ("latest", Optional, TEXT),
    LIMIT,
    CURSOR,
];

pub(super) const REPLIES: Fields = &[
    ("channel", Required, NOT_EMPTY),
    ("ts", Required, NOT_EMPTY),
    ("include_all_metadata", Optional, Boolean),
    ("inclusive", Optional, Boolean),
    ("oldest", Optional, TEXT),
    ("latest", Optional, TEXT),
    LIMIT,
    CURSOR,
];

/// `chat.postMessage`
pub(super) fn post(call: &mut Call<'_>, arguments: &Value) -> Result<Value, ApiError> {
    let (channel, text) = (schema::text(arguments, "channel"), schema::text(arguments, "text"));
    let links_names = arguments["link_names"] == true;
    let (metadata, thread) = (arguments.get("metadata").cloned(), arguments::text(arguments, "thread_ts"));
    check_may_post(call, &channel, &text)?;
    check_thread(call, &channel, thread.as_deref())?;
    let usage = call.memory.limits.count(PER_CHANNEL, &channel, 1, call.now);
    if usage.is_exceeded {
        return Err(ApiError::too_many((usage.resets_at - call.now).num_seconds().max(1)));
    }
    call.memory.calls_people += called(&text) + usize::from(links_names && text.contains('@'));
    let ts = call.memory.say(&channel, &text, metadata, Vec::new(), call.now);
    if let Some(message) = call.memory.messages.last_mut() {
        message.unfurls = (arguments["unfurl_links"].as_bool(), arguments["unfurl_media"].as_bool());
        message.thread = thread;
    }
    Ok(json!({
        "ok": true, "channel": channel, "ts": ts,
        "message": { "type": "message", "subtype": "bot_message", "text": text, "ts": ts, "bot_id": "B0KEEPERBOT" },
    }))
}

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

fn is_event_type(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_')
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
pub(super) fn history(call: &mut Call<'_>, arguments: &Value) -> Result<Value, ApiError> {
    let mut response = list(call, arguments, |it| it.thread.is_none(), true)?;
    response["pin_count"] = 0.into();
    Ok(response)
}

/// `conversations.replies`: the first message of the thread and its replies, oldest first.
pub(super) fn replies(call: &mut Call<'_>, arguments: &Value) -> Result<Value, ApiError> {
    let ts = schema::text(arguments, "ts");
    let Some(named) = call.memory.messages.iter().find(|it| it.ts == ts) else {
        return Err(ApiError::new("thread_not_found"));
    };
    let root = named.thread.clone().unwrap_or(ts);
    list(call, arguments, |it| it.ts == root || it.thread.as_ref() == Some(&root), false)
}

fn list(
    call: &Call<'_>,
    arguments: &Value,
    is_listed: impl Fn(&Message) -> bool,
    newest_first: bool,
) -> Result<Value, ApiError> {
    let channel = schema::text(arguments, "channel");
    let (with_metadata, inclusive) = (arguments["include_all_metadata"] == true, arguments["inclusive"] == true);
    let oldest = parse_ts(arguments::text(arguments, "oldest"), "invalid_ts_oldest")?;
    let latest = parse_ts(arguments::text(arguments, "latest"), "invalid_ts_latest")?;
    let page = call.page(arguments);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::schema::testing::assert_refuses;

    #[test]
    fn invalid_arguments_of_messages_are_refused() {
        let valid = json!({ "channel": "C0", "text": "a", "metadata": { "event_type": "a_1", "event_payload": {} } });
        let wrong = json!({
            "/other": [1], "/channel ": [null], "/channel": [""], "/text ": [null], "/unfurl_links": ["true"],
            "/unfurl_media": [1], "/link_names": [null], "/metadata": [[]], "/metadata/event_type": ["a-1"],
            "/metadata/event_payload": [[]], "/metadata/other": [1], "/thread_ts": [1],
        });
        assert_refuses(MESSAGE, &valid, &wrong);
        let wrong = json!({ "/ts ": [null], "/limit": [0, 1_000], "/cursor": ["2"] });
        assert_refuses(REPLIES, &json!({ "channel": "C0", "ts": "1", "limit": 1, "cursor": "next:1" }), &wrong);
    }
}
