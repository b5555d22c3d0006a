//! A video on its way.
//!
//! Facts: a video of the Page goes up in parts, of which Facebook says which bytes come
//! next; it has its id before the first of them. A part may be sent again (`page/videos`,
//! `upload_phase`). Reels and videos of stories go to an address of their own with one
//! call, which goes on where the last one broke off: how far that came can be asked
//! (`video-api/guides/reels-publishing`, "Interrupted upload").

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::AttemptError;
use domain::media::Attachment;
use http::Method;
use serde::{Deserialize, Serialize};
use url::Url;

use super::Facebook;
use super::kind::Form;
use super::status::Status;
use crate::caller::Caller;
use crate::kit::{CallError, Effect, ErrorKind};
use crate::meta::{Answered, Graph, GraphId};
use crate::multipart;
use crate::publish_request::PublishRequest;

/// For one part, or what is left of a video.
const PART: Duration = Duration::from_secs(30);

/// How long until the first look at a video that is there, and the longest time between
/// two.
const FIRST_LOOK: TimeDelta = TimeDelta::seconds(3);
const LONGEST_PAUSE: TimeDelta = TimeDelta::seconds(30);

/// How long a video may be looked through before it is published all the same: Facebook
/// goes on with that by itself.
const PATIENCE: TimeDelta = TimeDelta::minutes(8);

/// A video on its way.
#[derive(Serialize, Deserialize)]
pub(super) struct Video {
    /// Facebook's id of it.
    pub(super) id: GraphId,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub(super) begun_at: DateTime<Utc>,
    way: Way,
}

/// How it goes up.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Way {
    /// In parts: the next is from `start` to `end`; none is left where these are the same.
    Parts {
        /// Names the upload.
        session: String,
        start: u64,
        end: u64,
    },
    Address {
        url: Url,
        #[serde(default, with = "chrono::serde::ts_milliseconds_option")]
        there_at: Option<DateTime<Utc>>,
        /// Whether it can be published.
        #[serde(default)]
        is_ready: bool,
    },
}

#[derive(Deserialize)]
struct Begun {
    video_id: GraphId,
    upload_session_id: Option<String>,
    upload_url: Option<Url>,
    #[serde(flatten)]
    next: Option<Next>,
}

/// Which bytes come next.
#[derive(Deserialize)]
struct Next {
    start_offset: String,
    end_offset: String,
}

impl Next {
    fn read(&self, size: u64) -> Option<(u64, u64)> {
        let (start, end) = (self.start_offset.parse().ok()?, self.end_offset.parse().ok()?);
        (start <= end && end <= size && (start < end || end == size)).then_some((start, end))
    }
}

/// One step of a video: its announcement, one of its parts, or a look at it. When the
/// next step is.
pub(super) async fn step(
    of: &Facebook,
    job: &PublishRequest<'_>,
    (form, file): (Form<'_>, &Attachment),
    reached: &mut Option<Video>,
) -> Result<DateTime<Utc>, AttemptError> {
    let Some(video) = reached else {
        match begin(of, job, form, file).await {
            Ok(video) => *reached = Some(video),
            Err(error) => return Err(of.graph.confirmed(job, error).await.into()),
        }
        return Ok(job.now);
    };
    match &mut video.way {
        Way::Parts { session, start, end } => parts(of, job, file, (session, start, end)).await,
        Way::Address { url, there_at, is_ready } => {
            address(of, job, (file, video.id.as_str()), (url, there_at, is_ready)).await
        }
    }
}

impl Video {
    /// Whether it can be published.
    pub(super) fn is_ready(&self) -> bool {
        match &self.way {
            Way::Parts { start, end, .. } => start == end,
            Way::Address { is_ready, .. } => *is_ready,
        }
    }

    /// What names it in the public call.
    pub(super) fn name(&self) -> (&'static str, &str) {
        match &self.way {
            Way::Parts { session, .. } => ("upload_session_id", session),
            Way::Address { .. } => ("video_id", self.id.as_str()),
        }
    }
}

/// Where videos of this form begin and end.
pub(super) fn edge<'a>(of: &'a Facebook, job: &PublishRequest<'_>, form: Form<'_>) -> (&'a Graph, String) {
    let (graph, edge) = match form {
        Form::Reel(_) => (&of.graph, "video_reels"),
        Form::VideoStory(_) => (&of.graph, "video_stories"),
        Form::Video(_) | Form::Post(_) | Form::PhotoStory(_) => (&of.videos, "videos"),
    };
    (graph, format!("/{}/{edge}", job.profile.account_id))
}

async fn begin(of: &Facebook, job: &PublishRequest<'_>, form: Form<'_>, file: &Attachment) -> Result<Video, CallError> {
    let size = file.size_bytes.to_string();
    let start = ("upload_phase", "start");
    let (graph, path) = edge(of, job, form);
    let is_in_parts = matches!(form, Form::Video(_));
    let fields: &[(&str, &str)] = if is_in_parts { &[start, ("file_size", &size)] } else { &[start] };
    let Answered { body: begun, .. } =
        graph.post::<Begun>(Effect::Private, Caller::of(job), &path, fields, PART).await?;
    let Begun { video_id: id, upload_session_id, upload_url, next } = begun;
    let way = match (upload_session_id, upload_url) {
        (Some(session), _) if is_in_parts => {
            let next = next.and_then(|it| it.read(file.size_bytes));
            let (start, end) = next.filter(|(start, _)| *start == 0).ok_or_else(unreadable)?;
            Way::Parts { session, start, end }
        }
        (_, Some(url)) if !is_in_parts => Way::Address { url: graph.upload_url(url)?, there_at: None, is_ready: false },
        _ => return Err(unreadable()),
    };
    Ok(Video { id, begun_at: job.now, way })
}

/// Sends the next part.
async fn parts(
    of: &Facebook,
    job: &PublishRequest<'_>,
    file: &Attachment,
    (session, start, end): (&str, &mut u64, &mut u64),
) -> Result<DateTime<Utc>, AttemptError> {
    match part(of, job, file, (session, *start, *end)).await {
        Ok((next, until)) => (*start, *end) = (next, until),
        // An upload that is not known any more, or stands elsewhere than we believe.
        Err(error) if 0 < *start && error.kind == ErrorKind::InvalidPost => {
            return Err(AttemptError::PreparationExpired { reason: error.message });
        }
        Err(error) => return Err(error.into()),
    }
    Ok(job.now)
}

/// Sends a part; which bytes come next.
async fn part(
    of: &Facebook,
    job: &PublishRequest<'_>,
    file: &Attachment,
    (session, start, end): (&str, u64, u64),
) -> Result<(u64, u64), CallError> {
    let by = Caller::of(job);
    let bytes = job.files.open_range(file, start..end).await?;
    let form = multipart::Form::new()
        .text("upload_phase", "transfer")
        .text("upload_session_id", session)
        .text("start_offset", &start.to_string())
        .file(("video_file_chunk", "video"), file.mime_type, end - start, bytes);
    let path = format!("/{}/videos", job.profile.account_id);
    let (request, unread) = form.onto(of.videos.request(by, Method::POST, &path).await?.timeout(PART));
    match of.videos.json::<Next>(request, by, Effect::Private).await {
        Err(_) if unread.is_set() => {
            Err(CallError::new(ErrorKind::NotSent, Effect::Private, "the file could not be read"))
        }
        sent => {
            let next = sent?.body.read(file.size_bytes);
            // What does not go on would be sent for ever.
            next.filter(|(next, _)| start < *next).ok_or_else(unreadable)
        }
    }
}

/// Sends what is missing to the address, or looks at what is there.
async fn address(
    of: &Facebook,
    job: &PublishRequest<'_>,
    (file, id): (&Attachment, &str),
    (url, there_at, is_ready): (&Url, &mut Option<DateTime<Utc>>, &mut bool),
) -> Result<DateTime<Utc>, AttemptError> {
    let by = Caller::of(job);
    let Answered { body: status, usage } = match Status::of(of, by, id).await {
        Ok(asked) => asked,
        // A video that Meta does not show is lost. The next video shows whether the Page is lost, too.
        Err(error) if error.is_missing() => return Err(AttemptError::PreparationExpired { reason: error.message }),
        Err(error) => return Err(error.into()),
    };
    if let Some(reason) = status.failed() {
        return Err(AttemptError::Refused { reason });
    }
    if status.is_too_old() {
        return Err(AttemptError::PreparationExpired { reason: "the upload of the video has expired".to_owned() });
    }
    if !status.is_there() {
        if there_at.is_none() && status.arrived() < file.size_bytes {
            of.graph.upload(job, file, status.arrived(), url).await?;
        }
        return Ok(usage.not_before(job.now + FIRST_LOOK, job.now));
    }
    let since = *there_at.get_or_insert(job.now);
    if !status.is_worked_on() || since + PATIENCE < job.now {
        *is_ready = true;
        return Ok(job.now);
    }
    let pause = ((job.now - since) / 2).clamp(FIRST_LOOK, LONGEST_PAUSE);
    Ok(usage.not_before(job.now + pause, job.now))
}

fn unreadable() -> CallError {
    CallError::unreadable(super::TITLE, Effect::Private)
}
