//! Validates `m.room.message` contents of the supported message types.

use domain::media::MimeType;
use serde_json::{Map, Value};

use super::api_error::ApiError;
use super::{Event, Memory};

/// Refuses messages that no client shows as they are meant, and unknown references.
pub(super) fn check(memory: &Memory, content: &Map<String, Value>) -> Result<(), ApiError> {
    let bad = |why: &str| Err(ApiError::bad(why));
    let text = |name: &str| content.get(name).and_then(Value::as_str);
    let kind = text("msgtype").unwrap_or_default();
    if !["m.text", "m.notice", "m.image", "m.video", "m.file"].contains(&kind) || text("body").is_none_or(str::is_empty)
    {
        return bad("there is no body, or no msgtype of this kind");
    }
    match (text("format"), text("formatted_body")) {
        (None, None) | (Some("org.matrix.custom.html"), Some(_)) => {}
        _ => return bad("format and formatted_body belong together"),
    }
    // Without `m.mentions`, names in a text notify users, as they did before version 1.7.
    if !content.get("m.mentions").is_some_and(Value::is_object) {
        return bad("there is no m.mentions");
    }
    if let Some(relation) = content.get("m.relates_to") {
        check_thread(memory, relation)?;
    }
    if ["m.text", "m.notice"].contains(&kind) {
        return Ok(());
    }
    let Some(file) = text("url").and_then(|it| memory.files.get(it)) else { return bad("the file is not there") };
    let info = content.get("info").cloned().unwrap_or_default();
    if info["mimetype"] != file.mime_type.as_str() || info["size"].as_u64() != Some(file.bytes.len() as u64) {
        return bad("info is of another file");
    }
    if (kind == "m.file") != (file.mime_type == MimeType::Pdf.as_str()) || text("filename").is_none() {
        return bad("clients would not show the file as what it is");
    }
    Ok(())
}

/// Checks a thread relation as Synapse does (`_validate_event_relation` in `message.py`). Synapse does not
/// check the event of `m.in_reply_to`; the fake requires one of the thread.
fn check_thread(memory: &Memory, relation: &Value) -> Result<(), ApiError> {
    let refused = |why: &str| Err(ApiError::new(400, "M_UNKNOWN", why));
    let Some(first) = memory.events.iter().find(|it| relation["event_id"] == it.id) else {
        return refused("Can't send relation to unknown event");
    };
    if first.content.get("m.relates_to").is_some() {
        return refused("Cannot start threads from an event with a relation");
    }
    let fallback = &relation["m.in_reply_to"]["event_id"];
    let is_in_thread = |it: &&Event| it.id == first.id || it.content["m.relates_to"]["event_id"] == first.id;
    let is_of_thread = memory.events.iter().filter(is_in_thread).any(|it| *fallback == it.id);
    if relation["rel_type"] != "m.thread" || relation["is_falling_back"] != true || !is_of_thread {
        return refused("the relation is no thread, or the fallback is not an event of the thread");
    }
    Ok(())
}
