//! A job of the service.

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::Setback;
use http::{Method, StatusCode};
use serde::{Deserialize, Serialize};

use super::service::VideoService;
use crate::answer;
use crate::bluesky::blob::Blob;
use crate::bluesky::reply::Reply;

/// A job that takes longer never ends, because its token has expired.
const LONGEST_JOB: TimeDelta = TimeDelta::minutes(30);

/// The longest name of a job that is remembered.
pub(super) const MAX_ID_BYTES: usize = 256;

const FIRST_LOOK: TimeDelta = TimeDelta::seconds(2);
const LONGEST_LOOK: TimeDelta = TimeDelta::seconds(30);

/// A job over there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::bluesky) struct VideoJob {
    id: String,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    since: DateTime<Utc>,
}

/// How far it is.
pub(in crate::bluesky) enum Progress {
    /// To be asked again, not before this.
    Working(DateTime<Utc>),
    Done(Blob),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    job_id: String,
    state: Option<String>,
    blob: Option<Blob>,
    error: Option<String>,
    message: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged, rename_all = "camelCase")]
enum Answer {
    #[serde(rename_all = "camelCase")]
    ByLexicon {
        job_status: Status,
    },
    Bare(Status),
}

impl VideoJob {
    /// The one with this name, begun now; `None` where nothing is named so.
    pub(super) fn named(id: String, now: DateTime<Utc>) -> Option<Self> {
        (1..=MAX_ID_BYTES).contains(&id.len()).then_some(Self { id, since: now })
    }

    /// The one that an answer names.
    pub(super) fn of(reply: &Reply, now: DateTime<Utc>) -> Option<Self> {
        Self::named(status(reply)?.job_id, now)
    }

    /// Asks how far it is.
    pub(in crate::bluesky) async fn look(&self, service: &VideoService<'_>) -> Result<Progress, Setback> {
        let now = service.now();
        let request = service.call(Method::GET, "app.bsky.video.getJobStatus")?;
        let reply = Reply::to(request.query(&[("jobId", &self.id)])).await?;
        let status = match status(&reply) {
            Some(status) if reply.status.is_success() => status,
            _ => return Err(not_looked(&reply, now)),
        };
        match status {
            Status { blob: Some(blob), .. } => Ok(Progress::Done(blob)),
            Status { state: Some(state), error, message, .. } if state == "JOB_STATE_FAILED" => {
                let words = message.or(error).unwrap_or_else(|| "the video could not be processed".to_owned());
                Err(Setback::Refused { reason: answer::shown(&words) })
            }
            _ if LONGEST_JOB < now - self.since => {
                Err(Setback::Stale { reason: "the video was not processed within 30 minutes".to_owned() })
            }
            // Short ones take seconds, long ones minutes.
            _ => Ok(Progress::Working(now + ((now - self.since) / 4).clamp(FIRST_LOOK, LONGEST_LOOK))),
        }
    }
}

fn status(reply: &Reply) -> Option<Status> {
    let status = reply.json().map(|it| match it {
        Answer::ByLexicon { job_status } => job_status,
        Answer::Bare(status) => status,
    });
    status.filter(|it| (1..=MAX_ID_BYTES).contains(&it.job_id.len()))
}

/// What follows when the service does not tell how far a job is.
fn not_looked(reply: &Reply, now: DateTime<Utc>) -> Setback {
    match reply.status {
        // It does not know the job any more: the file is handed over anew.
        StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND if reply.error().is_some() => {
            Setback::Stale { reason: reply.words() }
        }
        _ => Setback::Busy { retry_at: reply.retry_at(now), reason: reply.words() },
    }
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;
    use http::HeaderMap;

    use super::*;

    #[test]
    fn only_the_service_itself_forgets_a_job() {
        let reply = |status: StatusCode, body: &str| Reply { status, headers: HeaderMap::new(), body: body.into() };
        let named = r#"{"error": "JobNotFound", "message": "no such job"}"#;
        for (status, body, is_stale) in [
            (StatusCode::BAD_REQUEST, named, true),
            (StatusCode::NOT_FOUND, named, true),
            (StatusCode::NOT_FOUND, "<html>", false),
            (StatusCode::FORBIDDEN, named, false),
            (StatusCode::BAD_GATEWAY, "", false),
        ] {
            let setback = not_looked(&reply(status, body), noon());
            assert_eq!(matches!(setback, Setback::Stale { .. }), is_stale, "{status} {body}: {setback:?}");
            assert!(is_stale || matches!(setback, Setback::Busy { .. }), "{setback:?}");
        }
    }
}
