//! The upload of one file: fitted, sent whole or in parts, and processed by the platform.

use std::future::ready;
use std::ops::Range;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::AttemptError;
use domain::media::{AltText, Attachment, FileType, MimeType, PictureBounds};
use futures::{StreamExt, stream};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;

use super::super::call_error::{CallError, ErrorKind};
use super::PublishAdapter;
use crate::publish_request::{MediaBytes, Picture, PublishRequest};

/// Bytes of parts that one step sends, and how many parts are sent concurrently.
const STEP_BYTES: u64 = 24 << 20;
const PARALLEL_PARTS: usize = 3;

/// How long a step starts further parts. On a slow line, fewer parts arrive in a step, but they are
/// stored.
const BEGIN_PARTS_FOR: Duration = Duration::from_secs(15);

/// The pause before a finish whose response was lost is repeated, and how often that happens before the protocol backs
/// off and the user reads why.
const FINISH_AGAIN: TimeDelta = TimeDelta::seconds(5);
const MAX_QUICK_FINISHES: u32 = 3;

/// After about 40 minutes, the file is uploaded again.
const MAX_STATUS_READS: u32 = 60;

/// The pauses between two status calls while a file is processed, unless the platform names one.
const FIRST_PAUSE: TimeDelta = TimeDelta::seconds(5);
const LONGEST_PAUSE: TimeDelta = TimeDelta::seconds(40);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MediaSource {
    /// The user's file, unchanged.
    Original,
    /// A picture within these bounds, without metadata.
    Fitted(PictureBounds),
    /// The user's file, unchanged, unless it exceeds these bounds.
    FittedIfLarger(PictureBounds),
    /// The platform fetches a picture within these bounds by URL during the publish call.
    PublicUrl(PictureBounds),
}

pub(crate) struct File<'a> {
    pub(crate) attachment: &'a Attachment,
    pub(super) picture: Option<Picture>,
}

impl File<'_> {
    pub(crate) fn is_video(&self) -> bool {
        self.attachment.mime_type.file_type() == FileType::Video
    }

    pub(crate) fn alt_text(&self) -> Option<&AltText> {
        self.attachment.alt_text.as_ref()
    }

    pub(crate) fn mime_type(&self) -> MimeType {
        self.picture.as_ref().map_or(self.attachment.mime_type, |it| it.mime_type)
    }

    pub(crate) fn size_bytes(&self) -> u64 {
        self.picture.as_ref().map_or(self.attachment.size_bytes, |it| it.bytes.len() as u64)
    }

    pub(crate) async fn open(&self, request: &PublishRequest<'_>) -> Result<MediaBytes, CallError> {
        match &self.picture {
            Some(picture) => {
                let bytes = picture.bytes.clone();
                Ok(stream::once(async { Ok(bytes) }).boxed())
            }
            None => Ok(request.files.open(self.attachment).await?),
        }
    }
}

pub(crate) enum UploadStep<U> {
    Uploaded(U),
    Parts(UploadState),
    /// The platform processes it: [`PublishAdapter::upload_status`] is called next, after this pause where it names one.
    Processing(UploadState, Option<TimeDelta>),
    /// The platform does not accept it; the reason, for the user.
    Refused(String),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct UploadState {
    pub(crate) id: String,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(crate) extra: Value,
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<DateTime<Utc>>,
    /// The platform's response for each part that has arrived, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) part_tags: Vec<String>,
    /// The size of all parts but the last; 0 where the file is not sent in parts.
    #[serde(default)]
    part_bytes: u64,
    /// The number of parts, where the publish call sends the rest of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first_parts: Option<u64>,
    #[serde(default)]
    finish_attempts: u32,
    #[serde(default)]
    is_finished: bool,
    #[serde(default)]
    status_reads: u32,
}

impl UploadState {
    pub(crate) fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            extra: Value::Null,
            expires_at: None,
            part_tags: Vec::new(),
            part_bytes: 0,
            first_parts: None,
            finish_attempts: 0,
            is_finished: true,
            status_reads: 0,
        }
    }

    pub(crate) fn in_parts(id: impl Into<String>, part_bytes: u64) -> Self {
        Self { part_bytes: part_bytes.max(1), is_finished: false, ..Self::new(id) }
    }

    /// An upload of this many parts of this size, one after another. The publish call sends the rest of the file.
    pub(crate) fn in_first_parts(id: impl Into<String>, part_bytes: u64, parts: u64) -> Self {
        Self { first_parts: Some(parts), ..Self::in_parts(id, part_bytes) }
    }

    #[must_use]
    pub(crate) fn with_extra(self, extra: Value) -> Self {
        Self { extra, ..self }
    }

    #[must_use]
    pub(crate) fn expires_at(self, expires_at: Option<DateTime<Utc>>) -> Self {
        Self { expires_at, ..self }
    }

    fn part_count(&self, size_bytes: u64) -> u64 {
        let of_file = || if self.part_bytes == 0 { 0 } else { size_bytes.div_ceil(self.part_bytes) };
        self.first_parts.unwrap_or_else(of_file)
    }

    fn sent(&self) -> u64 {
        self.part_tags.len() as u64
    }

    fn pause(&self) -> TimeDelta {
        (FIRST_PAUSE * (1 << self.status_reads.min(3))).min(LONGEST_PAUSE)
    }
}

pub(crate) struct Part {
    pub(crate) index: u64,
    pub(crate) range: Range<u64>,
    pub(crate) bytes: MediaBytes,
}

pub(super) enum Progressed<U> {
    Uploaded(U),
    At(UploadState, DateTime<Utc>),
}

pub(super) async fn step<A: PublishAdapter>(
    adapter: &A,
    request: &PublishRequest<'_>,
    file: &File<'_>,
    state: Option<UploadState>,
) -> Result<Progressed<A::Uploaded>, AttemptError> {
    let Some(mut state) = state else {
        return advance(request, adapter.upload(request, file).await?);
    };
    let is_complete = state.part_count(file.size_bytes()) <= state.sent();
    if !(is_complete && state.is_finished) && state.expires_at.is_some_and(|it| it <= request.now) {
        return Err(AttemptError::PreparationExpired { reason: "the upload of the file has expired".to_owned() });
    }
    if !is_complete {
        send_parts(adapter, request, file, &mut state).await?;
        return Ok(Progressed::At(state, request.now));
    }
    if !state.is_finished {
        return finish(adapter, request, file, state).await;
    }
    if MAX_STATUS_READS <= state.status_reads {
        return Err(AttemptError::PreparationExpired {
            reason: format!("{} did not process the file in time", A::TITLE),
        });
    }
    state.status_reads += 1;
    advance(request, adapter.upload_status(request, file, &state).await?)
}

fn advance<U>(request: &PublishRequest<'_>, step: UploadStep<U>) -> Result<Progressed<U>, AttemptError> {
    Ok(match step {
        UploadStep::Uploaded(uploaded) => Progressed::Uploaded(uploaded),
        UploadStep::Parts(state) => Progressed::At(state, request.now),
        UploadStep::Processing(state, pause) => {
            let at = request.now + pause.unwrap_or_else(|| state.pause()).max(TimeDelta::seconds(1));
            Progressed::At(state, at)
        }
        UploadStep::Refused(reason) => return Err(AttemptError::Refused { reason }),
    })
}

/// Keeps what arrived before the first part that failed.
async fn send_parts<A: PublishAdapter>(
    adapter: &A,
    request: &PublishRequest<'_>,
    file: &File<'_>,
    state: &mut UploadState,
) -> Result<(), AttemptError> {
    let size_bytes = file.size_bytes();
    let parts_per_step = if state.first_parts.is_some() { 1 } else { (STEP_BYTES / state.part_bytes).max(1) };
    let next = state.sent()..state.part_count(size_bytes).min(state.sent() + parts_per_step);
    let (part_bytes, sent_state) = (state.part_bytes, &*state);
    let send = |index: u64| async move {
        let range = index * part_bytes..size_bytes.min((index + 1) * part_bytes);
        let bytes = request.files.open_range(file.attachment, range.clone()).await?;
        adapter.send_part(request, file, sent_state, Part { index, range, bytes }).await
    };
    let deadline = Instant::now() + BEGIN_PARTS_FOR;
    let begun = stream::iter(next).take_while(|_| ready(Instant::now() < deadline));
    // All are awaited, so that the failure of one does not cut off another.
    let results: Vec<_> = begun.map(send).buffered(PARALLEL_PARTS).collect().await;
    let mut arrived = Vec::new();
    for tag in results {
        match tag {
            Ok(tag) => arrived.push(tag),
            Err(_) if !arrived.is_empty() => break,
            Err(error) => return Err(error.into()),
        }
    }
    state.part_tags.extend(arrived);
    Ok(())
}

/// A lost response is remembered: if the repeated finish is refused, the first one was accepted.
async fn finish<A: PublishAdapter>(
    adapter: &A,
    request: &PublishRequest<'_>,
    file: &File<'_>,
    mut state: UploadState,
) -> Result<Progressed<A::Uploaded>, AttemptError> {
    match adapter.finish_upload(request, file, &state).await {
        Ok(step) => advance(request, finished(step)),
        Err(error) if is_outcome_unknown(&error) && state.finish_attempts < MAX_QUICK_FINISHES => {
            state.finish_attempts = state.finish_attempts.saturating_add(1);
            Ok(Progressed::At(state, request.now + FINISH_AGAIN))
        }
        Err(error) if 0 < state.finish_attempts && is_refused(&error) => {
            state.is_finished = true;
            Ok(Progressed::At(state, request.now))
        }
        Err(error) => Err(error.into()),
    }
}

fn finished<U>(step: UploadStep<U>) -> UploadStep<U> {
    let finished = |state| UploadState { is_finished: true, ..state };
    match step {
        UploadStep::Processing(state, pause) => UploadStep::Processing(finished(state), pause),
        UploadStep::Parts(state) => UploadStep::Processing(finished(state), None),
        other @ (UploadStep::Uploaded(_) | UploadStep::Refused(_)) => other,
    }
}

fn is_outcome_unknown(error: &CallError) -> bool {
    matches!(error.kind, ErrorKind::NoResponse | ErrorKind::ServerError | ErrorKind::Intermediary)
}

/// Whether the platform refused the call itself, as it refuses a repeated one.
fn is_refused(error: &CallError) -> bool {
    let statuses = [StatusCode::BAD_REQUEST, StatusCode::CONFLICT, StatusCode::UNPROCESSABLE_ENTITY];
    error.kind == ErrorKind::InvalidPost && error.status.is_some_and(|it| statuses.contains(&it))
}
