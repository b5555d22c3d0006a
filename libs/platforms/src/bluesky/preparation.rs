//! What comes before the public call: files are uploaded one by one, and then the
//! record is made and stored, so that every attempt puts the same record.

use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::delivery::Setback;
use domain::media::{Attachment, FileType, PictureBounds};
use serde::{Deserialize, Serialize};
use url::Url;

use super::embed::{self, File};
use super::facets::{self, RichText};
use super::host::is_of_bluesky;
use super::identity::Directory;
use super::pds::Pds;
use super::record::{self, Post};
use super::record_key::record_key;
use super::video::{self, VideoJob, VideoService};
use super::{link_card, people, upload};
use crate::job::Job;
use crate::picture::{Awaited, Look, fitted};
use crate::platform::{STEP_LIMIT, Step};

/// The longest side of a picture, as the official app sends it.
const MAX_SIDE: u32 = 4000;

/// What has been reached, stored between the steps.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Progress {
    /// Those uploaded so far, in the order of the post.
    #[serde(default)]
    files: Vec<File>,
    /// The picture that is being made to fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    picture: Option<Awaited>,
    /// The video that is being worked on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    video: Option<VideoJob>,
    /// What is to be put, when all is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) post: Option<Post>,
}

impl Progress {
    pub(super) fn of(job: &Job<'_>) -> Self {
        job.progress.and_then(|it| serde_json::from_str(it).ok()).unwrap_or_default()
    }

    fn store(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Prepares posts.
pub(super) struct Preparation<'a> {
    pub(super) directory: &'a Directory,
    pub(super) pds: Pds<'a>,
    /// Where videos go, if not to the account's server.
    pub(super) video_service: Option<&'a Url>,
}

impl Preparation<'_> {
    /// One step, which ends in time.
    pub(super) async fn step(&self, job: &Job<'_>) -> Result<Step, Setback> {
        in_time(STEP_LIMIT, self.next(job)).await
    }

    async fn next(&self, job: &Job<'_>) -> Result<Step, Setback> {
        let mut progress = Progress::of(job);
        if let Some(next) = job.media.get(progress.files.len()) {
            let at = match next.mime_type.file_type() {
                FileType::Image => self.image(job, next, &mut progress).await?,
                FileType::Video => self.video(job, next, &mut progress).await?,
            };
            return Ok(Step::Again { progress: progress.store(), at });
        }
        if progress.post.is_none() {
            progress.post = Some(self.post(job, &progress.files).await?);
        }
        Ok(Step::Ready { progress: Some(progress.store()) })
    }

    /// One step of a picture. Returns when to take the next one.
    async fn image(&self, job: &Job<'_>, file: &Attachment, progress: &mut Progress) -> Result<DateTime<Utc>, Setback> {
        // Servers of last spring and older refuse pictures over one megabyte, and
        // they do so only at the public call. Bluesky's own are never that old.
        let max_bytes = if is_of_bluesky(&self.pds.session.pds) { 2_000_000 } else { 1_000_000 };
        let bounds = PictureBounds { max_bytes, max_side: MAX_SIDE };
        match fitted(job, file, bounds, progress.picture).await? {
            Look::Again(awaited, at) => {
                progress.picture = Some(awaited);
                Ok(at)
            }
            Look::Ready(picture, size) => {
                let blob = upload::bytes(&self.pds, picture.mime_type, &picture.bytes).await?;
                progress.picture = None;
                progress.files.push(File { blob, size: Some(size) });
                Ok(job.now)
            }
        }
    }

    /// One step of a video. Returns when to take the next one.
    async fn video(&self, job: &Job<'_>, file: &Attachment, progress: &mut Progress) -> Result<DateTime<Utc>, Setback> {
        let Some(base) = self.video_service else {
            progress.files.push(File { blob: upload::streamed(&self.pds, job, file).await?, size: None });
            return Ok(job.now);
        };
        let service = VideoService { base, pds: &self.pds };
        let Some(begun) = &progress.video else {
            progress.video = Some(service.begin(job, file).await?);
            return Ok(job.now);
        };
        match service.look(begun, job.now).await? {
            video::Progress::Working(again_at) => Ok(again_at),
            video::Progress::Done(blob) => {
                progress.video = None;
                progress.files.push(File { blob, size: None });
                Ok(job.now)
            }
        }
    }

    /// The post as it is to be put.
    async fn post(&self, job: &Job<'_>, files: &[File]) -> Result<Post, Setback> {
        let text = RichText::of(job.text);
        let people = people::mentioned(self.directory, job, &text).await?;
        let embed = match (files, text.links().next()) {
            ([], Some(_)) if job.options.flag("link_preview") == Some(false) => None,
            ([], Some(link)) => link_card::of(&self.pds, link).await,
            ([], None) => None,
            (files, _) => Some(embed::files(job.media, files)),
        };
        let facets = facets::written(&text.facets, &people);
        let record = record::written(job, &text.text, facets, embed);
        Ok(Post { rkey: record_key(job.publish_at, job.reference), record })
    }
}

/// The result of a step, or a setback when it took too long.
async fn in_time<T>(within: Duration, step: impl Future<Output = Result<T, Setback>>) -> Result<T, Setback> {
    let late = |_| Setback::Busy { retry_at: None, reason: "it took too long to prepare this post".to_owned() };
    tokio::time::timeout(within, step).await.unwrap_or_else(|elapsed| Err(late(elapsed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_step_that_takes_too_long_is_tried_again() {
        let late = in_time(Duration::from_millis(1), std::future::pending::<Result<(), Setback>>()).await;
        assert!(
            matches!(&late, Err(Setback::Busy { retry_at: None, reason }) if reason.contains("too long")),
            "{late:?}"
        );
        assert_eq!(in_time(STEP_LIMIT, async { Ok(1) }).await, Ok(1));
    }
}
