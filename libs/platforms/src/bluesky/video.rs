//! The video service, which transcodes a video and stores the result on the
//! account's server.
//!
//! Facts: each call of it needs a token that the account's server makes for one
//! method; uploading gives a job; a job is finished when it has a blob, even
//! beside an error (`already_exists`, whose answer names the job of the same
//! file). It answers with the status bare, or within `jobStatus`.

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::Setback;
use domain::media::Attachment;
use http::{Method, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use url::Url;

use super::blob::Blob;
use super::faults;
use super::host::host_of;
use super::pds::{Pds, address};
use super::reply::Reply;
use super::upload::{open, with_file};
use crate::answer;
use crate::job::Job;

/// How long the token for an upload is valid. The service uses it only when it has
/// finished transcoding.
const TOKEN_LIVES: TimeDelta = TimeDelta::minutes(30);

/// A job that takes longer never ends, because its token has expired.
const LONGEST_JOB: TimeDelta = TimeDelta::minutes(30);

/// The longest name of a job that is remembered.
const MAX_ID_BYTES: usize = 256;

/// A job over there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct VideoJob {
    id: String,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    since: DateTime<Utc>,
}

/// How far it is.
pub(super) enum Progress {
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

#[derive(Deserialize)]
struct Token {
    token: SecretString,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Limits {
    can_upload: bool,
    message: Option<String>,
}

/// The service at an address, for an account.
pub(super) struct VideoService<'a> {
    pub(super) base: &'a Url,
    pub(super) pds: &'a Pds<'a>,
}

impl VideoService<'_> {
    /// Hands a file over.
    pub(super) async fn begin(&self, job: &Job<'_>, file: &Attachment) -> Result<VideoJob, Setback> {
        self.check_limits().await?;
        let Pds { session, http, .. } = self.pds;
        let keeper = format!("did:web:{}", host_of(&session.pds));
        let token = self.token(&keeper, "com.atproto.repo.uploadBlob", TOKEN_LIVES).await?;
        let name = format!("{}.mp4", job.reference);
        let request = http
            .to_known(Method::POST, address(self.base, "app.bsky.video.uploadVideo"))?
            .query(&[("did", session.did.as_str()), ("name", &name)])
            .bearer_auth(token.expose_secret());
        let body = reqwest::Body::wrap_stream(open(job, file).await?);
        let reply = Reply::to(with_file(request, file).body(body)).await?;
        match status(&reply) {
            Some(status) if reply.status.is_success() || reply.status == StatusCode::CONFLICT => {
                Ok(VideoJob { id: status.job_id, since: job.now })
            }
            _ => Err(faults::of_video(&reply, job.now)),
        }
    }

    /// Asks how far a job is.
    pub(super) async fn look(&self, job: &VideoJob, now: DateTime<Utc>) -> Result<Progress, Setback> {
        let request = self.pds.http.to_known(Method::GET, address(self.base, "app.bsky.video.getJobStatus"))?;
        let reply = Reply::to(request.query(&[("jobId", &job.id)])).await?;
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
            _ if LONGEST_JOB < now - job.since => {
                Err(Setback::Stale { reason: "the video was not processed within 30 minutes".to_owned() })
            }
            // Short ones take seconds, long ones minutes.
            _ => Ok(Progress::Working(now + ((now - job.since) / 4).clamp(FIRST_LOOK, LONGEST_LOOK))),
        }
    }

    /// Checks that the account may upload videos now. Where it may not, for example
    /// because of a daily limit, the post is tried again later.
    async fn check_limits(&self) -> Result<(), Setback> {
        let method = "app.bsky.video.getUploadLimits";
        let Pds { http, now, .. } = self.pds;
        let token = self.token(&format!("did:web:{}", host_of(self.base)), method, TimeDelta::minutes(1)).await?;
        let request = http.to_known(Method::GET, address(self.base, method))?.bearer_auth(token.expose_secret());
        let reply = Reply::to(request).await?;
        match reply.json::<Limits>() {
            Some(Limits { can_upload: true, .. }) if reply.status.is_success() => Ok(()),
            Some(Limits { message, .. }) if reply.status.is_success() => {
                let words = message.unwrap_or_else(|| "it takes no videos from this account now".to_owned());
                Err(Setback::Busy { retry_at: None, reason: answer::shown(&words) })
            }
            _ => Err(faults::of_video(&reply, *now)),
        }
    }

    /// A token with which one method of one service may be called.
    async fn token(&self, audience: &str, method: &str, lives: TimeDelta) -> Result<SecretString, Setback> {
        let ends = (self.pds.now + lives).timestamp().to_string();
        let parameters = [("aud", audience), ("lxm", method), ("exp", &ends)];
        let reply = self.pds.query("com.atproto.server.getServiceAuth", &parameters).await?;
        match reply.json::<Token>() {
            Some(Token { token }) if reply.status.is_success() => Ok(token),
            _ if reply.status.is_success() => Err(faults::unreadable()),
            _ => Err(faults::setback(&reply, self.pds.now)),
        }
    }
}

const FIRST_LOOK: TimeDelta = TimeDelta::seconds(2);
const LONGEST_LOOK: TimeDelta = TimeDelta::seconds(30);

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
