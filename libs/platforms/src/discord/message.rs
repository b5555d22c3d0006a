//! What a post is sent as: one message, with its files.

use domain::media::Attachment;
use futures::FutureExt;
use futures::future::BoxFuture;
use reqwest::RequestBuilder;
use serde_json::{Value, json};

use crate::job::{Job, MediaReader};
use crate::multipart::{Form, Unread};

/// Links are shown without previews (`SUPPRESS_EMBEDS`).
const SUPPRESS_EMBEDS: u32 = 1 << 2;

/// Nobody gets a push or desktop notification (`SUPPRESS_NOTIFICATIONS`).
const SUPPRESS_NOTIFICATIONS: u32 = 1 << 12;

/// A message.
pub(super) struct Message<'a> {
    payload: Value,
    files: Vec<File<'a>>,
    reader: &'a dyn MediaReader,
}

struct File<'a> {
    name: String,
    attachment: &'a Attachment,
}

impl<'a> Message<'a> {
    /// Puts it into a request: a form where it has files. Says whether one of them
    /// could not be read. They are brought while the request is sent, one after the
    /// other: what is opened early may be closed by the store before its turn.
    pub(super) fn onto(self, request: RequestBuilder) -> (RequestBuilder, Unread, BoxFuture<'a, ()>) {
        let Self { payload, files, reader } = self;
        if files.is_empty() {
            return (request.json(&payload), Unread::default(), std::future::ready(()).boxed());
        }
        let mut form = Form::new().text("payload_json", &payload.to_string());
        let mut feeds = Vec::new();
        for (index, File { name, attachment }) in files.into_iter().enumerate() {
            let field = format!("files[{index}]");
            let (next, feed) = form.fed((&field, &name), attachment.mime_type, attachment.size_bytes);
            form = next;
            feeds.push((feed, attachment));
        }
        let bringing = async move {
            for (feed, attachment) in feeds {
                feed.bring(reader.open(attachment)).await;
            }
        };
        let (request, unread) = form.onto(request);
        (request, unread, bringing.boxed())
    }
}

/// What a post is sent as.
pub(super) fn of<'a>(job: &Job<'a>) -> Message<'a> {
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
    for (index, attachment) in job.media.iter().enumerate() {
        let name = format!("{}.{}", attachment.media_id, attachment.mime_type.extension());
        let mut told = json!({"id": index, "filename": name});
        if let Some(words) = &attachment.alt_text {
            told["description"] = words.as_str().into();
        }
        attachments.push(told);
        files.push(File { name, attachment });
    }
    if !attachments.is_empty() {
        payload["attachments"] = attachments.into();
    }
    Message { payload, files, reader: job.files }
}
