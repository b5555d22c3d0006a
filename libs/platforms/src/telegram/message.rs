//! The message that a post becomes: one, or several that are shown as an album.

use bytes::Bytes;
use domain::delivery::AttemptError;
use domain::media::{Attachment, FileType, MimeType};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use serde_json::{Map, Value, json};

use super::{BOUNDS, is_photo, is_too_large};
use crate::kit::{Call, CallError, Effect, ErrorKind};
use crate::multipart::Form;
use crate::publish_request::{FittedPicture, MediaReader, PublishRequest};

pub(super) struct Message<'a> {
    method: &'static str,
    fields: Map<String, Value>,
    files: Vec<File<'a>>,
    reader: &'a dyn MediaReader,
}

struct File<'a> {
    field: String,
    name: String,
    content: Content<'a>,
}

enum Content<'a> {
    Kept(&'a Attachment),
    /// A resized picture.
    Made(MimeType, Bytes),
}

impl Content<'_> {
    const fn mime_type(&self) -> MimeType {
        match self {
            Self::Kept(file) => file.mime_type,
            Self::Made(mime_type, _) => *mime_type,
        }
    }
}

impl<'a> Message<'a> {
    pub(super) const fn method(&self) -> &'static str {
        self.method
    }

    /// Adds this message to a call: as a form if it has files. The future reads them while the call
    /// is sent, one after the other: the store may close a file that is opened before its turn.
    pub(super) fn onto(self, call: Call) -> (Call, BoxFuture<'a, ()>) {
        if self.files.is_empty() {
            return (call.json(&self.fields), std::future::ready(()).boxed());
        }
        let written = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let mut form = Form::new();
        for (name, value) in &self.fields {
            form = form.text(name, &written(value));
        }
        let mut pending_files = Vec::new();
        for File { field, name, content } in self.files {
            let names = (field.as_str(), name.as_str());
            form = match content {
                Content::Made(mime_type, bytes) => {
                    form.file(names, mime_type, bytes.len() as u64, stream::iter([Ok(bytes)]).boxed())
                }
                Content::Kept(file) => {
                    let (form, feed) = form.streamed_file(names, file.mime_type, file.size_bytes);
                    pending_files.push((feed, file));
                    form
                }
            };
        }
        let reader = self.reader;
        let feeding = async move {
            for (feed, file) in pending_files {
                feed.stream(reader.open(file)).await;
            }
        };
        (call.multipart(form), feeding.boxed())
    }
}

pub(super) async fn build<'a>(request: &PublishRequest<'a>, chat: i64) -> Result<Message<'a>, CallError> {
    let mut fields = Map::new();
    fields.insert("chat_id".to_owned(), json!(chat));
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            fields.insert(name.to_owned(), value);
        }
    };
    let flag = |name| request.options.flag(name).filter(|it| *it).map(Value::Bool);
    set("disable_notification", flag("silent"));
    set("protect_content", flag("protect_content"));
    set("message_thread_id", request.options.number("thread").map(Value::from));
    set("reply_parameters", parent(request)?.map(|it| json!({"message_id": it})));
    let mode = match request.options.text("parse_mode") {
        Some("html") => Some("HTML"),
        Some("markdown") => Some("MarkdownV2"),
        _ => None,
    };
    let mode = mode.map(|it| json!(it));
    let caption = Some(request.text).filter(|it| !it.is_empty()).map(|it| json!(it));

    let files = files(request).await?;
    let method = match request.media {
        [] => {
            set("text", Some(json!(request.text)));
            set("parse_mode", mode);
            let is_off = request.options.flag("link_preview") == Some(false);
            set("link_preview_options", is_off.then(|| json!({"is_disabled": true})));
            "sendMessage"
        }
        [only] => {
            set("parse_mode", mode.filter(|_| caption.is_some()));
            set("caption", caption);
            match media_type(only) {
                "photo" => "sendPhoto",
                "animation" => "sendAnimation",
                "document" => "sendDocument",
                _ => {
                    set("supports_streaming", Some(json!(true)));
                    let facts = only.facts.unwrap_or_default();
                    set("width", facts.pixels.map(|it| json!(it.width)));
                    set("height", facts.pixels.map(|it| json!(it.height)));
                    set("duration", facts.duration_ms.map(|it| json!(it / 1_000)));
                    "sendVideo"
                }
            }
        }
        several => {
            let entry = |(index, file): (usize, &Attachment)| {
                let mut entry = json!({"type": media_type(file), "media": format!("attach://f{index}")});
                // Telegram shows only the first caption, below the album.
                if let (0, Some(caption)) = (index, &caption) {
                    entry["caption"] = caption.clone();
                    if let Some(mode) = &mode {
                        entry["parse_mode"] = mode.clone();
                    }
                }
                entry
            };
            set("media", Some(several.iter().enumerate().map(entry).collect()));
            "sendMediaGroup"
        }
    };
    Ok(Message { method, fields, files, reader: request.files })
}

/// The id of the message that a reply follows: of an album, its first message.
fn parent(request: &PublishRequest<'_>) -> Result<Option<i64>, CallError> {
    let Some(reply_to) = request.reply_to else { return Ok(None) };
    let id = reply_to.parent.platform_post_id.parse().ok();
    id.map(Some).ok_or_else(|| CallError::invalid_post("the message before this one has no ID of Telegram"))
}

fn media_type(file: &Attachment) -> &'static str {
    match (file.mime_type, file.mime_type.file_type()) {
        (MimeType::Gif, _) => "animation",
        (_, FileType::Image) => "photo",
        (_, FileType::Video) => "video",
        (_, FileType::Document) => "document",
    }
}

async fn files<'a>(request: &PublishRequest<'a>) -> Result<Vec<File<'a>>, CallError> {
    let is_alone = request.media.len() == 1;
    let mut files = Vec::new();
    for (index, file) in request.media.iter().enumerate() {
        let content = content(request, file).await?;
        let field = if is_alone { media_type(file).to_owned() } else { format!("f{index}") };
        let name = format!("{}.{}", file.media_id, content.mime_type().extension());
        files.push(File { field, name, content });
    }
    Ok(files)
}

async fn content<'a>(request: &PublishRequest<'a>, file: &'a Attachment) -> Result<Content<'a>, CallError> {
    let unread = |it: AttemptError| CallError::new(ErrorKind::NotSent, Effect::Private, it.into_reason());
    if is_photo(file) && is_too_large(request, file).await.map_err(unread)? {
        let Some(FittedPicture::Picture(picture)) = request.files.fitted(file, BOUNDS).await? else {
            let why = "an image has to be resized again";
            return Err(CallError::new(ErrorKind::PreparationExpired, Effect::Private, why));
        };
        return Ok(Content::Made(picture.mime_type, picture.bytes));
    }
    Ok(Content::Kept(file))
}
