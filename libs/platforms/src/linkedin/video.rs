//! A video, uploaded in parts.
//!
//! Facts: an upload is announced with the exact size, and LinkedIn says which bytes go
//! to which address. Each part is answered with a tag; when all are there, the tags in
//! order make a video of them, which is then worked on. A part may be sent again. The
//! addresses need no token. Source: `shares/videos-api`.

use std::collections::VecDeque;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::Setback;
use domain::media::Attachment;
use futures::{StreamExt, stream};
use http::Method;
use http::header::ETAG;
use serde::{Deserialize, Serialize};
use serde_json::json;
use url::Url;

use super::api::{Api, Contents, encoded, unreadable, urn};
use super::failure::Failure;
use crate::answer;
use crate::caller::Caller;
use crate::job::Job;

/// The most parts that are sent in one step, and how many at the same time.
const IN_A_STEP: usize = 6;
const AT_A_TIME: usize = 3;

/// For one part of 4 MiB.
const PART: Duration = Duration::from_secs(15);

/// The most that the addresses of all parts have, in bytes: they are stored between the
/// steps. A video of 500 MB has 120 parts.
const MOST_ADDRESS_BYTES: usize = 200_000;

/// The longest wait between two looks at a video that is worked on. The first is five
/// seconds; each is a call of the 150 that a member has in a day.
const LONGEST_WAIT: TimeDelta = TimeDelta::seconds(40);

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

/// One step of a video: its announcement, some of its parts, or a look at it.
pub(super) async fn step(
    api: &Api,
    job: &Job<'_>,
    file: &Attachment,
    reached: &mut Option<Video>,
) -> Result<Uploaded, Setback> {
    let before_the_call = |it: Failure| it.before_the_call(job);
    let Some(video) = reached else {
        *reached = Some(Video::begin(api, job, file).await.map_err(before_the_call)?);
        return Ok(Uploaded::NotYet(job.now));
    };
    if !video.missing.is_empty() {
        if video.ends_at.is_some_and(|it| it <= job.now) {
            return Err(Setback::Stale { reason: "the time to upload the video is over".to_owned() });
        }
        video.send(api, job, file).await.map_err(before_the_call)?;
        return Ok(Uploaded::NotYet(job.now));
    }
    video.look(api, job).await
}

impl Video {
    async fn begin(api: &Api, job: &Job<'_>, file: &Attachment) -> Result<Self, Failure> {
        let body = json!({ "initializeUploadRequest": {
            "owner": job.profile.account_id,
            "fileSizeBytes": file.size_bytes,
            "uploadCaptions": false,
            "uploadThumbnail": false,
        } });
        let begun: Begun = api.action(Caller::of(job), "videos?action=initializeUpload", &body).await?;
        if !cuts(&begun.upload_instructions, file.size_bytes) {
            return Err(unreadable());
        }
        Ok(Self {
            urn: urn(begun.video)?,
            token: begun.upload_token,
            ends_at: begun.upload_urls_expire_at,
            missing: begun.upload_instructions,
            tags: Vec::new(),
            looks: 0,
        })
    }

    /// Sends the next parts. Those behind one that fails are sent again.
    async fn send(&mut self, api: &Api, job: &Job<'_>, file: &Attachment) -> Result<(), Failure> {
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
                Err(failure) => return Err(failure),
            }
        }
        Ok(())
    }

    /// Has the parts put together, once, and waits until that is done.
    async fn look(&mut self, api: &Api, job: &Job<'_>) -> Result<Uploaded, Setback> {
        let by = Caller::of(job);
        let asked = async {
            let request = api.rest(by, Method::GET, &format!("videos/{}", encoded(&self.urn)))?;
            api.json::<Status>(request, by).await
        };
        let Status { status, processing_failure_reason } = match asked.await {
            Err(failure) if failure.is_not_found() => return Err(Setback::Stale { reason: failure.words() }),
            asked => asked.map_err(|it| it.before_the_call(job))?,
        };
        match status.as_str() {
            "AVAILABLE" => return Ok(Uploaded::Ready(self.urn.clone())),
            "PROCESSING_FAILED" => {
                let why = processing_failure_reason.unwrap_or_else(|| "no reason given".to_owned());
                let reason = format!("LinkedIn could not process the video: {}", answer::shown(&why));
                return Err(Setback::Refused { reason });
            }
            // Asked before, because an answer to this may have been lost.
            "WAITING_UPLOAD" => {
                let body = json!({ "finalizeUploadRequest": {
                    "video": self.urn,
                    "uploadToken": self.token,
                    "uploadedPartIds": self.tags,
                } });
                let request = api.rest(by, Method::POST, "videos?action=finalizeUpload");
                let finalized = async { api.answered(request?.json(&body), by).await };
                finalized.await.map_err(|it| it.before_the_call(job))?;
            }
            _ => {}
        }
        let wait = (TimeDelta::seconds(5) * (1 << self.looks.min(3))).min(LONGEST_WAIT);
        self.looks = self.looks.saturating_add(1);
        Ok(Uploaded::NotYet(job.now + wait))
    }
}

async fn send_part(api: &Api, job: &Job<'_>, file: &Attachment, part: Part) -> Result<String, Failure> {
    let range = part.first_byte..part.last_byte + 1;
    let length = range.end - range.start;
    let bytes = job.files.open_range(file, range).await?;
    let request = api.put(part.upload_url, Contents { length, bytes }, PART)?;
    let response = api.answered(request, Caller::of(job)).await.map_err(Failure::of_an_address)?;
    let tag = response.headers().get(ETAG).and_then(|it| it.to_str().ok());
    tag.map(|it| it.trim_matches('"').to_owned()).filter(|it| !it.is_empty()).ok_or_else(unreadable)
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
