use domain::media::Attachment;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::kit::Call;
use crate::multipart::Form;
use crate::publish_request::{MediaReader, PublishRequest};

/// Links are shown without previews (`SUPPRESS_EMBEDS`).
const SUPPRESS_EMBEDS: u32 = 1 << 2;

/// No user gets a push or desktop notification (`SUPPRESS_NOTIFICATIONS`).
const SUPPRESS_NOTIFICATIONS: u32 = 1 << 12;

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
    /// Adds this message to a call: as a form if it has files. The future reads them while the call
    /// is sent, one after the other: the store may close a file that is opened before its turn.
    pub(super) fn onto(self, call: Call) -> (Call, BoxFuture<'a, ()>) {
        let Self { payload, files, reader } = self;
        if files.is_empty() {
            return (call.json(&payload), std::future::ready(()).boxed());
        }
        let mut form = Form::new().text("payload_json", &payload.to_string());
        let mut pending_files = Vec::new();
        for (index, File { name, attachment }) in files.into_iter().enumerate() {
            let field = format!("files[{index}]");
            let (next, feed) = form.streamed_file((&field, &name), attachment.mime_type, attachment.size_bytes);
            form = next;
            pending_files.push((feed, attachment));
        }
        let feeding = async move {
            for (feed, attachment) in pending_files {
                feed.stream(reader.open(attachment)).await;
            }
        };
        (call.multipart(form), feeding.boxed())
    }
}

pub(super) fn webhook_message<'a>(request: &PublishRequest<'a>) -> Message<'a> {
    let mut message = content(request, |_, attachment| attachment.media_id.to_string());
    for name in ["thread_name", "username", "avatar_url"] {
        if let Some(value) = request.options.text(name) {
            message.payload[name] = value.into();
        }
    }
    message
}

pub(super) fn bot_message<'a>(request: &PublishRequest<'a>, nonce: &str, title: Option<&str>) -> Message<'a> {
    let mut message = content(request, |index, _| stem(nonce, index));
    if let Some(title) = title {
        message.payload = json!({"name": title, "message": message.payload});
    } else {
        message.payload["nonce"] = nonce.into();
        message.payload["enforce_nonce"] = true.into();
        if let Some(reply_to) = request.reply_to {
            // Discord refuses the reply if this message does not exist: `fail_if_not_exists` is true by default.
            message.payload["message_reference"] = json!({"message_id": reply_to.parent.platform_post_id});
        }
    }
    message
}

/// The nonce of a post: 24 of at most 25 characters, all of them valid in the name of a file.
pub(super) fn nonce(request: &PublishRequest<'_>) -> String {
    let hash = Sha256::digest(request.reference.as_bytes());
    let number = hash.iter().take(12).fold(0_u128, |number, byte| (number << 8) | u128::from(*byte));
    format!("{number:024x}")
}

fn stem(nonce: &str, index: usize) -> String {
    format!("{nonce}-{}", index + 1)
}

pub(super) fn parse_file_nonce(name: &str) -> Option<&str> {
    let is_nonce = |it: &str| it.len() == 24 && it.bytes().all(|it| it.is_ascii_hexdigit());
    name.split_once('-').map(|(nonce, _)| nonce).filter(|it| is_nonce(it))
}

fn content<'a>(request: &PublishRequest<'a>, stem: impl Fn(usize, &Attachment) -> String) -> Message<'a> {
    // Otherwise every user and role that the text mentions would be notified. A scheduled post
    // notifies no one, because its author may not be watching when it is published.
    let mut payload = json!({"allowed_mentions": {"parse": []}});
    if !request.text.is_empty() {
        payload["content"] = request.text.into();
    }
    let flag = |name, bit| if request.options.flag(name) == Some(true) { bit } else { 0 };
    let flags = flag("suppress_embeds", SUPPRESS_EMBEDS) | flag("silent", SUPPRESS_NOTIFICATIONS);
    if flags != 0 {
        payload["flags"] = flags.into();
    }

    let (mut files, mut attachments) = (Vec::new(), Vec::new());
    for (index, attachment) in request.media.iter().enumerate() {
        let name = format!("{}.{}", stem(index, attachment), attachment.mime_type.extension());
        let mut entry = json!({"id": index, "filename": name});
        if let Some(alt_text) = &attachment.alt_text {
            entry["description"] = alt_text.as_str().into();
        }
        attachments.push(entry);
        files.push(File { name, attachment });
    }
    if !attachments.is_empty() {
        payload["attachments"] = attachments.into();
    }
    Message { payload, files, reader: request.files }
}
