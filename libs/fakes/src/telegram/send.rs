//! Sending messages to a chat.

use bytes::Bytes;
use domain::media::MimeType;
use serde_json::{Value, json};

use super::api_error::ApiError;
use super::fields::Fields;
use super::{Fake, Message};
use crate::conformance::fake_platform::PublicMedium;

const MAX_TEXT: usize = 4096;
const MAX_CAPTION: usize = 1024;
/// Documented as 10 MB; `TDLib` itself permits 10 MiB.
const MAX_PHOTO_BYTES: usize = 10_000_000;
const MAX_FILE_BYTES: usize = 50_000_000;

pub(super) fn message(fake: &Fake, method: &str, fields: &mut Fields) -> Result<Value, ApiError> {
    let mut given = Vec::new();
    for name in ["disable_notification", "protect_content", "message_thread_id", "link_preview_options"] {
        if let Some(value) = fields.take(name) {
            if name == "link_preview_options" && method != "sendMessage" {
                return Err(ApiError::bad(&format!("{method} has no {name}")));
            }
            given.push(format!("{name}={value}"));
        }
    }
    let reply_to = fields.take_json("reply_parameters").map(|it| parent(fake, &it)).transpose()?;
    let mode = fields.take("parse_mode");
    given.extend(mode.as_ref().map(|it| format!("parse_mode={it}")));
    let (text, media, failed) = match method {
        "sendMessage" => {
            let text = parse_text(&fields.take("text").unwrap_or_default(), mode.as_deref())?;
            if text.is_empty() {
                return Err(ApiError::bad("message text is empty"));
            }
            (fits(text, MAX_TEXT, "message is too long")?, Vec::new(), None)
        }
        "sendMediaGroup" => read_album(fields)?,
        single => {
            let kind = match single {
                "sendPhoto" => "photo",
                "sendAnimation" => "animation",
                "sendDocument" => "document",
                _ => {
                    for name in ["supports_streaming", "width", "height", "duration"] {
                        fields.take(name);
                    }
                    "video"
                }
            };
            let caption = parse_text(&fields.take("caption").unwrap_or_default(), mode.as_deref())?;
            let caption = fits(caption, MAX_CAPTION, "message caption is too long")?;
            let bytes =
                fields.take_file(kind).ok_or_else(|| ApiError::bad(&format!("there is no {kind} in the request")))?;
            check_sendable(kind, &bytes)?;
            (caption, vec![process_file(kind, &bytes).map_err(ApiError::bad)?], None)
        }
    };
    let count = media.len().max(1);
    let mut memory = fake.memory();
    let chat = memory.chat(memory.id());
    let id = memory.messages.last().map_or(1, |it| it.id + i64::try_from(it.media.len().max(1)).unwrap_or(1));
    if failed.is_none() || !media.is_empty() {
        memory.messages.push(Message { id, text, media, fields: given, reply_to });
    }
    if let Some((position, error)) = failed {
        let description = format!("failed to send message #{position} with the error message \"{error}\"");
        return Err(ApiError::bad(&description));
    }
    let shown = |id: i64| json!({ "message_id": id, "date": 0, "chat": chat });
    let ids = (id..).take(count);
    Ok(if method == "sendMediaGroup" { ids.map(shown).collect() } else { shown(id) })
}

/// The message to which a message replies. It has to be in the chat, because `allow_sending_without_reply` is false by
/// default.
fn parent(fake: &Fake, parameters: &Value) -> Result<i64, ApiError> {
    let unparsed = |why: &str| ApiError::bad(&format!("can't parse ReplyParameters: {why}"));
    let parameters = parameters.as_object().ok_or_else(|| unparsed("expected an Object"))?;
    if let Some(name) = parameters.keys().find(|it| *it != "message_id") {
        return Err(unparsed(&format!("there is no {name}")));
    }
    let id = parameters.get("message_id").and_then(Value::as_i64);
    let id = id.ok_or_else(|| unparsed("field \"message_id\" must be a valid Number"))?;
    let is_there = fake.memory().messages.iter().any(|it| it.has(id));
    if is_there { Ok(id) } else { Err(ApiError::bad("message to be replied not found")) }
}

/// The caption of an album, the displayed files, and the position and error of the first failed
/// file. The response does not show whether the other files are displayed (`on_message_send_failed`
/// in `Client.cpp`); the fake displays them.
type Album = (String, Vec<PublicMedium>, Option<(usize, &'static str)>);

/// At most 10 photos and videos. The first one's caption is that of the album.
fn read_album(fields: &mut Fields) -> Result<Album, ApiError> {
    let unparsed = |why: &str| ApiError::bad(&format!("can't parse InputMedia: {why}"));
    let entries = fields.take_json("media").ok_or_else(|| ApiError::bad("can't parse media JSON object"))?;
    let entries = entries.as_array().ok_or_else(|| unparsed("expected an Array of InputMedia"))?;
    match entries.len() {
        0 => return Err(ApiError::bad("there are no messages to send")),
        1..=10 => {}
        _ => return Err(ApiError::bad("too many messages to send as an album")),
    }
    let (mut text, mut media, mut failed) = (String::new(), Vec::new(), None);
    for (index, entry) in entries.iter().enumerate() {
        let field = |name: &str| entry.get(name).and_then(Value::as_str);
        let kind = field("type").unwrap_or_default();
        if !matches!(kind, "photo" | "video") {
            return Err(unparsed(&format!("type \"{kind}\" can't be used in sendMediaGroup")));
        }
        let name = field("media").and_then(|it| it.strip_prefix("attach://"));
        let bytes = name.and_then(|it| fields.take_file(it)).ok_or_else(|| unparsed("media not found"))?;
        let caption = parse_text(field("caption").unwrap_or_default(), field("parse_mode"))?;
        let caption = fits(caption, MAX_CAPTION, "message caption is too long")?;
        if index == 0 {
            text = caption;
        }
        check_sendable(kind, &bytes)?;
        match process_file(kind, &bytes) {
            // Telegram makes it a document.
            Ok(PublicMedium { mime_type: MimeType::Quicktime, .. }) => {
                return Err(ApiError::bad("can't use the media of the specified type in the album"));
            }
            Ok(medium) => media.push(medium),
            Err(why) => failed = failed.or(Some((index + 1, why))),
        }
    }
    Ok((text, media, failed))
}

/// Checks before the message is sent.
fn check_sendable(kind: &str, bytes: &Bytes) -> Result<(), ApiError> {
    if MAX_FILE_BYTES < bytes.len() {
        return Err(ApiError::new(413, "Request Entity Too Large"));
    }
    if kind == "photo" && MAX_PHOTO_BYTES < bytes.len() {
        let size = bytes.len();
        let description =
            format!("file of size {size} bytes is too big for a photo; the maximum size is 10485760 bytes");
        return Err(ApiError::bad(&description));
    }
    Ok(())
}

/// A file after processing by Telegram's servers, which detect its type from the bytes; or their error.
fn process_file(kind: &str, bytes: &Bytes) -> Result<PublicMedium, &'static str> {
    let wrong = if kind == "photo" { "IMAGE_PROCESS_FAILED" } else { "VIDEO_CONTENT_TYPE_INVALID" };
    let mime_type = MimeType::sniff(bytes).ok_or(wrong)?;
    let fits = match kind {
        "photo" => matches!(mime_type, MimeType::Jpeg | MimeType::Png | MimeType::Webp),
        "animation" => matches!(mime_type, MimeType::Gif | MimeType::Mp4),
        "document" => true,
        _ => matches!(mime_type, MimeType::Mp4 | MimeType::Quicktime),
    };
    if !fits {
        return Err(wrong);
    }
    if kind == "photo"
        && let Some((width, height)) = mime_type.picture_size(bytes)
        && (10_000 < width + height || width > 20 * height || height > 20 * width)
    {
        return Err("PHOTO_INVALID_DIMENSIONS");
    }
    Ok(PublicMedium { mime_type, bytes: bytes.to_vec(), alt_text: None })
}

/// The displayed text: without markup and surrounding white space.
fn parse_text(text: &str, mode: Option<&str>) -> Result<String, ApiError> {
    let shown = match mode {
        None => text.to_owned(),
        Some("HTML") => strip_tags(text)?,
        Some("MarkdownV2") => text.replace(['*', '_', '~', '`', '\\'], ""),
        Some(_) => return Err(ApiError::bad("unsupported parse_mode")),
    };
    Ok(shown.trim().to_owned())
}

/// Errors have the messages of `parse_html` in `TDLib`.
fn strip_tags(text: &str) -> Result<String, ApiError> {
    const TAGS: [&str; 10] = ["b", "strong", "i", "em", "u", "s", "a", "code", "pre", "blockquote"];
    let unparsed = |why: String| ApiError::bad(&format!("can't parse entities: {why}"));
    let (mut shown, mut rest, mut open) = (String::new(), text, Vec::new());
    while let Some((before, after)) = rest.split_once('<') {
        shown.push_str(before);
        let offset = text.len() - after.len() - 1;
        let (tag, after) =
            after.split_once('>').ok_or_else(|| unparsed(format!("Unclosed start tag at byte offset {offset}")))?;
        let name = tag.trim_start_matches('/').split(' ').next().unwrap_or_default();
        if tag.starts_with('/') {
            match open.pop() {
                Some(opened) if opened == name => {}
                Some(opened) => {
                    return Err(unparsed(format!(
                        "Unmatched end tag at byte offset {offset}, expected \"</{opened}>\", found \"</{name}>\""
                    )));
                }
                None => return Err(unparsed(format!("Unexpected end tag at byte offset {offset}"))),
            }
        } else if TAGS.contains(&name) {
            open.push(name);
        } else {
            return Err(unparsed(format!("Unsupported start tag \"{name}\" at byte offset {offset}")));
        }
        rest = after;
    }
    if let Some(name) = open.pop() {
        return Err(unparsed(format!("Can't find end tag corresponding to start tag \"{name}\"")));
    }
    shown.push_str(rest);
    Ok(shown.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&"))
}

/// `max` is in UTF-16 code units, like all lengths and offsets of the Bot API.
fn fits(text: String, max: usize, message: &str) -> Result<String, ApiError> {
    if text.encode_utf16().count() <= max { Ok(text) } else { Err(ApiError::bad(message)) }
}
