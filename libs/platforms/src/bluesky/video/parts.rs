//! A large video, uploaded in parts.
//!
//! Facts: an upload is started with the exact size, and the service returns how to split it. It
//! accepts each part once or again, lists the parts that it has, and creates a job once the client
//! reports that all are uploaded. It forgets an upload after a while. A service without uploads in
//! parts accepts the file whole, as before. The token is that of any upload. Source: the lexicons
//! `app.bsky.video.*Upload*`; `src/lib/media/video/multipart` of `bluesky-social/social-app`.

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::AttemptError;
use domain::media::Attachment;
use futures::{StreamExt, stream};
use http::Method;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::job::{MAX_ID_BYTES, VideoJob};
use super::service::{VideoService, with};
use crate::bluesky::errors::VIDEO_PARTS;
use crate::bluesky::reply::Reply;
use crate::kit::{CallError, Effect, ErrorKind};
use crate::publish_request::PublishRequest;
use crate::response;

/// A smaller file gains nothing. The official client has the same bound.
const MIN_BYTES: u64 = 16 << 20;

const PARTS_PER_STEP: usize = 6;
const AT_A_TIME: usize = 3;

const PART: Duration = Duration::from_secs(15);

const MAX_PARTS: u64 = 10_000;

const SOON: TimeDelta = TimeDelta::seconds(2);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::bluesky) struct Upload {
    id: String,
}

pub(in crate::bluesky) enum Sent {
    /// To be continued, not before this time.
    Again(DateTime<Utc>),
    All(VideoJob),
    /// The upload failed, and the file has to be uploaded again; the reason.
    Failed(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Plan {
    job_id: String,
    part_size_bytes: u64,
    part_count: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    #[serde(flatten)]
    plan: Plan,
    received_parts: BTreeSet<u64>,
    state: String,
    completed_job_id: Option<String>,
    failure_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Finished {
    completed_job_id: String,
}

impl Plan {
    fn fits(&self, size_bytes: u64) -> bool {
        (1..=MAX_ID_BYTES).contains(&self.job_id.len())
            && 0 < self.part_size_bytes
            && self.part_count <= MAX_PARTS
            && self.part_count == size_bytes.div_ceil(self.part_size_bytes)
    }

    /// The byte range of a part; numbers begin with 1.
    fn part(&self, number: u64, size_bytes: u64) -> Range<u64> {
        let start = (number - 1) * self.part_size_bytes;
        start..(start + self.part_size_bytes).min(size_bytes)
    }
}

impl Upload {
    /// Starts an upload in parts; `None` if the file has to be uploaded whole.
    pub(super) async fn start(
        service: &VideoService<'_>,
        token: &SecretString,
        file: &Attachment,
        name: &str,
    ) -> Result<Option<Self>, AttemptError> {
        if file.size_bytes < MIN_BYTES {
            return Ok(None);
        }
        let body = json!({"sizeBytes": file.size_bytes, "mimeType": file.mime_type.as_str(), "name": name});
        let request = service.call(Method::POST, "app.bsky.video.startUpload")?.json(&body);
        let reply = Reply::to(with(request, token)).await?;
        // If the service does not start an upload in parts for whatever reason, the response to the
        // whole file decides.
        let plan = reply.json::<Plan>().filter(|it| reply.status.is_success() && it.fits(file.size_bytes));
        Ok(plan.map(|it| Self { id: it.job_id }))
    }

    /// Sends some of the missing parts; once the service has all, starts the job.
    pub(in crate::bluesky) async fn go_on(
        &self,
        service: &VideoService<'_>,
        request: &PublishRequest<'_>,
        file: &Attachment,
    ) -> Result<Sent, AttemptError> {
        let token = service.upload_token().await?;
        let call = service.call(Method::GET, "app.bsky.video.getUploadStatus")?.query(&[("jobId", &self.id)]);
        let reply = Reply::to(with(call, &token)).await?;
        let status = match reply.json::<Status>() {
            Some(status) if reply.status.is_success() => status,
            _ => return read_error(&reply, request.now),
        };
        match (status.state.as_str(), status.completed_job_id) {
            ("completed", Some(id)) => VideoJob::named(id, request.now).map(Sent::All).ok_or_else(unreadable),
            ("finishing", _) => Ok(Sent::Again(request.now + SOON)),
            ("failed", _) => {
                let reason = status.failure_reason.unwrap_or_else(|| "the upload failed".to_owned());
                Ok(Sent::Failed(response::shown(&reason)))
            }
            ("created", _) if status.plan.fits(file.size_bytes) => {
                let missing = (1..=status.plan.part_count).filter(|it| !status.received_parts.contains(it));
                let missing: Vec<u64> = missing.take(PARTS_PER_STEP).collect();
                if missing.is_empty() {
                    return self.finish(service, &token, request.now).await;
                }
                let parts = missing.into_iter().map(|it| (it, status.plan.part(it, file.size_bytes)));
                self.send(service, &token, request, file, parts).await
            }
            _ => Err(preparation_expired("the video service no longer has the upload".to_owned())),
        }
    }

    async fn send(
        &self,
        service: &VideoService<'_>,
        token: &SecretString,
        request: &PublishRequest<'_>,
        file: &Attachment,
        parts: impl Iterator<Item = (u64, Range<u64>)>,
    ) -> Result<Sent, AttemptError> {
        let sent: Vec<_> = stream::iter(parts)
            .map(|(number, bytes)| self.send_part(service, token, request, file, number, bytes))
            .buffer_unordered(AT_A_TIME)
            .collect()
            .await;
        // All are awaited, so that no part is cut off while it arrives.
        for part in sent {
            let reply = part?;
            if !reply.status.is_success() {
                return read_error(&reply, request.now);
            }
        }
        Ok(Sent::Again(request.now))
    }

    async fn send_part(
        &self,
        service: &VideoService<'_>,
        token: &SecretString,
        request: &PublishRequest<'_>,
        file: &Attachment,
        number: u64,
        bytes: Range<u64>,
    ) -> Result<Reply, AttemptError> {
        let length = bytes.end - bytes.start;
        let part = request.files.open_range(file, bytes).await;
        let part = part.map_err(|error| AttemptError::RetryLater { retry_at: None, reason: error.to_string() })?;
        let call = service
            .call(Method::POST, "app.bsky.video.uploadPart")?
            .query(&[("jobId", self.id.as_str()), ("partNumber", &number.to_string())])
            .header(CONTENT_TYPE, "application/octet-stream")
            .header(CONTENT_LENGTH, length)
            .timeout(PART)
            .body(reqwest::Body::wrap_stream(part));
        Ok(Reply::to(with(call, token)).await?)
    }

    async fn finish(
        &self,
        service: &VideoService<'_>,
        token: &SecretString,
        now: DateTime<Utc>,
    ) -> Result<Sent, AttemptError> {
        let request = service.call(Method::POST, "app.bsky.video.finishUpload")?.json(&json!({"jobId": self.id}));
        let reply = Reply::to(with(request, token)).await?;
        match reply.json::<Finished>() {
            Some(Finished { completed_job_id }) if reply.status.is_success() => {
                VideoJob::named(completed_job_id, now).map(Sent::All).ok_or_else(unreadable)
            }
            _ => read_error(&reply, now),
        }
    }
}

/// The error if the service rejects a part, or does not have all parts yet. The next step asks
/// which parts it has.
fn read_error(reply: &Reply, now: DateTime<Utc>) -> Result<Sent, AttemptError> {
    let failure = reply.failure(&VIDEO_PARTS, Effect::Private, now);
    match failure.kind {
        _ if failure.has_code(&["UploadFailed"]) => Ok(Sent::Failed(failure.message)),
        ErrorKind::NotReady => Ok(Sent::Again(now + SOON)),
        _ => Err(failure.into()),
    }
}

fn unreadable() -> AttemptError {
    CallError::unreadable(VIDEO_PARTS.title, Effect::Private).into()
}

/// The file is uploaded again, after a longer wait each time, in case the service forgets that
/// upload as well.
fn preparation_expired(reason: String) -> AttemptError {
    AttemptError::PreparationExpired { reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plan_covers_exactly_the_file() {
        let plan = |part_size_bytes, part_count| Plan { job_id: "j".to_owned(), part_size_bytes, part_count };
        assert!(plan(8, 3).fits(20) && plan(20, 1).fits(20) && plan(8, 3).fits(24));
        assert!(!plan(8, 2).fits(20) && !plan(8, 4).fits(20) && !plan(0, 3).fits(20) && !plan(1, 20_000).fits(20_000));
        assert_eq!((plan(8, 3).part(1, 20), plan(8, 3).part(3, 20)), (0..8, 16..20));
    }
}
