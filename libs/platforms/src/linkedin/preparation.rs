//! What comes before the public call: files are uploaded one by one, the page of a link
//! is read for its card, and of a page of LinkedIn it is read what it shows.

use std::time::Duration;

use chrono::TimeDelta;
use domain::delivery::Setback;
use domain::media::{Attachment, FileType, MimeType, PictureBounds};
use http::StatusCode;

use super::api::{Api, Contents};
use super::errors::timed;
use super::look_up;
use super::progress::Progress;
use super::video::{self, Uploaded};
use super::{MAX_SIDE, article, is_page};
use crate::job::Job;
use crate::kit::{Auth, CallError};
use crate::picture::{self, Look};
use crate::platform::Step;
use crate::recognition::Before;

/// For a file that is read and goes up.
const UPLOAD: Duration = Duration::from_secs(30);

/// What pictures are made to fit into that LinkedIn does not take as they are.
const BOUNDS: PictureBounds = PictureBounds::new(10_000_000, MAX_SIDE);

/// How long LinkedIn works on a picture, or a little more.
const WORKED_ON: TimeDelta = TimeDelta::seconds(3);

/// How long before the due second it is read what a page shows. Late, because everything
/// that is published in between has to be compared when an answer is lost.
const LOOK_BACK: TimeDelta = TimeDelta::seconds(20);

/// How long after its due second a post waits for that.
const PATIENCE: TimeDelta = TimeDelta::minutes(2);

/// One step.
pub(super) async fn step(api: &Api, job: &Job<'_>) -> Result<Step, Setback> {
    let mut progress = Progress::of(job);
    if let Some(next) = job.media.get(progress.files.len()) {
        let place = format!("file {} of {}", progress.files.len() + 1, job.media.len());
        let uploaded = match next.mime_type.file_type() {
            FileType::Image => image(api, job, next, &mut progress).await,
            FileType::Video => {
                let step = video::step(api, job, next, &mut progress.video).await;
                step.map_err(|error| timed(error, job).into())
            }
        };
        let at = match uploaded.map_err(|it| it.in_words(|why| format!("{place}: {why}")))? {
            Uploaded::Ready(file) => {
                (progress.picture, progress.video) = (None, None);
                progress.files.push(file);
                let is_last = progress.files.len() == job.media.len();
                if is_last { job.now + WORKED_ON } else { job.now }
            }
            Uploaded::NotYet(at) => at,
        };
        return Ok(Step::Again { progress: progress.store(), at });
    }
    if job.media.is_empty() && !progress.is_card_read {
        (progress.article, progress.is_card_read) = (article::of(api, job).await, true);
        if progress.article.as_ref().is_some_and(|it| it.thumbnail.is_some()) {
            return Ok(Step::Again { progress: progress.store(), at: job.now + WORKED_ON });
        }
    }
    if is_page(job.profile) && progress.before.is_none() {
        let at = job.publish_at - LOOK_BACK;
        if job.now < at {
            return Ok(Step::Again { progress: progress.store(), at });
        }
        progress.before = Some(look_back(api, job).await?);
    }
    Ok(Step::Ready { progress: Some(progress.store()) })
}

async fn image(api: &Api, job: &Job<'_>, file: &Attachment, progress: &mut Progress) -> Result<Uploaded, Setback> {
    // A GIF would become one that does not move.
    let is_to_fit = match file.mime_type {
        MimeType::Webp => true,
        MimeType::Gif => false,
        _ => progress.picture.is_some() || picture::is_longer(job, file, MAX_SIDE).await?,
    };
    let contents = if is_to_fit {
        match picture::fitted(job, file, BOUNDS, progress.picture).await? {
            Look::Again(awaited, at) => {
                progress.picture = Some(awaited);
                return Ok(Uploaded::NotYet(at));
            }
            Look::Ready((picture, _)) => picture.bytes.into(),
        }
    } else {
        Contents { length: file.size_bytes, bytes: job.files.open(file).await.map_err(CallError::from)? }
    };
    let uploaded = api.upload_image(Auth::post(job), &job.profile.account_id, contents, UPLOAD).await;
    uploaded.map(Uploaded::Ready).map_err(|error| timed(error, job).into())
}

/// What a page shows before the public call. A post that it shows later is then known
/// to be newer.
async fn look_back(api: &Api, job: &Job<'_>) -> Result<Before, Setback> {
    match look_up::first_page(api, job).await {
        Ok(posts) => Ok(Before::showed(&posts)),
        Err(error) if error.is_status(StatusCode::FORBIDDEN) => Ok(Before::Unreadable),
        Err(error) => match timed(error, job).into() {
            Setback::Busy { .. } if job.publish_at + PATIENCE <= job.now => Ok(Before::Unreadable),
            setback => Err(setback),
        },
    }
}
