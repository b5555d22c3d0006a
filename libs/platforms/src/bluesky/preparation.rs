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
use super::video::{self, Sent, Upload, UploadStart, VideoJob, VideoService};
use super::{link_card, options, people, quote, upload};
use crate::picture::{PendingPicture, PictureState, fitted};
use crate::platform::{STEP_LIMIT, Step};
use crate::publish_request::PublishRequest;

#[derive(Default, Serialize, Deserialize)]
pub(super) struct Progress {
    /// In the order of the post.
    #[serde(default)]
    files: Vec<File>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    picture: Option<PendingPicture>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    video: Option<VideoJob>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    upload: Option<Upload>,
    #[serde(default)]
    failed_uploads: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) post: Option<Post>,
}

impl Progress {
    pub(super) fn load(request: &PublishRequest<'_>) -> Self {
        request.progress()
    }

    fn store(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

const MAX_UPLOADS: u8 = 3;

const UPLOAD_AGAIN_AFTER: TimeDelta = TimeDelta::seconds(10);

pub(super) struct Preparation<'a> {
    pub(super) directory: &'a Directory,
    pub(super) pds: Pds<'a>,
    /// `None` sends videos to the account's server.
    pub(super) video_service: Option<&'a Url>,
}

impl Preparation<'_> {
    pub(super) async fn step(&self, request: &PublishRequest<'_>) -> Result<Step, AttemptError> {
        with_timeout(STEP_LIMIT, self.next(request)).await
    }

    async fn next(&self, request: &PublishRequest<'_>) -> Result<Step, AttemptError> {
        let mut progress = Progress::load(request);
        if let Some(next) = request.media.get(progress.files.len()) {
            let at = if embed::is_video(next.mime_type) {
                self.video(request, next, &mut progress).await?
            } else {
                self.image(request, next, &mut progress).await?
            };
            return Ok(Step::Again { progress: progress.store(), at });
        }
        if progress.post.is_none() {
            progress.post = Some(self.post(request, &progress.files).await?);
        }
        Ok(Step::Ready { progress: Some(progress.store()) })
    }

    /// Returns when to take the next step.
    async fn image(
        &self,
        request: &PublishRequest<'_>,
        file: &Attachment,
        progress: &mut Progress,
    ) -> Result<DateTime<Utc>, AttemptError> {
        // Servers of spring 2026 and older refuse pictures over one megabyte, and only at the
        // publish call. Bluesky's own servers are never that old.
        let max_bytes = if is_of_bluesky(&self.pds.session.pds) { MAX_PICTURE_BYTES } else { 1_000_000 };
        let bounds = PictureBounds::new(max_bytes, MAX_PICTURE_SIDE);
        match fitted(request, file, bounds, progress.picture).await? {
            PictureState::Again(awaited, at) => {
                progress.picture = Some(awaited);
                Ok(at)
            }
            PictureState::Ready((picture, size)) => {
                let blob = upload::bytes(&self.pds, picture.mime_type, &picture.bytes).await?;
                progress.picture = None;
                progress.files.push(File { blob, size: Some(size) });
                Ok(request.now)
            }
        }
    }

    /// Returns when to take the next step.
    async fn video(
        &self,
        request: &PublishRequest<'_>,
        file: &Attachment,
        progress: &mut Progress,
    ) -> Result<DateTime<Utc>, AttemptError> {
        let Some(base) = self.video_service else {
            let blob = upload::upload_file(&self.pds, request, file).await?;
            progress.files.push(File { blob, size: pixel_size(file) });
            return Ok(request.now);
        };
        let service = VideoService { base, pds: &self.pds };
        if let Some(begun) = &progress.video {
            return match begun.check(&service).await? {
                video::Progress::Working(again_at) => Ok(again_at),
                video::Progress::Done(blob) => {
                    progress.video = None;
                    progress.files.push(File { blob, size: pixel_size(file) });
                    Ok(request.now)
                }
                video::Progress::Failed(reason) => restart_upload(request, progress, &reason),
            };
        }
        let Some(upload) = &progress.upload else {
            match video::begin(&service, request, file).await? {
                UploadStart::Whole(begun) => progress.video = Some(begun),
                UploadStart::InParts(upload) => progress.upload = Some(upload),
            }
            return Ok(request.now);
        };
        match upload.go_on(&service, request, file).await? {
            Sent::Again(at) => Ok(at),
            Sent::All(begun) => {
                (progress.upload, progress.video) = (None, Some(begun));
                Ok(request.now)
            }
            Sent::Failed(reason) => restart_upload(request, progress, &reason),
        }
    }

    async fn post(&self, request: &PublishRequest<'_>, files: &[File]) -> Result<Post, AttemptError> {
        let text = RichText::new(request.text);
        let mentioned_dids = people::mentioned(self.directory, request, &text).await?;
        let quoted = quote::resolve(self.directory, &self.pds, request, &text).await?;
        let media = if files.is_empty() {
            self.card(request, &text, quoted.is_some()).await
        } else {
            Some(embed::files(request.media, files))
        };
        let embed = embed::combine(quoted, media);
        let facets = facets::written(&text.facets, &mentioned_dids);
        let record = record::written(request, &text.text, facets, embed);
        Ok(Post { rkey: record_key(request.publish_at, request.reference), record })
    }

    /// The card of the first link that is not a quote.
    async fn card(&self, request: &PublishRequest<'_>, text: &RichText, has_quote: bool) -> Option<Value> {
        if request.options.flag(options::PREVIEW) == Some(false) {
            return None;
        }
        let link = text.links().find(|it| !(has_quote && PostAddress::parse(it).is_some()))?;
        link_card::fetch(&self.pds, link).await
    }
}

/// Starts the upload of a video again, unless it has failed too often. Returns when to take the
/// next step.
fn restart_upload(
    request: &PublishRequest<'_>,
    progress: &mut Progress,
    reason: &str,
) -> Result<DateTime<Utc>, AttemptError> {
    let failed_uploads = progress.failed_uploads + 1;
    if failed_uploads == MAX_UPLOADS {
        let reason = reason.trim_end_matches('.');
        return Err(AttemptError::Refused { reason: format!("{reason}. The file was uploaded {MAX_UPLOADS} times") });
    }
    (progress.video, progress.upload, progress.failed_uploads) = (None, None, failed_uploads);
    Ok(request.now + UPLOAD_AGAIN_AFTER)
}

fn pixel_size(file: &Attachment) -> Option<(u32, u32)> {
    let pixels = file.facts.as_ref()?.pixels?;
    Some((pixels.width, pixels.height))
}

async fn with_timeout<T>(
    within: Duration,
    step: impl Future<Output = Result<T, AttemptError>>,
) -> Result<T, AttemptError> {
    let late = |_| AttemptError::RetryLater { retry_at: None, reason: "preparing the post took too long".to_owned() };
    tokio::time::timeout(within, step).await.unwrap_or_else(|elapsed| Err(late(elapsed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn slow_step_is_retried() {
        let late = with_timeout(Duration::from_millis(1), std::future::pending::<Result<(), AttemptError>>()).await;
        assert!(
            matches!(&late, Err(AttemptError::RetryLater { retry_at: None, reason }) if reason.contains("too long")),
            "{late:?}"
        );
        assert_eq!(with_timeout(STEP_LIMIT, async { Ok(1) }).await, Ok(1));
    }
}
