//! A file on its way to X: at once, or in parts.
//!
//! Facts: pictures can be sent with one call. Others are announced with their size, sent
//! in numbered parts, at most a thousand, and ended; X works on them then, and says when
//! to look again. A part may be sent again. What no post shows is forgotten after a day.
//! Source: `x-api/media`.

use std::future::ready;
use std::ops::Range;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::Setback;
use domain::media::{Attachment, FileType, MimeType};
use futures::{StreamExt, stream};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::Instant;

use super::MAX_SECONDS;
use super::api::{Api, Data, Media, Processing, is_id};
use crate::answer;
use crate::job::{Job, MediaBytes};
use crate::kit::{Auth, CallError, Effect, ErrorKind};
use crate::multipart::Form;

/// How large parts are: the largest file has 489 of them. X's guide and the most used clients
/// send as much, and 5 MB were answered with 413.
const PART_BYTES: u64 = 1 << 20;

/// The most parts that are sent in one step, and how many at the same time.
const IN_A_STEP: u64 = 24;
const AT_A_TIME: usize = 3;

/// For how long a step begins with further parts: on a slow line fewer arrive, and are stored.
const BEGINS_FOR: Duration = Duration::from_secs(15);

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
pub(super) async fn whole(
    api: &Api,
    job: &Job<'_>,
    mime_type: MimeType,
    contents: Contents,
) -> Result<File, CallError> {
    let form = Form::new().text("media_category", "tweet_image");
    let form = form.file(("media", "media"), mime_type, contents.length, contents.bytes);
    let call = api.upload(Auth::post(job), &[]).timeout(WITHIN).multipart(form);
    file_of(api, call.read().await?)
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
        *reached = Some(Upload::begin(api, job, file).await?);
        return Ok(Uploaded::NotYet(job.now));
    };
    upload.go_on(api, job, file).await.map_err(|mut error| {
        // What was announced is not known any more.
        if error.is_status(StatusCode::NOT_FOUND) {
            error.kind = ErrorKind::PreparationExpired;
        }
        error
    })?
}

impl Upload {
    async fn begin(api: &Api, job: &Job<'_>, file: &Attachment) -> Result<Self, CallError> {
        let duration_ms = file.facts.and_then(|it| it.duration_ms).unwrap_or_default();
        let category = match file.mime_type.file_type() {
            // Only accounts that pay X have such videos.
            FileType::Video if u64::from(MAX_SECONDS) * 1_000 < duration_ms => "amplify_video",
            FileType::Video => "tweet_video",
            FileType::Image => "tweet_gif",
        };
        let body = json!({
            "media_type": file.mime_type.as_str(),
            "total_bytes": file.size_bytes,
            "media_category": category,
        });
        let begun = api.upload(Auth::post(job), &["initialize"]).json(&body).read().await?;
        Ok(Self { file: file_of(api, begun)?, sent: 0, is_ended: false })
    }

    async fn go_on(
        &mut self,
        api: &Api,
        job: &Job<'_>,
        file: &Attachment,
    ) -> Result<Result<Uploaded, Setback>, CallError> {
        if self.sent < file.size_bytes.div_ceil(PART_BYTES) {
            self.send(api, job, file).await?;
            return Ok(Ok(Uploaded::NotYet(job.now)));
        }
        let media =
            if self.is_ended { api.status(Auth::post(job), &self.file.id).await? } else { self.end(api, job).await? };
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
    async fn send(&mut self, api: &Api, job: &Job<'_>, file: &Attachment) -> Result<(), CallError> {
        let all = file.size_bytes.div_ceil(PART_BYTES);
        let next = self.sent..all.min(self.sent + IN_A_STEP);
        let id = self.file.id.clone();
        // All are waited for, so that none is cut off by the failure of another.
        let ends = Instant::now() + BEGINS_FOR;
        let begun = stream::iter(next).take_while(|_| ready(Instant::now() < ends));
        let sent: Vec<_> = begun.map(|it| send_part(api, job, file, &id, it)).buffered(AT_A_TIME).collect().await;
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

    /// Says that all parts are there. X wants a JSON object as the body, although its
    /// description names none.
    async fn end(&self, api: &Api, job: &Job<'_>) -> Result<Media, CallError> {
        let (auth, id) = (Auth::post(job), &self.file.id);
        let ended: Result<Data<Media>, _> = api.upload(auth, &[id, "finalize"]).json(&json!({})).read().await;
        match ended {
            Err(refused) if refused.kind == ErrorKind::InvalidPost => match api.status(auth, id).await {
                // An earlier call ended it, and its response was lost. Without this an upload that never ended
                // would look like one that is ready.
                Ok(media) if media.processing_info.is_some() => Ok(media),
                Err(unknown) if unknown.kind != ErrorKind::InvalidPost => Err(unknown),
                _ => Err(refused),
            },
            ended => ended.map(|it| it.data),
        }
    }
}

async fn send_part(api: &Api, job: &Job<'_>, file: &Attachment, id: &str, number: u64) -> Result<(), CallError> {
    let Range { start, end } = part(number, file.size_bytes);
    let bytes = job.files.open_range(file, start..end).await?;
    let form = Form::new().text("segment_index", &number.to_string());
    let form = form.file(("media", "media"), file.mime_type, end - start, bytes);
    // It may be empty: the description has a body, X's own playground has none.
    api.upload(Auth::post(job), &[id, "append"]).timeout(WITHIN).multipart(form).done().await
}

/// The bytes of a part.
fn part(number: u64, size_bytes: u64) -> Range<u64> {
    let start = number * PART_BYTES;
    start..size_bytes.min(start + PART_BYTES)
}

fn file_of(api: &Api, Data { data: media }: Data<Media>) -> Result<File, CallError> {
    if !is_id(&media.id) {
        return Err(api.unreadable(Effect::Private));
    }
    Ok(File { id: media.id, key: media.key })
}
