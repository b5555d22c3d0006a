//! The parameters of a container.
//!
//! Source: `reference/ig-user/media`. Text, location and collaborators belong to the whole post;
//! alt texts and tags belong to files.

use domain::media::{Attachment, Borders, FileType, MAX_FETCHED_PICTURE_BYTES, PictureBounds};
use serde_json::Value;

use super::options::{
    BORDERS, COLLABORATORS, COVER, FIT, KIND, LOCATION, MAX_SIDE, NARROWEST, SHARE_TO_FEED, STORY, USER_TAGS, WIDEST,
};
use super::tag::{Tag, TagPosition};
use crate::meta::{Form, listed};
use crate::publish_request::PublishRequest;

type Fields = Vec<(&'static str, String)>;

pub(super) fn is_story(request: &PublishRequest<'_>) -> bool {
    request.options.text(KIND) == Some(STORY)
}

pub(super) fn fields(request: &PublishRequest<'_>, form: Form<'_>) -> Fields {
    match form {
        // The rules refuse a post without files; so does Instagram.
        Form::Text => vec![("caption", request.text.to_owned())],
        Form::Single(file, url) if is_story(request) => {
            let mut fields = vec![("media_type", "STORIES".to_owned()), source(file, url)];
            fields.extend(tags(request, TagPosition::Possible));
            fields
        }
        Form::Single(file, url) => {
            let mut fields = vec![source(file, url)];
            match file.mime_type.file_type() {
                FileType::Image => {
                    fields.extend(alt_text_field(file));
                    fields.extend(tags(request, TagPosition::Needed));
                }
                // The rules refuse documents; so does Instagram.
                FileType::Video | FileType::Document => {
                    fields.push(("media_type", "REELS".to_owned()));
                    fields.extend(request.options.number(COVER).map(|it| ("thumb_offset", it.to_string())));
                    fields.push(("share_to_feed", request.options.flag(SHARE_TO_FEED).unwrap_or(true).to_string()));
                    fields.extend(tags(request, TagPosition::None));
                }
            }
            fields.extend(post_fields(request));
            fields
        }
        Form::Item(file, url) => {
            let mut fields = vec![("is_carousel_item", "true".to_owned()), source(file, url)];
            let is_tagged = first_taggable_file(request).is_some_and(|it| it.media_id == file.media_id);
            match file.mime_type.file_type() {
                FileType::Image => {
                    fields.extend(alt_text_field(file));
                    fields.extend(is_tagged.then(|| tags(request, TagPosition::Needed)).flatten());
                }
                FileType::Video | FileType::Document => {
                    fields.push(("media_type", "VIDEO".to_owned()));
                    fields.extend(is_tagged.then(|| tags(request, TagPosition::None)).flatten());
                }
            }
            fields
        }
        Form::Carousel(items) => {
            let mut fields = vec![("media_type", "CAROUSEL".to_owned()), ("children", listed(items))];
            fields.extend(post_fields(request));
            fields
        }
    }
}

/// Instagram accepts JPEG only.
pub(super) fn bounds(request: &PublishRequest<'_>) -> PictureBounds {
    let bounds = PictureBounds::new(MAX_FETCHED_PICTURE_BYTES, MAX_SIDE).jpeg();
    if request.options.text(FIT) == Some(BORDERS) && !is_story(request) {
        bounds.with_borders(Borders { min: NARROWEST, max: WIDEST })
    } else {
        bounds
    }
}

fn source(file: &Attachment, url: Option<&str>) -> (&'static str, String) {
    let Some(url) = url else { return ("upload_type", "resumable".to_owned()) };
    let name = match file.mime_type.file_type() {
        FileType::Image => "image_url",
        FileType::Video | FileType::Document => "video_url",
    };
    (name, url.to_owned())
}

fn alt_text_field(file: &Attachment) -> Option<(&'static str, String)> {
    file.alt_text.as_ref().map(|it| ("alt_text", it.as_str().to_owned()))
}

fn post_fields(request: &PublishRequest<'_>) -> Fields {
    let mut fields = Vec::new();
    if !request.text.is_empty() {
        fields.push(("caption", request.text.to_owned()));
    }
    let collaborators = request.options.list(COLLABORATORS);
    if !collaborators.is_empty() {
        fields.push(("collaborators", Value::from(collaborators.to_vec()).to_string()));
    }
    fields.extend(request.options.text(LOCATION).map(|it| ("location_id", it.to_owned())));
    fields
}

/// The file of a carousel that has the tags of the post: its first picture, or its first video if
/// it has no picture.
fn first_taggable_file<'a>(request: &PublishRequest<'a>) -> Option<&'a Attachment> {
    let picture = request.media.iter().find(|it| it.mime_type.file_type() == FileType::Image);
    picture.or(request.media.first())
}

fn tags(request: &PublishRequest<'_>, places: TagPosition) -> Option<(&'static str, String)> {
    let tags: Vec<Value> =
        request.options.list(USER_TAGS).iter().filter_map(|it| Some(Tag::read(it)?.json(places))).collect();
    (!tags.is_empty()).then(|| ("user_tags", Value::from(tags).to_string()))
}
