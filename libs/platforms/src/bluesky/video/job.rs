//! Jobs of the video service, from the upload to the transcoded file.

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::AttemptError;
use http::Method;
use serde::{Deserialize, Serialize};

use super::service::VideoService;
use crate::bluesky::blob::Blob;
use crate::bluesky::errors::VIDEO_JOB;
use crate::bluesky::reply::Reply;
use crate::kit::Effect;
use crate::response;

/// A longer job never ends, because its token has expired.
const MAX_JOB_DURATION: TimeDelta = TimeDelta::minutes(30);

/// In bytes.
pub(super) const MAX_ID_BYTES: usize = 256;

const FIRST_LOOK: TimeDelta = TimeDelta::seconds(2);
const LONGEST_LOOK: TimeDelta = TimeDelta::seconds(30);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::bluesky) struct VideoJob {
    id: String,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    since: DateTime<Utc>,
}

pub(in crate::bluesky) enum Progress {
    /// To be checked again, not before this time.
    Working(DateTime<Utc>),
    Done(Blob),
    /// The job failed in a way that usually passes if the file is uploaded again; the reason.
    Failed(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Status {
    pub(super) job_id: String,
    state: Option<String>,
    pub(super) blob: Option<Blob>,
    error: Option<String>,
    failure_code: Option<String>,
    message: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged, rename_all = "camelCase")]
enum StatusResponse {
    #[serde(rename_all = "camelCase")]
    ByLexicon {
        job_status: Status,
    },
    Bare(Status),
}

impl VideoJob {
    /// `None` if the id is not valid.
    pub(super) fn named(id: String, now: DateTime<Utc>) -> Option<Self> {
        (1..=MAX_ID_BYTES).contains(&id.len()).then_some(Self { id, since: now })
    }

    pub(super) fn from_reply(reply: &Reply, now: DateTime<Utc>) -> Option<Self> {
        Self::named(status(reply)?.job_id, now)
    }

    pub(in crate::bluesky) async fn check(&self, service: &VideoService<'_>) -> Result<Progress, AttemptError> {
        let now = service.now();
        let request = service.call(Method::GET, "app.bsky.video.getJobStatus")?;
        let reply = Reply::to(request.query(&[("jobId", &self.id)])).await?;
        let status = match status(&reply) {
            Some(status) if reply.status.is_success() => status,
            _ => return Err(reply.failure(&VIDEO_JOB, Effect::Private, now).into()),
        };
        match status {
            Status { blob: Some(blob), .. } => Ok(Progress::Done(blob)),
            Status { state: Some(state), error, failure_code, message, .. } if state == "JOB_STATE_FAILED" => {
                let message = message.or(error).map(|it| response::shown(&it));
                read_failure(failure_code.as_deref(), message)
            }
            _ if MAX_JOB_DURATION < now - self.since => Err(AttemptError::PreparationExpired {
                reason: "the video was not processed within 30 minutes".to_owned(),
            }),
            // Short videos take seconds, long ones minutes.
            _ => Ok(Progress::Working(now + ((now - self.since) / 4).clamp(FIRST_LOOK, LONGEST_LOOK))),
        }
    }
}

/// The result of a failed job. Only these two codes are about the file; with other codes, or
/// without one, the same file usually succeeds when it is uploaded again. Source: the lexicon
/// `app.bsky.video.defs` of July 2026; issue 55 of `twitter-to-bluesky`, issue 407 of
/// `bluesky-social/atproto-website`.
fn read_failure(code: Option<&str>, message: Option<String>) -> Result<Progress, AttemptError> {
    let detail = message.map_or_else(String::new, |it| format!(": {it}"));
    match code {
        Some("validation_failure") => Err(AttemptError::Refused {
            reason: format!("Bluesky's video service does not accept this file as a video{detail}"),
        }),
        Some("pds_upload_unsupported_blob_size") => Err(AttemptError::Refused {
            reason: format!(
                "the account's server does not accept a video of this size; use a shorter or smaller one{detail}"
            ),
        }),
        _ => Ok(Progress::Failed(format!("the video could not be processed{detail}"))),
    }
}

pub(super) fn status(reply: &Reply) -> Option<Status> {
    let status = reply.json().map(|it| match it {
        StatusResponse::ByLexicon { job_status } => job_status,
        StatusResponse::Bare(status) => status,
    });
    status.filter(|it| (1..=MAX_ID_BYTES).contains(&it.job_id.len()))
}
