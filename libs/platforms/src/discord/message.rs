//! What a post is sent as: one message, with its files.

use domain::media::MimeType;
use reqwest::RequestBuilder;
use serde_json::{Value, json};

use super::failure::Failure;
use crate::job::{Job, MediaBytes};
use crate::multipart::{Form, Unread};

/// Links are shown without previews (`SUPPRESS_EMBEDS`).
const SUPPRESS_EMBEDS: u32 = 1 << 2;

/// Nobody gets a push or desktop notification (`SUPPRESS_NOTIFICATIONS`).
const SUPPRESS_NOTIFICATIONS: u32 = 1 << 12;

/// A message.
pub(super) struct Message {
    payload: Value,
    files: Vec<File>,
}

struct File {
    name: String,
    mime_type: MimeType,
    size_bytes: u64,
    bytes: MediaBytes,
}

impl Message {
    /// Puts it into a request: a form where it has files. Says whether one of them
    /// could not be read.
    pub(super) fn onto(self, request: RequestBuilder) -> (RequestBuilder, Unread) {
        if self.files.is_empty() {
            return (request.json(&self.payload), Unread::default());
        }
        let mut form = Form::new().text("payload_json", &self.payload.to_string());
        for (index, File { name, mime_type, size_bytes, bytes }) in self.files.into_iter().enumerate() {
            form = form.file((&format!("files[{index}]"), &name), mime_type, size_bytes, bytes);
        }
        form.onto(request)
    }
}

/// What a post is sent as.
pub(super) async fn of(job: &Job<'_>) -> Result<Message, Failure> {
    // Else whoever the text names is notified. Nobody looks at a post that was
    // scheduled days ago when it goes out, so it notifies nobody.
    let mut payload = json!({"allowed_mentions": {"parse": []}});
    if !job.text.is_empty() {
        payload["content"] = job.text.into();
    }
    for name in ["thread_name", "username", "avatar_url"] {
        if let Some(value) = job.options.text(name) {
            payload[name] = value.into();
        }
    }
    let flag = |name, bit| if job.options.flag(name) == Some(true) { bit } else { 0 };
    let flags = flag("suppress_embeds", SUPPRESS_EMBEDS) | flag("silent", SUPPRESS_NOTIFICATIONS);
    if flags != 0 {
        payload["flags"] = flags.into();
    }

    let (mut files, mut attachments) = (Vec::new(), Vec::new());
    for (index, file) in job.media.iter().enumerate() {
        let name = format!("{}.{}", file.media_id, file.mime_type.extension());
        let mut attachment = json!({"id": index, "filename": name});
        if let Some(words) = &file.alt_text {
            attachment["description"] = words.as_str().into();
        }
        attachments.push(attachment);
        let bytes = job.files.open(file).await?;
        files.push(File { name, mime_type: file.mime_type, size_bytes: file.size_bytes, bytes });
    }
    if !attachments.is_empty() {
        payload["attachments"] = attachments.into();
    }
    Ok(Message { payload, files })
}
