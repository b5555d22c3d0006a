//! Preparation: uploads files one by one, then builds and stores the record, so that every attempt
//! puts the same record.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::AttemptError;
use domain::media::{Attachment, PictureBounds};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::account::{MAX_PICTURE_BYTES, MAX_PICTURE_SIDE};
use super::embed::{self, File};
use super::facets::{self, RichText};
use super::host::is_of_bluesky;
use super::identity::Directory;
use super::pds::Pds;
use super::post_address::PostAddress;
use super::record::{self, Post};
use super::record_key::record_key;
use super::video::{self, Begun, Sent, Upload, VideoJob, VideoService};
use super::{link_card, options, people, quote, upload};
use crate::picture::{Awaited, Look, fitted};
use crate::platform::{STEP_LIMIT, Step};
use crate::publish_request::PublishRequest;

/// The state of the preparation, stored between the steps.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Progress {
    /// The uploaded files, in the order of the post.
    #[serde(default)]
    files: Vec<File>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    picture: Option<Awaited>,
    /// The video that the service processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    video: Option<VideoJob>,
    /// The video that is uploaded in parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    upload: Option<Upload>,
    /// How often the video was uploaded but could not be used.
    #[serde(default)]
    failed_uploads: u8,
    /// The finished record, in the last step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) post: Option<Post>,
}

impl Progress {
    pub(super) fn load(job: &PublishRequest<'_>) -> Self {
        job.progress()
    }

    fn store(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// How often a video is uploaded at most.
const MOST_UPLOADS: u8 = 3;

/// How long to wait before a video is uploaded again.
const UPLOAD_AGAIN_AFTER: TimeDelta = TimeDelta::seconds(10);

pub(super) struct Preparation<'a> {
    pub(super) directory: &'a Directory,
    pub(super) pds: Pds<'a>,
    /// `None` sends videos to the account's server.
    pub(super) video_service: Option<&'a Url>,
}

impl Preparation<'_> {
    /// Takes one step, within the time limit.
    pub(super) async fn step(&self, job: &PublishRequest<'_>) -> Result<Step, AttemptError> {
        in_time(STEP_LIMIT, self.next(job)).await
    }

    async fn next(&self, job: &PublishRequest<'_>) -> Result<Step, AttemptError> {
        let mut progress = Progress::load(job);
        if let Some(next) = job.media.get(progress.files.len()) {
            let at = if embed::is_video(next.mime_type) {
                self.video(job, next, &mut progress).await?
            } else {
                self.image(job, next, &mut progress).await?
            };
            return Ok(Step::Again { progress: progress.store(), at });
        }
        if progress.post.is_none() {
            progress.post = Some(self.post(job, &progress.files).await?);
        }
        Ok(Step::Ready { progress: Some(progress.store()) })
    }

    /// Takes one step of a picture. Returns when to take the next one.
    async fn image(
        &self,
        job: &PublishRequest<'_>,
        file: &Attachment,
        progress: &mut Progress,
    ) -> Result<DateTime<Utc>, AttemptError> {
        // Servers of spring 2026 and older refuse pictures over one megabyte, and only at the
        // publish call. Bluesky's own servers are never that old.
        let max_bytes = if is_of_bluesky(&self.pds.session.pds) { MAX_PICTURE_BYTES } else { 1_000_000 };
        let bounds = PictureBounds::new(max_bytes, MAX_PICTURE_SIDE);
        match fitted(job, file, bounds, progress.picture).await? {
            Look::Again(awaited, at) => {
                progress.picture = Some(awaited);
                Ok(at)
            }
            Look::Ready((picture, size)) => {
                let blob = upload::bytes(&self.pds, picture.mime_type, &picture.bytes).await?;
                progress.picture = None;
                progress.files.push(File { blob, size: Some(size) });
                Ok(job.now)
            }
        }
    }

    /// Takes one step of a video. Returns when to take the next one.
    async fn video(
        &self,
        job: &PublishRequest<'_>,
        file: &Attachment,
        progress: &mut Progress,
    ) -> Result<DateTime<Utc>, AttemptError> {
        let Some(base) = self.video_service else {
            let blob = upload::streamed(&self.pds, job, file).await?;
            progress.files.push(File { blob, size: shown_size(file) });
            return Ok(job.now);
        };
        let service = VideoService { base, pds: &self.pds };
        if let Some(begun) = &progress.video {
            return match begun.look(&service).await? {
                video::Progress::Working(again_at) => Ok(again_at),
                video::Progress::Done(blob) => {
                    progress.video = None;
                    progress.files.push(File { blob, size: shown_size(file) });
                    Ok(job.now)
                }
                video::Progress::Failed(reason) => upload_again(job, progress, &reason),
            };
        }
        let Some(upload) = &progress.upload else {
            match video::begin(&service, job, file).await? {
                Begun::Whole(begun) => progress.video = Some(begun),
                Begun::InParts(upload) => progress.upload = Some(upload),
            }
            return Ok(job.now);
        };
        match upload.go_on(&service, job, file).await? {
            Sent::Again(at) => Ok(at),
            Sent::All(begun) => {
                (progress.upload, progress.video) = (None, Some(begun));
                Ok(job.now)
            }
            Sent::Failed(reason) => upload_again(job, progress, &reason),
        }
    }

    /// Builds the record.
    async fn post(&self, job: &PublishRequest<'_>, files: &[File]) -> Result<Post, AttemptError> {
        let text = RichText::new(job.text);
        let people = people::mentioned(self.directory, job, &text).await?;
        let quoted = quote::resolve(self.directory, &self.pds, job, &text).await?;
        let media = if files.is_empty() {
            self.card(job, &text, quoted.is_some()).await
        } else {
            Some(embed::files(job.media, files))
        };
        let embed = embed::combine(quoted, media);
        let facets = facets::written(&text.facets, &people);
        let record = record::written(job, &text.text, facets, embed);
        Ok(Post { rkey: record_key(job.publish_at, job.reference), record })
    }

    /// The card of the first link that is not a quote.
    async fn card(&self, job: &PublishRequest<'_>, text: &RichText, has_quote: bool) -> Option<Value> {
        if job.options.flag(options::PREVIEW) == Some(false) {
            return None;
        }
        let link = text.links().find(|it| !(has_quote && PostAddress::parse(it).is_some()))?;
        link_card::fetch(&self.pds, link).await
    }
}

/// Starts the upload of a video again, unless it has failed too often. Returns when to take the
/// next step.
fn upload_again(
    job: &PublishRequest<'_>,
    progress: &mut Progress,
    reason: &str,
) -> Result<DateTime<Utc>, AttemptError> {
    let failed_uploads = progress.failed_uploads + 1;
    if failed_uploads == MOST_UPLOADS {
        let reason = reason.trim_end_matches('.');
        return Err(AttemptError::Refused { reason: format!("{reason}. The file was uploaded {MOST_UPLOADS} times") });
    }
    (progress.video, progress.upload, progress.failed_uploads) = (None, None, failed_uploads);
    Ok(job.now + UPLOAD_AGAIN_AFTER)
}

/// The displayed size of a video, in pixels; `None` if the file does not state it.
fn shown_size(file: &Attachment) -> Option<(u32, u32)> {
    let pixels = file.facts.as_ref()?.pixels?;
    Some((pixels.width, pixels.height))
}

/// The result of a step, or an error if the step took too long.
async fn in_time<T>(within: Duration, step: impl Future<Output = Result<T, AttemptError>>) -> Result<T, AttemptError> {
    let late = |_| AttemptError::RetryLater { retry_at: None, reason: "preparing the post took too long".to_owned() };
    tokio::time::timeout(within, step).await.unwrap_or_else(|elapsed| Err(late(elapsed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn slow_step_is_retried() {
        let late = in_time(Duration::from_millis(1), std::future::pending::<Result<(), AttemptError>>()).await;
        assert!(
            matches!(&late, Err(AttemptError::RetryLater { retry_at: None, reason }) if reason.contains("too long")),
            "{late:?}"
        );
        assert_eq!(in_time(STEP_LIMIT, async { Ok(1) }).await, Ok(1));
    }
}
