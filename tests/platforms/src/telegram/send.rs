//! Messages that are sent to a chat.

use bytes::Bytes;
use domain::media::MimeType;
use platforms::conformance::network::PublicMedium;
use serde_json::{Value, json};

use super::fields::Fields;
use super::refusal::Refusal;
use super::{CHANNEL, CHAT, Here, Message};

const MAX_TEXT: usize = 4096;
const MAX_CAPTION: usize = 1024;
const MAX_PHOTO_BYTES: usize = 10_000_000;
const MAX_FILE_BYTES: usize = 50_000_000;

/// Carries out a call that makes something public.
pub(super) fn message(here: &Here, method: &str, fields: &mut Fields) -> Result<Value, Refusal> {
    let mut given = Vec::new();
    for name in ["disable_notification", "protect_content", "message_thread_id", "link_preview_options"] {
        if let Some(value) = fields.take(name) {
            if name == "link_preview_options" && method != "sendMessage" {
                return Err(Refusal::bad(&format!("{method} has no {name}")));
            }
            given.push(format!("{name}={value}"));
        }
    }
    let mode = fields.take("parse_mode");
    given.extend(mode.as_ref().map(|it| format!("parse_mode={it}")));
    let (text, media) = match method {
        "sendMessage" => {
            let text = parsed(&fields.take("text").unwrap_or_default(), mode.as_deref())?;
            if text.is_empty() {
                return Err(Refusal::bad("message text is empty"));
            }
            (fits(text, MAX_TEXT, "message is too long")?, Vec::new())
        }
        "sendMediaGroup" => album(fields)?,
        single => {
            let kind = match single {
                "sendPhoto" => "photo",
                "sendAnimation" => "animation",
                _ => {
                    for name in ["supports_streaming", "width", "height", "duration"] {
                        fields.take(name);
                    }
                    "video"
                }
            };
            let caption = parsed(&fields.take("caption").unwrap_or_default(), mode.as_deref())?;
            let caption = fits(caption, MAX_CAPTION, "message caption is too long")?;
            let bytes =
                fields.take_file(kind).ok_or_else(|| Refusal::bad(&format!("there is no {kind} in the request")))?;
            (caption, vec![file(kind, &bytes)?])
        }
    };
    let count = media.len().max(1);
    let mut memory = here.memory();
    let chat = memory.moved_to.unwrap_or(CHAT);
    let id = memory.messages.last().map_or(1, |it| it.id + i64::try_from(it.media.len().max(1)).unwrap_or(1));
    memory.messages.push(Message { id, text, media, fields: given });
    let shown = |id: i64| json!({ "message_id": id, "date": 0, "chat": { "id": chat, "type": "channel", "username": CHANNEL } });
    let ids = (id..).take(count);
    Ok(if method == "sendMediaGroup" { ids.map(shown).collect() } else { shown(id) })
}

/// 2 to 10 photos and videos, of which the first says what all show.
fn album(fields: &mut Fields) -> Result<(String, Vec<PublicMedium>), Refusal> {
    let unparsed = || Refusal::bad("can't parse media JSON object");
    let entries = fields.take_json("media").ok_or_else(unparsed)?;
    let entries = entries.as_array().ok_or_else(unparsed)?;
    if !(2..=10).contains(&entries.len()) {
        return Err(Refusal::bad("there must be 2 to 10 media in an album"));
    }
    let (mut text, mut media) = (String::new(), Vec::new());
    for (index, entry) in entries.iter().enumerate() {
        let of = |name: &str| entry.get(name).and_then(Value::as_str);
        let kind = of("type").filter(|it| matches!(*it, "photo" | "video")).ok_or_else(unparsed)?;
        let name = of("media").and_then(|it| it.strip_prefix("attach://")).ok_or_else(unparsed)?;
        let bytes = fields.take_file(name).ok_or_else(|| Refusal::bad("wrong file identifier/HTTP URL specified"))?;
        let caption = parsed(of("caption").unwrap_or_default(), of("parse_mode"))?;
        let caption = fits(caption, MAX_CAPTION, "message caption is too long")?;
        if index == 0 {
            text = caption;
        }
        media.push(file(kind, &bytes)?);
    }
    Ok((text, media))
}

/// Files are known by what they are, not by what they are said to be.
fn file(kind: &str, bytes: &Bytes) -> Result<PublicMedium, Refusal> {
    let max = if kind == "photo" { MAX_PHOTO_BYTES } else { MAX_FILE_BYTES };
    if max < bytes.len() {
        return Err(Refusal::new(413, "Request Entity Too Large"));
    }
    let mime_type = MimeType::sniff(bytes).ok_or_else(|| Refusal::bad("IMAGE_PROCESS_FAILED"))?;
    let fits = match kind {
        "photo" => matches!(mime_type, MimeType::Jpeg | MimeType::Png | MimeType::Webp),
        "animation" => matches!(mime_type, MimeType::Gif | MimeType::Mp4),
        _ => matches!(mime_type, MimeType::Mp4 | MimeType::Quicktime),
    };
    if !fits {
        return Err(Refusal::bad("IMAGE_PROCESS_FAILED"));
    }
    if kind == "photo"
        && let Some((width, height)) = mime_type.picture_size(bytes)
        && (10_000 < width + height || width > 20 * height || height > 20 * width)
    {
        return Err(Refusal::bad("PHOTO_INVALID_DIMENSIONS"));
    }
    Ok(PublicMedium { mime_type, bytes: bytes.to_vec(), alt_text: None })
}

/// A text as it is shown: without its markup, and without white space around it.
fn parsed(text: &str, mode: Option<&str>) -> Result<String, Refusal> {
    let shown = match mode {
        None => text.to_owned(),
        Some("HTML") => without_tags(text)?,
        Some("MarkdownV2") => text.replace(['*', '_', '~', '`', '\\'], ""),
        Some(_) => return Err(Refusal::bad("unsupported parse_mode")),
    };
    Ok(shown.trim().to_owned())
}

fn without_tags(text: &str) -> Result<String, Refusal> {
    const TAGS: [&str; 10] = ["b", "strong", "i", "em", "u", "s", "a", "code", "pre", "blockquote"];
    let (mut shown, mut rest, mut open) = (String::new(), text, Vec::new());
    while let Some((before, after)) = rest.split_once('<') {
        shown.push_str(before);
        let (tag, after) =
            after.split_once('>').ok_or_else(|| Refusal::bad("can't parse entities: Unclosed start tag"))?;
        let name = tag.trim_start_matches('/').split(' ').next().unwrap_or_default();
        if !TAGS.contains(&name) {
            return Err(Refusal::bad(&format!("can't parse entities: Unsupported start tag \"{name}\"")));
        }
        if tag.starts_with('/') {
            if open.pop() != Some(name) {
                return Err(Refusal::bad("can't parse entities: Unmatched end tag"));
            }
        } else {
            open.push(name);
        }
        rest = after;
    }
    if !open.is_empty() {
        return Err(Refusal::bad("can't parse entities: Can't find end tag"));
    }
    shown.push_str(rest);
    Ok(shown.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&"))
}

/// Counted in UTF-16, as all lengths and offsets of the Bot API.
fn fits(text: String, max: usize, otherwise: &str) -> Result<String, Refusal> {
    if text.encode_utf16().count() <= max { Ok(text) } else { Err(Refusal::bad(otherwise)) }
}
