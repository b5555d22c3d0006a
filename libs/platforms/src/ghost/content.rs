//! The draft of a post, in HTML that Ghost turns into cards of its editor.

use std::fmt::Write;

use domain::media::FileType;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use url::Url;

use crate::article_html::{escaped, paragraphs, title_and_text};
use crate::kit::PreparedFile;
use crate::publish_request::PublishRequest;

/// The longest title, in characters.
const MAX_TITLE: usize = 255;

/// The longest alternative text of a feature image, in characters (Ghost's schema).
const MAX_FEATURE_ALT: usize = 191;

/// The slug of a post's draft, which no other post has.
pub(super) fn mark(request: &PublishRequest<'_>) -> String {
    let hash = Sha256::digest(request.reference.as_bytes());
    hash.iter().take(12).fold("sps-".to_owned(), |mut mark, byte| {
        let _ = write!(mark, "{byte:02x}");
        mark
    })
}

/// The fields of a draft with everything that the post has.
pub(super) fn draft(request: &PublishRequest<'_>, files: &[PreparedFile<'_, String>]) -> Value {
    let options = request.options;
    let (title, text) = title_and_text(request.text, options.text("title"), MAX_TITLE);
    let is_image = |it: &&PreparedFile<'_, String>| it.attachment.mime_type.file_type() == FileType::Image;
    let featured = files.iter().find(is_image).filter(|_| options.flag("featured") == Some(true));
    let shown = files.iter().filter(|it| featured.is_none_or(|featured| !std::ptr::eq(*it, featured)));
    let html = paragraphs(text).into_iter().map(|it| format!("<p>{it}</p>")).chain(shown.map(card));
    let mut fields = json!({
        "title": title, "status": "draft", "slug": mark(request), "html": html.collect::<Vec<_>>().join("\n"),
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
    // Ghost accepts no other letters than those of ASCII.
    if let Some(url) = options.text("canonical_url").and_then(|it| Url::parse(it).ok()) {
        fields["canonical_url"] = url.as_str().into();
    }
    if !options.list("tags").is_empty() {
        fields["tags"] = options.list("tags").into();
    }
    fields
}

fn alt_text<'a>(file: &PreparedFile<'a, String>) -> &'a str {
    file.attachment.alt_text.as_ref().map_or("", |it| it.as_str())
}

/// A card of the editor.
fn card(file: &PreparedFile<'_, String>) -> String {
    let (url, alt) = (escaped(file.uploaded), escaped(alt_text(file)));
    match file.attachment.mime_type.file_type() {
        // The editor reads a video card only with sizes and a thumbnail, which we do not have.
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
