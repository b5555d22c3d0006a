//! The messages of a post: one, or one for each file.
//!
//! A message has one file, and its text is the file's caption: "if `filename` is not set or the
//! value of both properties are identical, this is the filename of the original upload. Otherwise,
//! this is a caption". So the first file has the post's text as its caption, and each further file
//! its alternative text. If the first file has an alternative text as well, the post's text is sent
//! before it, as a separate message. A post without a text has no such message and no such caption.

use domain::delivery::AttemptError;
use domain::media::{Attachment, FileType};
use domain::rich_text;
use serde_json::{Value, json};

use crate::publish_request::PublishRequest;

/// In bytes; checked when a post is scheduled.
pub(super) const MAX_TEXT_BYTES: u32 = 50_000;

/// In bytes, for the content of a message. "The complete event MUST NOT be larger than 65536
/// bytes", including what servers add: signatures, hashes, and up to 30 other events that it refers
/// to.
const MAX_CONTENT_BYTES: usize = 61_000;

/// The field of a message that has our post's reference, visible also to a device that did not send
/// it.
const REFERENCE: &str = "social_publishing.reference";

pub(super) struct Message {
    /// Equal in every attempt, and unique to this message.
    pub(super) transaction: String,
    pub(super) content: Value,
}

impl Message {
    pub(super) fn is_in(&self, content: &Value) -> bool {
        content[REFERENCE] == self.transaction.as_str()
    }
}

pub(super) fn messages(request: &PublishRequest<'_>, uploaded: &[String]) -> Result<Vec<Message>, AttemptError> {
    let files = request.media.iter().zip(uploaded).enumerate();
    let mut contents: Vec<Value> = files.map(|(at, (file, uri))| file_content(at, file, uri)).collect();
    let is_described = request.media.first().is_some_and(|it| it.alt_text.is_some());
    match contents.first_mut() {
        Some(_) if request.text.is_empty() => {}
        Some(first) if !is_described => set_text(first, request.text),
        _ => {
            let is_notice = request.options.flag("notice") == Some(true);
            let mut text = json!({ "msgtype": if is_notice { "m.notice" } else { "m.text" } });
            set_text(&mut text, request.text);
            contents.insert(0, text);
        }
    }
    let thread = thread(request)?;
    let sent = contents.into_iter().enumerate().map(|(at, mut content)| {
        let transaction = format!("{}.{at}", request.reference);
        content[REFERENCE] = transaction.clone().into();
        // No user is notified because a word happens to be their name.
        content["m.mentions"] = json!({});
        if let Some(Thread { root, parent }) = thread {
            content["m.relates_to"] = json!({
                "rel_type": "m.thread", "event_id": root,
                "is_falling_back": true, "m.in_reply_to": { "event_id": parent },
            });
        }
        enforce_size_limit(&mut content)?;
        Ok(Message { transaction, content })
    });
    sent.collect()
}

fn file_content(at: usize, file: &Attachment, uri: &str) -> Value {
    let kind = match file.mime_type.file_type() {
        FileType::Image => "m.image",
        FileType::Video => "m.video",
        FileType::Document => "m.file",
    };
    let name = name(at, file);
    let mut info = json!({ "mimetype": file.mime_type.as_str(), "size": file.size_bytes });
    let facts = file.facts.unwrap_or_default();
    if let Some(pixels) = facts.pixels {
        info["w"] = pixels.width.into();
        info["h"] = pixels.height.into();
    }
    if let Some(duration) = facts.duration_ms.filter(|_| kind == "m.video") {
        info["duration"] = duration.into();
    }
    let mut content = json!({ "msgtype": kind, "body": name, "filename": name, "url": uri, "info": info });
    if let Some(alt_text) = &file.alt_text {
        set_text(&mut content, alt_text.as_str());
    }
    content
}

pub(super) fn name(at: usize, file: &Attachment) -> String {
    format!("{}.{}", at + 1, file.mime_type.extension())
}

/// Writes a text into a message. A text with links is also written as HTML, so that they lead where
/// they are meant to: clients detect links in plain text in different ways.
fn set_text(content: &mut Value, text: &str) {
    content["body"] = text.into();
    if let Some(html) = html(text) {
        content["format"] = "org.matrix.custom.html".into();
        content["formatted_body"] = html.into();
    }
}

fn html(text: &str) -> Option<String> {
    let links = rich_text::links(text);
    if links.is_empty() {
        return None;
    }
    let (mut html, mut end) = (String::with_capacity(text.len() * 2), 0);
    for link in links {
        html.push_str(&escaped(&text[end..link.range.start]));
        end = link.range.end;
        html.extend(["<a href=\"", &escaped(&link.uri), "\">", &escaped(&text[link.range]), "</a>"]);
    }
    html.push_str(&escaped(&text[end..]));
    Some(html)
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    text.replace("\r\n", "\n").replace('\n', "<br>").replace("  ", "\u{a0} ")
}

/// Drops the HTML if the message would be too large with it; refuses a message that is too large
/// without.
fn enforce_size_limit(content: &mut Value) -> Result<(), AttemptError> {
    let is_large = |it: &Value| MAX_CONTENT_BYTES < it.to_string().len();
    if is_large(content)
        && let Some(fields) = content.as_object_mut()
    {
        fields.retain(|name, _| !matches!(name.as_str(), "format" | "formatted_body"));
    }
    let text = content["body"].as_str().unwrap_or_default();
    if MAX_TEXT_BYTES as usize >= text.len() && !is_large(content) {
        return Ok(());
    }
    let reason = format!(
        "the message is too long: it may have at most {MAX_TEXT_BYTES} bytes of text, fewer with many quotes and line \
         breaks"
    );
    Err(AttemptError::Refused { reason })
}

/// The thread of a message. Apps without threads show the message as a reply to its parent.
struct Thread<'a> {
    root: &'a str,
    parent: &'a str,
}

/// The thread of the post that the user names, or the one that a reply continues. A named thread stays the thread of all
/// replies: the first message of another thread may not be in one itself.
fn thread<'a>(request: &PublishRequest<'a>) -> Result<Option<Thread<'a>>, AttemptError> {
    let reply_to = request.reply_to.map(|it| (&*it.root.platform_post_id, &*it.parent.platform_post_id));
    let Some(named) = request.options.text("thread_root").map(str::trim) else {
        return Ok(reply_to.map(|(root, parent)| Thread { root, parent }));
    };
    if named.starts_with('$') && named.bytes().all(|it| it.is_ascii_graphic()) {
        return Ok(Some(Thread { root: named, parent: reply_to.map_or(named, |(_, parent)| parent) }));
    }
    let reason = "option thread_root: this is not the ID of a message; copy it from the message's link, where it \
                  starts with $";
    Err(AttemptError::Refused { reason: reason.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_of_a_text_with_links_looks_the_same() {
        assert_eq!(html("no <b>link</b> & nothing"), None);
        let html = html("  a < b\nhttps://example.org/?a=1&b=2 \"and\" example.net.").unwrap();
        let expected = "\u{a0} a &lt; b<br><a href=\"https://example.org/?a=1&amp;b=2\">\
                        https://example.org/?a=1&amp;b=2</a> &quot;and&quot; <a href=\"https://example.net\">example.net</a>.";
        assert_eq!(html, expected);
    }

    #[test]
    fn too_large_message_drops_its_html_first() {
        let mut content = json!({});
        set_text(&mut content, &format!("https://example.org {}", "x".repeat(40_000)));
        enforce_size_limit(&mut content).unwrap();
        assert!(content.get("formatted_body").is_none() && content.get("format").is_none());
        for text in ["x".repeat(50_001), "\"".repeat(40_000)] {
            let mut content = json!({ "body": text });
            assert!(matches!(enforce_size_limit(&mut content), Err(AttemptError::Refused { .. })));
        }
    }
}
