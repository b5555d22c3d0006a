use domain::media::{Attachment, FileType};
use serde_json::{Map, Value};

use super::{LINK_ATTACHMENT, POLL_OPTIONS, REPLY_SETTINGS, TOPIC_TAG};
use crate::meta::{Form, listed};
use crate::publish_request::PublishRequest;

/// The parameters of a poll's choices, first to last.
const ANSWERS: [&str; 4] = ["option_a", "option_b", "option_c", "option_d"];

pub(super) fn fields(request: &PublishRequest<'_>, form: Form<'_>) -> Vec<(&'static str, String)> {
    match form {
        Form::Text => {
            let mut fields = vec![("media_type", "TEXT".to_owned())];
            fields.extend(request.options.text(LINK_ATTACHMENT).map(|it| ("link_attachment", it.to_owned())));
            fields.extend(poll(request).map(|it| ("poll_attachment", it)));
            fields.extend(post_fields(request));
            fields
        }
        Form::Single(file, url) => {
            let mut fields = file_fields(file, url);
            fields.extend(post_fields(request));
            fields
        }
        Form::Item(file, url) => {
            let mut fields = file_fields(file, url);
            fields.push(("is_carousel_item", "true".to_owned()));
            fields
        }
        Form::Carousel(items) => {
            let mut fields = vec![("media_type", "CAROUSEL".to_owned()), ("children", listed(items))];
            fields.extend(post_fields(request));
            fields
        }
    }
}

/// The parameters of the post, except its files.
fn post_fields(request: &PublishRequest<'_>) -> Vec<(&'static str, String)> {
    let option = |name: &str| request.options.text(name).map(|it| it.trim().to_owned());
    let fields = [
        ("text", Some(request.text.to_owned()).filter(|it| !it.is_empty())),
        ("reply_to_id", request.reply_to.map(|it| it.parent.platform_post_id.clone())),
        ("reply_control", option(REPLY_SETTINGS)),
        ("topic_tag", option(TOPIC_TAG).map(|it| topic(&it).to_owned())),
    ];
    fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// A topic without the `#` of a hashtag.
pub(super) fn topic(tag: &str) -> &str {
    tag.trim().trim_start_matches('#').trim()
}

fn file_fields(file: &Attachment, url: Option<&str>) -> Vec<(&'static str, String)> {
    let (media_type, url_field) = match file.mime_type.file_type() {
        FileType::Image => ("IMAGE", "image_url"),
        // The rules refuse documents; so does Threads.
        FileType::Video | FileType::Document => ("VIDEO", "video_url"),
    };
    let mut fields = vec![("media_type", media_type.to_owned())];
    fields.extend(url.map(|it| (url_field, it.to_owned())));
    fields.extend(file.alt_text.as_ref().map(|it| ("alt_text", it.as_str().to_owned())));
    fields
}

fn poll(request: &PublishRequest<'_>) -> Option<String> {
    let responses = request.options.list(POLL_OPTIONS);
    let attachment = ANSWERS.iter().zip(responses).map(|(name, response)| ((*name).to_owned(), response.trim().into()));
    (!responses.is_empty()).then(|| Value::Object(attachment.collect::<Map<_, _>>()).to_string())
}
