//! Validates `m.room.message` contents of the supported message types.

use domain::media::MimeType;
use serde_json::{Map, Value};

use super::Memory;
use super::api_error::ApiError;

/// "The complete event MUST NOT be larger than 65536 bytes". A server adds this many bytes in a busy room.
const OF_THE_SERVER: usize = 4_000;

/// Refuses invalid messages and unknown references. A field outside the specification starts with a
/// domain, so its name contains a dot.
pub(super) fn check(memory: &Memory, content: &Map<String, Value>) -> Result<(), ApiError> {
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
        let root = relation["event_id"].as_str().unwrap_or_default();
        if relation["rel_type"] != "m.thread" || !memory.events.iter().any(|it| it.id == root) {
            return Err(ApiError::new(400, "M_UNKNOWN", "Can't relate to this event"));
        }
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

/// Whether the only tags are complete links and line breaks.
fn is_html(html: &str) -> bool {
    let tags = html.split('<').skip(1).map(|it| it.split_once('>').map(|(tag, _)| tag));
    let is_link = |tag: &str| {
        let address = tag.strip_prefix("a href=\"").and_then(|it| it.strip_suffix('"'));
        address.is_some_and(|it| it.starts_with("https://") || it.starts_with("http://"))
    };
    tags.into_iter().all(|it| it.is_some_and(|tag| tag == "br" || tag == "/a" || is_link(tag)))
}
