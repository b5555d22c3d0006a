//! The draft of a post, in HTML that Ghost turns into cards of its editor.

use domain::media::FileType;
use serde_json::{Value, json};
use url::Url;

use crate::article_html::{escaped, paragraphs, title_and_text};
use crate::kit::{CallError, PreparedFile};
use crate::publish_request::PublishRequest;

/// The longest title, in characters.
const MAX_TITLE: usize = 255;

/// The longest alternative text of a feature image, in characters (Ghost's schema).
const MAX_FEATURE_ALT: usize = 191;

pub(super) fn draft(request: &PublishRequest<'_>, files: &[PreparedFile<'_, String>]) -> Result<Value, CallError> {
    let options = request.options;
    let (title, text) = title_and_text(request.text, options.text("title"), MAX_TITLE);
    let is_image = |it: &&PreparedFile<'_, String>| it.attachment.mime_type.file_type() == FileType::Image;
    let featured = files.iter().find(is_image).filter(|_| options.flag("featured") == Some(true));
    let shown = files.iter().filter(|it| featured.is_none_or(|featured| !std::ptr::eq(*it, featured)));
    let html = paragraphs(text).into_iter().map(|it| format!("<p>{it}</p>")).chain(shown.map(card));
    let mut fields = json!({
        "title": title, "status": "draft", "slug": request.slug_mark(), "html": html.collect::<Vec<_>>().join("\n"),
    });
    if let Some(featured) = featured {
        fields["feature_image"] = featured.uploaded.as_str().into();
        fields["feature_image_alt"] = alt_text(featured).chars().take(MAX_FEATURE_ALT).collect::<String>().into();
    }
    for (field, option) in [("visibility", "visibility"), ("custom_excerpt", "excerpt")] {
        if let Some(value) = options.text(option) {
            fields[field] = value.into();
        }
    }
    if let Some(url) = options.text("canonical_url") {
        // Ghost accepts only ASCII in URLs.
        let url = Url::parse(url).map_err(|error| CallError::invalid_post(format!("option canonical_url: {error}")))?;
        fields["canonical_url"] = url.as_str().into();
    }
    if !options.list("tags").is_empty() {
        fields["tags"] = options.list("tags").into();
    }
    Ok(fields)
}

fn alt_text<'a>(file: &PreparedFile<'a, String>) -> &'a str {
    file.attachment.alt_text.as_ref().map_or("", |it| it.as_str())
}

fn card(file: &PreparedFile<'_, String>) -> String {
    let (url, alt) = (escaped(file.uploaded), escaped(alt_text(file)));
    match file.attachment.mime_type.file_type() {
        // A video card of the editor would need the size of the video. Any other HTML with a video is lost.
        FileType::Video => format!(
            "<!--kg-card-begin: html-->\n<figure class=\"kg-card kg-video-card\"><video src=\"{url}\" controls \
             playsinline style=\"width:100%\" aria-label=\"{alt}\"></video></figure>\n<!--kg-card-end: html-->"
        ),
        FileType::Image | FileType::Document => {
            format!(
                "<figure class=\"kg-card kg-image-card\"><img src=\"{url}\" class=\"kg-image\" alt=\"{alt}\"></figure>"
            )
        }
    }
}
