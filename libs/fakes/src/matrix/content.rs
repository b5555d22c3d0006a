//! Validates `m.room.message` contents of the supported message types.

use domain::media::MimeType;
use serde_json::{Map, Value};

use super::api_error::ApiError;
use super::{Event, Memory};

/// "The complete event MUST NOT be larger than 65536 bytes". A server adds this many bytes in a busy room.
const OF_THE_SERVER: usize = 4_000;

/// Refuses invalid messages and unknown references. A field outside the specification starts with a
/// domain, so its name contains a dot.
pub(super) fn check(memory: &Memory, room: &str, content: &Map<String, Value>) -> Result<(), ApiError> {
    let bad = |why: &str| Err(ApiError::bad(why));
    let text = |name: &str| content.get(name).and_then(Value::as_str);
    let size = serde_json::to_vec(content).map_or(usize::MAX, |it| it.len());
    if 65_536 < size + OF_THE_SERVER {
        return Err(ApiError::new(413, "M_TOO_LARGE", "event too large"));
    }
    let of_files = ["url", "info", "filename"];
    let own: &[&str] = match text("msgtype") {
        Some("m.text" | "m.notice") => &[],
        Some("m.image" | "m.video" | "m.file") => &of_files,
        _ => return bad("there is no msgtype of this kind"),
    };
    let all = ["msgtype", "body", "format", "formatted_body", "m.mentions", "m.relates_to"];
    let is_known = |it: &&String| all.contains(&it.as_str()) || own.contains(&it.as_str()) || it.contains('.');
    if let Some(name) = content.keys().find(|it| !is_known(it)) {
        return bad(&format!("there is no field {name}"));
    }
    if text("body").is_none_or(str::is_empty) {
        return bad("there is no body");
    }
    match (text("format"), text("formatted_body")) {
        (None, None) | (Some("org.matrix.custom.html"), Some(_)) => {}
        _ => return bad("format and formatted_body belong together"),
    }
    if text("formatted_body").is_some_and(|it| !is_html(it)) {
        return bad("formatted_body has a tag that clients do not show");
    }
    // Without `m.mentions`, names in a text notify users, as they did before version 1.7.
    if !content.get("m.mentions").is_some_and(Value::is_object) {
        return bad("there is no m.mentions");
    }
    if let Some(relation) = content.get("m.relates_to") {
        check_thread(memory, room, relation)?;
    }
    if own.is_empty() {
        return Ok(());
    }
    let file = text("url").and_then(|it| memory.files.get(it));
    let Some(file) = file else { return bad("the file is not there") };
    let info = content.get("info").cloned().unwrap_or_default();
    if info["mimetype"] != file.mime_type.as_str() || info["size"].as_u64() != Some(file.bytes.len() as u64) {
        return bad("info is of another file");
    }
    if (text("msgtype") == Some("m.file")) != (file.mime_type == MimeType::Pdf.as_str()) {
        return bad("clients would not show the file as what it is");
    }
    let is_number = |name: &str| info.get(name).is_none_or(Value::is_u64);
    if !["w", "h", "duration"].into_iter().all(is_number) || text("filename").is_none() {
        return bad("info or filename is in another form");
    }
    Ok(())
}

/// Checks a thread relation with the errors of Synapse (`_validate_event_relation` in `message.py`). Synapse does not
/// check the event of `m.in_reply_to`; the fake requires one of the thread.
fn check_thread(memory: &Memory, room: &str, relation: &Value) -> Result<(), ApiError> {
    let refused = |why: &str| Err(ApiError::new(400, "M_UNKNOWN", why));
    if relation["rel_type"] != "m.thread" {
        return refused("there is no relation of this kind");
    }
    let Some(first) = memory.events.iter().find(|it| relation["event_id"] == it.id) else {
        return refused("Can't send relation to unknown event");
    };
    if first.room != room {
        return refused("Relations must be in the same room");
    }
    if first.content.get("m.relates_to").is_some() {
        return refused("Cannot start threads from an event with a relation");
    }
    let fallback = &relation["m.in_reply_to"]["event_id"];
    let is_in_thread = |it: &&Event| it.id == first.id || it.content["m.relates_to"]["event_id"] == first.id;
    if relation["is_falling_back"] != true || !memory.events.iter().filter(is_in_thread).any(|it| *fallback == it.id) {
        return refused("the fallback is not an event of the thread");
    }
    Ok(())
}

/// Whether the only tags are complete links and line breaks.
fn is_html(html: &str) -> bool {
    let tags = html.split('<').skip(1).map(|it| it.split_once('>').map(|(tag, _)| tag));
    let is_link = |tag: &str| {
        let address = tag.strip_prefix("a href=\"").and_then(|it| it.strip_suffix('"'));
        address.is_some_and(|it| it.starts_with("https://") || it.starts_with("http://"))
    };
    tags.into_iter().all(|it| it.is_some_and(|tag| tag == "br" || tag == "/a" || is_link(tag)))
}
