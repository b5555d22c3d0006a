//! A post as it is sent.

use domain::delivery::Setback;
use domain::media::{AltText, FileType};
use serde_json::{Value, json};

use super::progress::Progress;
use super::{VISIBILITY, is_page, little_text};
use crate::job::Job;

/// A post, with the files that were uploaded for it: the same in every attempt.
pub(super) fn of(job: &Job<'_>, progress: &Progress) -> Result<Value, Setback> {
    if progress.files.len() != job.media.len() {
        return Err(Setback::Stale { reason: "not every file is uploaded".to_owned() });
    }
    let mut post = json!({
        "author": job.profile.account_id,
        "commentary": little_text::written(job.text),
        "visibility": visibility(job)?,
        "distribution": {
            "feedDistribution": "MAIN_FEED",
            "targetEntities": [],
            "thirdPartyDistributionChannels": [],
        },
        "lifecycleState": "PUBLISHED",
        "isReshareDisabledByAuthor": false,
    });
    let article = || progress.article.as_ref().map(|it| json!({ "article": it }));
    if let Some(content) = content(job, &progress.files).or_else(article) {
        post["content"] = content;
    }
    Ok(post)
}

fn visibility(job: &Job<'_>) -> Result<&'static str, Setback> {
    match job.options.text(VISIBILITY) {
        Some("connections") if is_page(job.profile) => {
            let reason = "option visibility: a page has no connections; leave it out, or say public";
            Err(Setback::Refused { reason: reason.to_owned() })
        }
        Some("connections") => Ok("CONNECTIONS"),
        _ => Ok("PUBLIC"),
    }
}

fn content(job: &Job<'_>, files: &[String]) -> Option<Value> {
    let shown = files.iter().zip(job.media).map(|(id, file)| {
        let mut shown = json!({ "id": id });
        // Videos have none.
        let words = file.alt_text.as_ref().filter(|_| file.mime_type.file_type() == FileType::Image);
        if let Some(words) = words.map(AltText::as_str) {
            shown["altText"] = words.into();
        }
        shown
    });
    match &shown.collect::<Vec<_>>()[..] {
        [] => None,
        [one] => Some(json!({ "media": one })),
        several => Some(json!({ "multiImage": { "images": several } })),
    }
}
