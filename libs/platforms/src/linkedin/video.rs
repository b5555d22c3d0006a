//! A video, uploaded in parts.
//!
//! Facts: an upload is announced with the exact size, and LinkedIn says which bytes go
//! to which address. Each part is answered with a tag; when all are there, the tags in
//! order make a video of them, which is then worked on. A part may be sent again. The
//! addresses need no token. Source: `shares/videos-api`.

use std::collections::VecDeque;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::media::Attachment;
use futures::{StreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::json;
use url::Url;

use super::api::{Action, Api, Contents, encoded};
use super::errors::of_video;
use crate::answer;
use crate::job::Job;
use crate::kit::{Auth, CallError, Effect, ErrorKind};

/// The most parts that are sent in one step, and how many at the same time.
const IN_A_STEP: usize = 6;
const AT_A_TIME: usize = 3;

/// For one part of 4 MiB.
const PART: Duration = Duration::from_secs(15);

/// The most that the addresses of all parts have, in bytes: they are stored between the
/// steps. A video of 500 MB has 120 parts.
const MOST_ADDRESS_BYTES: usize = 200_000;

/// The waits between two looks at a video that is processed. Each look is a call of the 150 that a member has in a day.
const FIRST_WAIT: TimeDelta = TimeDelta::seconds(5);
const LONGEST_WAIT: TimeDelta = TimeDelta::seconds(40);

/// How often LinkedIn may say that a finalized video waits for its parts: for more than two minutes, because what it
/// says may be behind what was done.
const STALE_LOOKS: u32 = 6;

/// A video on its way.
#[derive(Serialize, Deserialize)]
pub(super) struct Video {
    urn: String,
    /// What LinkedIn wants to hear again.
    token: String,
    /// Until when its parts can be sent.
    #[serde(with = "chrono::serde::ts_milliseconds_option")]
    ends_at: Option<DateTime<Utc>>,
    /// The parts that are not there yet, in order.
    missing: VecDeque<Part>,
    /// What the others were answered, in order.
    tags: Vec<String>,
    /// Whether the parts were put together. Remembered, because the status may be behind.
    #[serde(default)]
    is_finalized: bool,
    /// How often it was looked at since.
    looks: u32,
}

/// How far a file is.
pub(super) enum Uploaded {
    /// It can be shown, by this name.
    Ready(String),
    /// To go on with, not before this.
    NotYet(DateTime<Utc>),
}

/// A part of it: these bytes, both included.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    upload_url: Url,
    first_byte: u64,
    last_byte: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Begun {
    video: String,
    #[serde(default)]
    upload_token: String,
    #[serde(default, with = "chrono::serde::ts_milliseconds_option")]
    upload_urls_expire_at: Option<DateTime<Utc>>,
    upload_instructions: VecDeque<Part>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    status: String,
    processing_failure_reason: Option<String>,
}

/// One step of a video: its announcement, some of its parts, their end, or a look at it.
pub(super) async fn step(
    api: &Api,
    job: &Job<'_>,
    file: &Attachment,
    reached: &mut Option<Video>,
) -> Result<Uploaded, CallError> {
    let Some(video) = reached else {
        *reached = Some(Video::begin(api, job, file).await?);
        return Ok(Uploaded::NotYet(job.now));
    };
    if video.missing.is_empty() {
        return if video.is_finalized { video.look(api, job).await } else { video.finalize(api, job).await };
    }
    if video.ends_at.is_some_and(|it| it <= job.now) {
        return Err(expired("the time to upload the video is over"));
    }
    video.send(api, job, file).await?;
    Ok(Uploaded::NotYet(job.now))
}

/// The upload has to begin anew.
fn expired(reason: &str) -> CallError {
    CallError::new(ErrorKind::PreparationExpired, Effect::Private, reason)
}

impl Video {
    async fn begin(api: &Api, job: &Job<'_>, file: &Attachment) -> Result<Self, CallError> {
        let body = json!({ "initializeUploadRequest": {
            "owner": job.profile.account_id,
            "fileSizeBytes": file.size_bytes,
            "uploadCaptions": false,
            "uploadThumbnail": false,
        } });
        let call = api.private(Auth::post(job), &job.profile.account_id, "videos?action=initializeUpload").json(&body);
        let Action { value: begun } = call.read::<Action<Begun>>().await?;
        if !cuts(&begun.upload_instructions, file.size_bytes) {
            return Err(api.unreadable(Effect::Private));
        }
        Ok(Self {
            urn: api.urn(begun.video)?,
            token: begun.upload_token,
            ends_at: begun.upload_urls_expire_at,
            missing: begun.upload_instructions,
            tags: Vec::new(),
            is_finalized: false,
            looks: 0,
        })
    }

    /// Sends the next parts. Those behind one that fails are sent again.
    async fn send(&mut self, api: &Api, job: &Job<'_>, file: &Attachment) -> Result<(), CallError> {
        let next: Vec<_> = self.missing.iter().take(IN_A_STEP).cloned().collect();
        // All are waited for, so that none is cut off by the failure of another.
        let sent: Vec<_> =
            stream::iter(next).map(|it| send_part(api, job, file, it)).buffered(AT_A_TIME).collect().await;
        for (at, tag) in sent.into_iter().enumerate() {
            match tag {
                Ok(tag) => {
                    self.missing.pop_front();
                    self.tags.push(tag);
                }
                // What did arrive is remembered.
                Err(_) if at != 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Has the parts put together.
    async fn finalize(&mut self, api: &Api, job: &Job<'_>) -> Result<Uploaded, CallError> {
        let body = json!({ "finalizeUploadRequest": {
            "video": self.urn,
            "uploadToken": self.token,
            "uploadedPartIds": self.tags,
        } });
        let call = api.private(Auth::post(job), &job.profile.account_id, "videos?action=finalizeUpload");
        match call.json(&body).done().await.map_err(of_video) {
            Ok(()) => {}
            // A repeated call is refused, where the response to the first was lost.
            Err(error) if error.kind == ErrorKind::InvalidPost => {}
            Err(error) => return Err(error),
        }
        self.is_finalized = true;
        Ok(Uploaded::NotYet(job.now + FIRST_WAIT))
    }

    async fn look(&mut self, api: &Api, job: &Job<'_>) -> Result<Uploaded, CallError> {
        let call = api.get(Auth::post(job), &format!("videos/{}", encoded(&self.urn)));
        let status: Status = call.read().await.map_err(of_video)?;
        match status.status.as_str() {
            "AVAILABLE" => return Ok(Uploaded::Ready(self.urn.clone())),
            "PROCESSING_FAILED" => {
                let why = status.processing_failure_reason.unwrap_or_else(|| "no reason given".to_owned());
                let message = format!("LinkedIn could not process the video: {}", answer::shown(&why));
                return Err(CallError::invalid_post(message));
            }
            "WAITING_UPLOAD" if STALE_LOOKS <= self.looks => {
                return Err(expired("LinkedIn did not put the parts of the video together"));
            }
            _ => {}
        }
        let wait = (FIRST_WAIT * (1 << self.looks.min(3))).min(LONGEST_WAIT);
        self.looks = self.looks.saturating_add(1);
        Ok(Uploaded::NotYet(job.now + wait))
    }
}

async fn send_part(api: &Api, job: &Job<'_>, file: &Attachment, part: Part) -> Result<String, CallError> {
    let range = part.first_byte..part.last_byte + 1;
    let length = range.end - range.start;
    let bytes = job.files.open_range(file, range).await?;
    api.upload_part(Auth::post(job), part.upload_url, Contents { length, bytes }, PART).await
}

/// Whether these are the parts of a file of this size.
fn cuts(parts: &VecDeque<Part>, size_bytes: u64) -> bool {
    let mut at = 0;
    let follow = parts.iter().all(|it| {
        let follows = it.first_byte == at && at <= it.last_byte && it.last_byte < size_bytes;
        at = it.last_byte.saturating_add(1);
        follows
    });
    let addresses: usize = parts.iter().map(|it| it.upload_url.as_str().len()).sum();
    follow && at == size_bytes && addresses <= MOST_ADDRESS_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cut_the_whole_file_and_nothing_else() {
        let cuts = |parts: &[(u64, u64)], size| {
            let upload_url = Url::parse("https://www.linkedin.com/dms-uploads/1").unwrap();
            let part = |(first_byte, last_byte): &(u64, u64)| Part {
                upload_url: upload_url.clone(),
                first_byte: *first_byte,
                last_byte: *last_byte,
            };
            super::cuts(&parts.iter().map(part).collect(), size)
        };
        assert!(cuts(&[(0, 3), (4, 5)], 6) && cuts(&[(0, 0)], 1));
        let bytes = |count: u64| (0..count).map(|it| (it, it)).collect::<Vec<_>>();
        assert!(cuts(&bytes(2_000), 2_000) && !cuts(&bytes(20_000), 20_000), "more than can be kept");
        for (parts, size) in
            [(&[(0, 3)][..], 6), (&[(0, 3), (5, 5)], 6), (&[(0, 3), (4, 6)], 6), (&[], 6), (&[(0, u64::MAX)], 6)]
        {
            assert!(!cuts(parts, size), "{parts:?}");
        }
    }
}
