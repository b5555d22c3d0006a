//! The upload of a video.
//!
//! Facts: a video of the Page is uploaded in parts; Facebook says which bytes come next, and the
//! video has its id before the first of them. A part may be sent again (`page/videos`,
//! `upload_phase`). Reels and videos of stories are sent to a URL of their own with one call, which
//! resumes where the previous one was cut off: the status has how much has arrived
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
use crate::meta::{Graph, GraphId, WithUsage};
use crate::multipart;
use crate::publish_request::PublishRequest;

/// For one part, or for the rest of a video.
const PART: Duration = Duration::from_secs(30);

/// The pause before the status of an uploaded video is read first, and the longest pause.
const FIRST_LOOK: TimeDelta = TimeDelta::seconds(3);
const LONGEST_PAUSE: TimeDelta = TimeDelta::seconds(30);

/// How long a video may be processed before it is published all the same: Facebook continues to
/// process it.
const PROCESSING_LIMIT: TimeDelta = TimeDelta::minutes(8);

#[derive(Serialize, Deserialize)]
pub(super) struct Video {
    pub(super) id: GraphId,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub(super) begun_at: DateTime<Utc>,
    method: UploadMethod,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum UploadMethod {
    /// In parts: the next one is from `start` to `end`; none is left if these are equal.
    Parts { session: String, start: u64, end: u64 },
    Address {
        url: Url,
        #[serde(default, with = "chrono::serde::ts_milliseconds_option")]
        there_at: Option<DateTime<Utc>>,
        #[serde(default)]
        is_ready: bool,
    },
}

#[derive(Deserialize)]
struct VideoStart {
    video_id: GraphId,
    upload_session_id: Option<String>,
    upload_url: Option<Url>,
    #[serde(flatten)]
    next: Option<Next>,
}

/// The bytes that Facebook expects next.
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

/// Returns when the next step is due.
pub(super) async fn step(
    facebook: &Facebook,
    request: &PublishRequest<'_>,
    (form, file): (Form<'_>, &Attachment),
    state: &mut Option<Video>,
) -> Result<DateTime<Utc>, AttemptError> {
    let Some(video) = state else {
        match start_upload(facebook, request, form, file).await {
            Ok(video) => *state = Some(video),
            Err(error) => return Err(facebook.graph.confirmed(request, error).await.into()),
        }
        return Ok(request.now);
    };
    match &mut video.method {
        UploadMethod::Parts { session, start, end } => {
            upload_next_part(facebook, request, file, (session, start, end)).await
        }
        UploadMethod::Address { url, there_at, is_ready } => {
            upload_to_url(facebook, request, (file, video.id.as_str()), (url, there_at, is_ready)).await
        }
    }
}

impl Video {
    pub(super) fn is_ready(&self) -> bool {
        match &self.method {
            UploadMethod::Parts { start, end, .. } => start == end,
            UploadMethod::Address { is_ready, .. } => *is_ready,
        }
    }

    pub(super) fn name(&self) -> (&'static str, &str) {
        match &self.method {
            UploadMethod::Parts { session, .. } => ("upload_session_id", session),
            UploadMethod::Address { .. } => ("video_id", self.id.as_str()),
        }
    }
}

pub(super) fn edge<'a>(facebook: &'a Facebook, request: &PublishRequest<'_>, form: Form<'_>) -> (&'a Graph, String) {
    let (graph, edge) = match form {
        Form::Reel(_) => (&facebook.graph, "video_reels"),
        Form::VideoStory(_) => (&facebook.graph, "video_stories"),
        Form::Video(_) | Form::Post(_) | Form::PhotoStory(_) => (&facebook.videos, "videos"),
    };
    (graph, format!("/{}/{edge}", request.profile.account_id))
}

async fn start_upload(
    facebook: &Facebook,
    request: &PublishRequest<'_>,
    form: Form<'_>,
    file: &Attachment,
) -> Result<Video, CallError> {
    let size = file.size_bytes.to_string();
    let start = ("upload_phase", "start");
    let (graph, path) = edge(facebook, request, form);
    let is_chunked = matches!(form, Form::Video(_));
    let fields: &[(&str, &str)] = if is_chunked { &[start, ("file_size", &size)] } else { &[start] };
    let WithUsage { body: begun, .. } =
        graph.post::<VideoStart>(Effect::Private, Caller::for_request(request), &path, fields, PART).await?;
    let VideoStart { video_id: id, upload_session_id, upload_url, next } = begun;
    let method = match (upload_session_id, upload_url) {
        (Some(session), _) if is_chunked => {
            let next = next.and_then(|it| it.read(file.size_bytes));
            let (start, end) = next.filter(|(start, _)| *start == 0).ok_or_else(unreadable)?;
            UploadMethod::Parts { session, start, end }
        }
        (_, Some(url)) if !is_chunked => {
            UploadMethod::Address { url: graph.upload_url(url)?, there_at: None, is_ready: false }
        }
        _ => return Err(unreadable()),
    };
    Ok(Video { id, begun_at: request.now, method })
}

async fn upload_next_part(
    facebook: &Facebook,
    request: &PublishRequest<'_>,
    file: &Attachment,
    (session, start, end): (&str, &mut u64, &mut u64),
) -> Result<DateTime<Utc>, AttemptError> {
    match part(facebook, request, file, (session, *start, *end)).await {
        Ok((next, next_end)) => (*start, *end) = (next, next_end),
        // An upload that Facebook no longer knows, or whose offset differs from ours.
        Err(error) if 0 < *start && error.kind == ErrorKind::InvalidPost => {
            return Err(AttemptError::PreparationExpired { reason: error.message });
        }
        Err(error) => return Err(error.into()),
    }
    Ok(request.now)
}

async fn part(
    facebook: &Facebook,
    request: &PublishRequest<'_>,
    file: &Attachment,
    (session, start, end): (&str, u64, u64),
) -> Result<(u64, u64), CallError> {
    let caller = Caller::for_request(request);
    let bytes = request.files.open_range(file, start..end).await?;
    let form = multipart::Form::new()
        .text("upload_phase", "transfer")
        .text("upload_session_id", session)
        .text("start_offset", &start.to_string())
        .file(("video_file_chunk", "video"), file.mime_type, end - start, bytes);
    let path = format!("/{}/videos", request.profile.account_id);
    let (call, unread) = form.onto(facebook.videos.request(caller, Method::POST, &path).await?.timeout(PART));
    match facebook.videos.json::<Next>(call, caller, Effect::Private).await {
        Err(_) if unread.is_set() => {
            Err(CallError::new(ErrorKind::NotSent, Effect::Private, "the file could not be read"))
        }
        sent => {
            let next = sent?.body.read(file.size_bytes);
            // A part that does not advance would be sent without end.
            next.filter(|(next, _)| start < *next).ok_or_else(unreadable)
        }
    }
}

async fn upload_to_url(
    facebook: &Facebook,
    request: &PublishRequest<'_>,
    (file, id): (&Attachment, &str),
    (url, there_at, is_ready): (&Url, &mut Option<DateTime<Utc>>, &mut bool),
) -> Result<DateTime<Utc>, AttemptError> {
    let caller = Caller::for_request(request);
    let WithUsage { body: status, usage } = match Status::fetch(facebook, caller, id).await {
        Ok(answered) => answered,
        // A video that Meta does not show is lost. The next video shows whether the Page is lost,
        // too.
        Err(error) if error.is_missing() => return Err(AttemptError::PreparationExpired { reason: error.message }),
        Err(error) => return Err(error.into()),
    };
    if let Some(reason) = status.failed() {
        return Err(AttemptError::Refused { reason });
    }
    if status.is_expired() {
        return Err(AttemptError::PreparationExpired { reason: "the upload of the video has expired".to_owned() });
    }
    if !status.is_there() {
        if there_at.is_none() && status.arrived() < file.size_bytes {
            facebook.graph.upload(request, file, status.arrived(), url).await?;
        }
        return Ok(usage.not_before(request.now + FIRST_LOOK, request.now));
    }
    let since = *there_at.get_or_insert(request.now);
    if !status.is_worked_on() || since + PROCESSING_LIMIT < request.now {
        *is_ready = true;
        return Ok(request.now);
    }
    let pause = ((request.now - since) / 2).clamp(FIRST_LOOK, LONGEST_PAUSE);
    Ok(usage.not_before(request.now + pause, request.now))
}

fn unreadable() -> CallError {
    CallError::unreadable(super::TITLE, Effect::Private)
}
