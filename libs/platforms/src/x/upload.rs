//! A file on its way to X: at once, or in parts.
//!
//! Facts: pictures can be sent with one call. Others are announced with their size, sent
//! in numbered parts, at most a thousand, and ended; X works on them then, and says when
//! to look again. A part may be sent again. What no post shows is forgotten after a day.
//! Source: `x-api/media`.

use std::ops::Range;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::Setback;
use domain::media::{Attachment, FileType, MimeType};
use futures::{StreamExt, stream};
use http::Method;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::api::{Api, Media, Processing, is_id, unreadable};
use super::failure::Failure;
use crate::answer;
use crate::caller::Caller;
use crate::job::{Job, MediaBytes};
use crate::multipart::Form;

/// How large parts are: the largest file has 128 of them.
const PART_BYTES: u64 = 4 << 20;

/// The most parts that are sent in one step, and how many at the same time.
const IN_A_STEP: u64 = 6;
const AT_A_TIME: usize = 3;

/// For a picture, or a part.
const WITHIN: Duration = Duration::from_secs(15);

/// The longest wait between two looks at a file that is worked on.
const LONGEST_WAIT: u32 = 60;

/// A file on its way.
#[derive(Serialize, Deserialize)]
pub(super) struct Upload {
    file: File,
    /// So many parts are there.
    sent: u64,
    /// Whether X was told that those are all.
    is_ended: bool,
}

/// A file that a post can show.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct File {
    pub(super) id: String,
    /// By what posts that show it name it.
    pub(super) key: Option<String>,
}

/// How far a file is.
pub(super) enum Uploaded {
    /// A post can show it.
    Ready(File),
    /// To go on with, not before this.
    NotYet(DateTime<Utc>),
}

/// The bytes of a file, and how many there are.
pub(super) struct Contents {
    pub(super) length: u64,
    pub(super) bytes: MediaBytes,
}

/// A picture, with one call.
pub(super) async fn whole(api: &Api, job: &Job<'_>, mime_type: MimeType, contents: Contents) -> Result<File, Failure> {
    let by = Caller::of(job);
    let form = Form::new().text("media_category", "tweet_image");
    let form = form.file(("media", "media"), mime_type, contents.length, contents.bytes);
    let (request, unread) = form.onto(api.request(by, Method::POST, "media/upload")?.timeout(WITHIN));
    match api.data::<Media>(request, by).await {
        Err(_) if unread.is_set() => Err(Failure::NotSent { why: "the file could not be read".to_owned() }),
        uploaded => file_of(uploaded?),
    }
}

/// One step of any other file: its announcement, some of its parts, their end, or a look
/// at it.
pub(super) async fn step(
    api: &Api,
    job: &Job<'_>,
    file: &Attachment,
    reached: &mut Option<Upload>,
) -> Result<Uploaded, Setback> {
    let Some(upload) = reached else {
        *reached = Some(Upload::begin(api, job, file).await.map_err(Failure::before_the_call)?);
        return Ok(Uploaded::NotYet(job.now));
    };
    upload.go_on(api, job, file).await.map_err(|failure| {
        if failure.is_not_found() {
            return Setback::Stale { reason: failure.words() };
        }
        failure.before_the_call()
    })?
}

impl Upload {
    async fn begin(api: &Api, job: &Job<'_>, file: &Attachment) -> Result<Self, Failure> {
        let by = Caller::of(job);
        let category = match file.mime_type.file_type() {
            FileType::Video => "tweet_video",
            FileType::Image => "tweet_gif",
        };
        let body = json!({
            "media_type": file.mime_type.as_str(),
            "total_bytes": file.size_bytes,
            "media_category": category,
        });
        let request = api.request(by, Method::POST, "media/upload/initialize")?.json(&body);
        Ok(Self { file: file_of(api.data(request, by).await?)?, sent: 0, is_ended: false })
    }

    async fn go_on(
        &mut self,
        api: &Api,
        job: &Job<'_>,
        file: &Attachment,
    ) -> Result<Result<Uploaded, Setback>, Failure> {
        if self.sent < file.size_bytes.div_ceil(PART_BYTES) {
            self.send(api, job, file).await?;
            return Ok(Ok(Uploaded::NotYet(job.now)));
        }
        let media = if self.is_ended { self.status(api, job).await? } else { self.end(api, job).await? };
        self.is_ended = true;
        let Some(Processing { state, check_after_secs, error }) = media.processing_info else {
            return Ok(Ok(Uploaded::Ready(self.file.clone())));
        };
        Ok(match state.as_str() {
            "succeeded" => Ok(Uploaded::Ready(self.file.clone())),
            "failed" => {
                let why = error["message"].as_str().or(error["name"].as_str()).unwrap_or("no reason given");
                Err(Setback::Refused { reason: format!("X could not process it: {}", answer::shown(why)) })
            }
            _ => {
                let wait = check_after_secs.unwrap_or(5).clamp(1, LONGEST_WAIT);
                Ok(Uploaded::NotYet(job.now + TimeDelta::seconds(wait.into())))
            }
        })
    }

    /// Sends the next parts. Those behind one that fails are sent again.
    async fn send(&mut self, api: &Api, job: &Job<'_>, file: &Attachment) -> Result<(), Failure> {
        let all = file.size_bytes.div_ceil(PART_BYTES);
        let next = self.sent..all.min(self.sent + IN_A_STEP);
        let id = self.file.id.clone();
        // All are waited for, so that none is cut off by the failure of another.
        let sent: Vec<_> =
            stream::iter(next).map(|it| send_part(api, job, file, &id, it)).buffered(AT_A_TIME).collect().await;
        for (at, part) in sent.into_iter().enumerate() {
            match part {
                Ok(()) => self.sent += 1,
                // What did arrive is remembered.
                Err(_) if at != 0 => break,
                Err(failure) => return Err(failure),
            }
        }
        Ok(())
    }

    /// Says that all parts are there. Where that is refused, it may have been said before,
    /// and the answer lost.
    async fn end(&self, api: &Api, job: &Job<'_>) -> Result<Media, Failure> {
        let by = Caller::of(job);
        let request = api.request(by, Method::POST, &format!("media/upload/{}/finalize", self.file.id))?;
        match api.data(request, by).await {
            Err(refused @ Failure::Refused(_)) => match self.status(api, job).await {
                Err(Failure::Refused(_)) => Err(refused),
                asked => asked,
            },
            ended => ended,
        }
    }

    async fn status(&self, api: &Api, job: &Job<'_>) -> Result<Media, Failure> {
        let by = Caller::of(job);
        let asked = [("command", "STATUS"), ("media_id", &self.file.id)];
        api.data(api.request(by, Method::GET, "media/upload")?.query(&asked), by).await
    }
}

async fn send_part(api: &Api, job: &Job<'_>, file: &Attachment, id: &str, number: u64) -> Result<(), Failure> {
    let by = Caller::of(job);
    let Range { start, end } = part(number, file.size_bytes);
    let bytes = job.files.open_range(file, start..end).await?;
    let form = Form::new().text("segment_index", &number.to_string());
    let form = form.file(("media", "media"), file.mime_type, end - start, bytes);
    let request = api.request(by, Method::POST, &format!("media/upload/{id}/append"))?.timeout(WITHIN);
    let (request, unread) = form.onto(request);
    // A page of somebody in between is no confirmation.
    match api.data::<IgnoredAny>(request, by).await {
        Err(_) if unread.is_set() => Err(Failure::NotSent { why: "the file could not be read".to_owned() }),
        sent => sent.map(|_| ()),
    }
}

/// The bytes of a part.
fn part(number: u64, size_bytes: u64) -> Range<u64> {
    let start = number * PART_BYTES;
    start..size_bytes.min(start + PART_BYTES)
}

fn file_of(media: Media) -> Result<File, Failure> {
    if !is_id(&media.id) {
        return Err(unreadable());
    }
    Ok(File { id: media.id, key: media.key })
}
