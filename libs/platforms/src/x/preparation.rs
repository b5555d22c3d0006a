//! What comes before the public call: files are uploaded one by one, and described.

use domain::delivery::Setback;
use domain::media::{AltText, Attachment, FileType, MimeType, PictureBounds};
use futures::{StreamExt, stream};
use serde::{Deserialize, Serialize};

use super::api::Api;
use super::upload::{self, Contents, File, Upload, Uploaded};
use crate::job::Job;
use crate::kit::{Auth, CallError};
use crate::picture::{self, Awaited, Look};
use crate::platform::Step;

/// What pictures are made to fit into that X does not take as they are.
pub(super) const BOUNDS: PictureBounds = PictureBounds::new(5_000_000, 8_192);

/// What preparation has reached. Stored between the steps, so that a step which is taken
/// again after a crash repeats one call, not all of them.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Progress {
    /// The files that a post can show, in the order of the post.
    pub(super) files: Vec<File>,
    /// The picture that is being made to fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<Awaited>,
    /// The file that goes up, or is worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    upload: Option<Upload>,
    /// The file that is there, and is to be described.
    #[serde(skip_serializing_if = "Option::is_none")]
    silent: Option<File>,
}

impl Progress {
    pub(super) fn of(job: &Job<'_>) -> Self {
        job.reached()
    }

    fn store(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// One step.
pub(super) async fn step(api: &Api, job: &Job<'_>) -> Result<Step, Setback> {
    let mut progress = Progress::of(job);
    let Some(next) = job.media.get(progress.files.len()) else {
        return Ok(Step::Ready { progress: Some(progress.store()) });
    };
    let place = format!("file {} of {}", progress.files.len() + 1, job.media.len());
    let named = |setback: Setback| setback.in_words(|why| format!("{place}: {why}"));
    if let Some(file) = progress.silent.take() {
        if let Some(words) = words_of(next) {
            let described = api.describe(Auth::post(job), &file.id, words.as_str()).await;
            described.map_err(|it| named(it.into()))?;
        }
        progress.files.push(file);
        return Ok(Step::Again { progress: progress.store(), at: job.now });
    }
    let uploaded = match (next.mime_type, next.mime_type.file_type()) {
        (MimeType::Gif, _) | (_, FileType::Video) => upload::step(api, job, next, &mut progress.upload).await,
        (_, FileType::Image) => image(api, job, next, &mut progress.picture).await,
    };
    let at = match uploaded.map_err(named)? {
        Uploaded::Ready(file) => {
            (progress.picture, progress.upload) = (None, None);
            match words_of(next) {
                Some(_) => progress.silent = Some(file),
                None => progress.files.push(file),
            }
            job.now
        }
        Uploaded::NotYet(at) => at,
    };
    Ok(Step::Again { progress: progress.store(), at })
}

/// What a file shows, in words. Videos have none.
fn words_of(file: &Attachment) -> Option<&AltText> {
    file.alt_text.as_ref().filter(|_| file.mime_type.file_type() == FileType::Image)
}

async fn image(
    api: &Api,
    job: &Job<'_>,
    file: &Attachment,
    awaited: &mut Option<Awaited>,
) -> Result<Uploaded, Setback> {
    let is_to_fit = awaited.is_some()
        || BOUNDS.max_bytes < file.size_bytes
        || picture::is_longer(job, file, BOUNDS.max_side).await?;
    let (mime_type, contents) = if is_to_fit {
        match picture::fitted(job, file, BOUNDS, *awaited).await? {
            Look::Again(asked, at) => {
                *awaited = Some(asked);
                return Ok(Uploaded::NotYet(at));
            }
            Look::Ready((picture, _)) => {
                let length = picture.bytes.len() as u64;
                (picture.mime_type, Contents { length, bytes: stream::iter([Ok(picture.bytes)]).boxed() })
            }
        }
    } else {
        let bytes = job.files.open(file).await.map_err(CallError::from)?;
        (file.mime_type, Contents { length: file.size_bytes, bytes })
    };
    Ok(Uploaded::Ready(upload::whole(api, job, mime_type, contents).await?))
}
