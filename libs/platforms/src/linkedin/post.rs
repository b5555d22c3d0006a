use domain::media::{AltText, FileType};
use serde_json::{Value, json};

use super::{ARTICLE, DOCUMENT_TITLE, VISIBILITY, document, is_page, little_text};
use crate::kit::{CallError, Prepared, PreparedFile};
use crate::publish_request::PublishRequest;

/// The body of a post, with its uploaded files. It is equal in every attempt.
pub(super) fn body(request: &PublishRequest<'_>, prepared: &Prepared<'_, String>) -> Result<Value, CallError> {
    // LinkedIn requires the commentary, and accepts an empty one with files.
    let mut post = json!({
        "author": request.profile.account_id,
        "commentary": little_text::written(request.text),
        "visibility": visibility(request)?,
        "distribution": {
            "feedDistribution": "MAIN_FEED",
            "targetEntities": [],
            "thirdPartyDistributionChannels": [],
        },
        "lifecycleState": "PUBLISHED",
        "isReshareDisabledByAuthor": false,
    });
    let article = || prepared.extra.get(ARTICLE).map(|it| json!({ ARTICLE: it }));
    if let Some(content) = content(request, &prepared.files).or_else(article) {
        post["content"] = content;
    }
    Ok(post)
}

fn visibility(request: &PublishRequest<'_>) -> Result<&'static str, CallError> {
    match request.options.text(VISIBILITY) {
        Some("connections") if is_page(request.profile) => Err(CallError::invalid_post(
            "option visibility: a page has no connections; leave this option out, or use \
                                         public",
        )),
        Some("connections") => Ok("CONNECTIONS"),
        _ => Ok("PUBLIC"),
    }
}

fn content(request: &PublishRequest<'_>, files: &[PreparedFile<'_, String>]) -> Option<Value> {
    let shown = files.iter().map(|file| {
        let mut shown = json!({ "id": file.uploaded });
        let file_type = file.attachment.mime_type.file_type();
        if file_type == FileType::Document {
            shown["title"] = document::title(request.options.text(DOCUMENT_TITLE), request.text).into();
        }
        // Only images have alternative texts.
        let alt_text = file.attachment.alt_text.as_ref().filter(|_| file_type == FileType::Image);
        if let Some(alt_text) = alt_text.map(AltText::as_str) {
            shown["altText"] = alt_text.into();
        }
        shown
    });
    match &shown.collect::<Vec<_>>()[..] {
        [] => None,
        [one] => Some(json!({ "media": one })),
        several => Some(json!({ "multiImage": { "images": several } })),
    }
}
