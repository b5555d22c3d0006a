//! The upload of a video as private, in parts.
//!
//! Source: "Resumable Uploads" of the YouTube Data API. Before each part, the session is asked how much it has: a lost
//! response then costs no second part, and a part that arrived by half is continued.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use http::header::{CONTENT_LENGTH, CONTENT_RANGE, LOCATION, RANGE};
use http::{HeaderName, Method, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use url::Url;

use super::{
    CATEGORY, CREATIVE_COMMONS, DEFAULT_CATEGORY, EMBEDDABLE, LANGUAGE, LICENSE, MADE_FOR_KIDS, MAX_DESCRIPTION_BYTES,
    MAX_TITLE, NOTIFY, PRIVATE, Page, SYNTHETIC, TAGS, VIDEO_TITLE, YouTube, is_id,
};
use crate::kit::{ApiResponse, Auth, Call, CallError, Effect, ErrorKind, File, Part, UploadState, UploadStep};
use crate::publish_request::PublishRequest;

/// A multiple of 256 KiB, as YouTube demands, and as much as one step sends, so that parts follow one another.
const PART_BYTES: u64 = 24 << 20;

/// With the call before it, less than a step may take.
const PART_TIMEOUT: Duration = Duration::from_secs(27);

/// Sessions end after about a week.
const SESSION_LIFE: TimeDelta = TimeDelta::days(6);

/// How long after its upload a video may be missing in lists.
const LIST_LAG: TimeDelta = TimeDelta::minutes(5);

/// The pause between two reads of the status. Each read costs quota, which all accounts share.
const STATUS_PAUSE: TimeDelta = TimeDelta::minutes(1);

const UPLOAD_TYPE: HeaderName = HeaderName::from_static("x-upload-content-type");
const UPLOAD_LENGTH: HeaderName = HeaderName::from_static("x-upload-content-length");

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Uploaded {
    Video {
        id: String,
    },
    /// The image, which is sent once the video is published.
    Thumbnail,
}

#[derive(Deserialize)]
pub(super) struct Video {
    pub(super) id: String,
    pub(super) status: VideoStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct VideoStatus {
    pub(super) privacy_status: String,
    upload_status: Option<String>,
    failure_reason: Option<String>,
    rejection_reason: Option<String>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

impl VideoStatus {
    /// Why the video cannot be watched, even if it is public.
    pub(super) fn refusal(&self) -> Option<String> {
        let what = match self.upload_status.as_deref()? {
            "failed" => "could not process",
            "rejected" => "rejected",
            _ => return None,
        };
        let reason = self.failure_reason.as_deref().or(self.rejection_reason.as_deref());
        Some(format!("YouTube {what} the video: {}", reason.unwrap_or("it gives no reason")))
    }
}

enum Received {
    Bytes(u64),
    /// Everything: the id of the video.
    Video(String),
}

impl YouTube {
    pub(super) async fn begin_upload(
        &self,
        request: &PublishRequest<'_>,
        file: &File<'_>,
    ) -> Result<UploadStep<Uploaded>, CallError> {
        if !file.is_video() {
            return Ok(UploadStep::Uploaded(Uploaded::Thumbnail));
        }
        let notifies = request.options.flag(NOTIFY).unwrap_or(true);
        let call = self.api.post(Auth::post(request), &["upload", "youtube", "v3", "videos"]).effect(Effect::Private);
        let call = call.query(&[("uploadType", "resumable"), ("part", "snippet,status")]);
        let call = call.query(&[("notifySubscribers", notifies)]).header(UPLOAD_TYPE, file.mime_type().as_str());
        let call = call.header(UPLOAD_LENGTH, file.size_bytes().to_string());
        let body = json!({ "snippet": snippet(request), "status": status(request, PRIVATE) });
        let response = call.json(&body).response().await?;
        let session = response.headers.get(LOCATION).and_then(|it| it.to_str().ok());
        let session =
            session.filter(|it| Url::parse(it).is_ok()).ok_or_else(|| self.api.unreadable(Effect::Private))?;
        Ok(UploadStep::Parts(UploadState::in_parts(session, PART_BYTES).expires_at(Some(request.now + SESSION_LIFE))))
    }

    /// Returns the id of the video for the last part.
    pub(super) async fn send_part_of_video(
        &self,
        request: &PublishRequest<'_>,
        file: &File<'_>,
        state: &UploadState,
        part: Part,
    ) -> Result<String, CallError> {
        let total = file.size_bytes();
        let stored = match self.ask_session(request, state, total).await? {
            Received::Video(id) => return Ok(id),
            Received::Bytes(stored) => stored,
        };
        let Part { range, bytes, .. } = part;
        if range.end <= stored && range.end < total {
            return Ok(String::new());
        }
        if !range.contains(&stored) {
            let message = "YouTube does not have the part of the video that it confirmed";
            return Err(CallError::new(ErrorKind::PreparationExpired, Effect::Private, message));
        }
        let bytes = if stored == range.start {
            bytes
        } else {
            request.files.open_range(file.attachment, stored..range.end).await?
        };
        let call = self.session_call(request, state)?.timeout(PART_TIMEOUT);
        let call = call.header(CONTENT_RANGE, format!("bytes {stored}-{}/{total}", range.end - 1));
        let response = call.file(file.mime_type(), range.end - stored, bytes).response().await;
        match self.received(response)? {
            Received::Video(id) => Ok(id),
            Received::Bytes(stored) if range.end <= stored && range.end < total => Ok(String::new()),
            Received::Bytes(_) => {
                let message = "YouTube stored only a part of what was sent";
                Err(CallError::new(ErrorKind::NotSent, Effect::Private, message))
            }
        }
    }

    pub(super) fn finish_video(
        &self,
        request: &PublishRequest<'_>,
        state: &UploadState,
    ) -> Result<UploadStep<Uploaded>, CallError> {
        let id = state.part_tags.last().filter(|it| is_id(it)).ok_or_else(|| self.api.unreadable(Effect::Private))?;
        Ok(UploadStep::Processing(UploadState::new(id).with_extra(json!(request.now)), None))
    }

    /// A video can be published before it is processed, so it never makes a post late.
    pub(super) async fn processing_status(
        &self,
        request: &PublishRequest<'_>,
        state: &UploadState,
    ) -> Result<UploadStep<Uploaded>, CallError> {
        let Some(Video { status, .. }) = self.video(Auth::post(request), &state.id, "status,processingDetails").await?
        else {
            let uploaded_at = serde_json::from_value::<DateTime<Utc>>(state.extra.clone());
            return Ok(if uploaded_at.is_ok_and(|it| request.now < it + LIST_LAG) {
                UploadStep::Processing(state.clone(), None)
            } else {
                UploadStep::Refused("the uploaded video was deleted from the channel".to_owned())
            });
        };
        if let Some(reason) = status.refusal() {
            return Ok(UploadStep::Refused(reason));
        }
        let remaining = request.publish_at - request.now;
        Ok(if status.upload_status.as_deref() == Some("uploaded") && TimeDelta::zero() < remaining {
            UploadStep::Processing(state.clone(), Some(STATUS_PAUSE.min(remaining)))
        } else {
            UploadStep::Uploaded(Uploaded::Video { id: state.id.clone() })
        })
    }

    /// `None` if the video does not exist.
    pub(super) async fn video(&self, auth: Auth<'_>, id: &str, part: &str) -> Result<Option<Video>, CallError> {
        let call = self.api.get(auth, &["youtube", "v3", "videos"]).query(&[("part", part), ("id", id)]);
        let page: Page<Video> = call.read().await?;
        Ok(page.items.into_iter().find(|it| it.id == id))
    }

    async fn ask_session(
        &self,
        request: &PublishRequest<'_>,
        state: &UploadState,
        total: u64,
    ) -> Result<Received, CallError> {
        let call = self.session_call(request, state)?.header(CONTENT_RANGE, format!("bytes */{total}"));
        let response = call.header(CONTENT_LENGTH, "0").response().await;
        self.received(response)
    }

    fn session_call(&self, request: &PublishRequest<'_>, state: &UploadState) -> Result<Call, CallError> {
        let session = Url::parse(&state.id).map_err(|_| self.api.unreadable(Effect::Private))?;
        Ok(self.api.upload_to(Auth::post(request), Method::PUT, session).accept(StatusCode::PERMANENT_REDIRECT))
    }

    /// An incomplete upload is answered with 308, and `Range: bytes=0-1023` for the first 1,024 bytes.
    fn received(&self, response: Result<ApiResponse, CallError>) -> Result<Received, CallError> {
        // Such a response has no JSON.
        let is_gone = |it: &CallError| matches!(it.status, Some(StatusCode::NOT_FOUND | StatusCode::GONE));
        let response = response.map_err(|mut error| {
            if is_gone(&error) {
                error.kind = ErrorKind::PreparationExpired;
            }
            error
        })?;
        let unreadable = || self.api.unreadable(Effect::Private);
        if response.status != StatusCode::PERMANENT_REDIRECT {
            let Video { id, .. } = serde_json::from_slice(&response.body).map_err(|_| unreadable())?;
            return if is_id(&id) { Ok(Received::Video(id)) } else { Err(unreadable()) };
        }
        let Some(range) = response.headers.get(RANGE) else { return Ok(Received::Bytes(0)) };
        let last = range.to_str().ok().and_then(|it| it.strip_prefix("bytes=0-")).and_then(|it| it.parse::<u64>().ok());
        last.map(|it| Received::Bytes(it.saturating_add(1))).ok_or_else(unreadable)
    }
}

fn snippet(request: &PublishRequest<'_>) -> Value {
    let options = request.options;
    let mut snippet = json!({
        "title": title(request),
        "description": description(request.text),
        "categoryId": options.text(CATEGORY).unwrap_or(DEFAULT_CATEGORY),
    });
    if !options.list(TAGS).is_empty() {
        snippet["tags"] = options.list(TAGS).into();
    }
    if let Some(language) = options.text(LANGUAGE) {
        snippet["defaultLanguage"] = language.into();
        snippet["defaultAudioLanguage"] = language.into();
    }
    snippet
}

/// The part `status` that publishes a video. What a person has changed since the upload stays.
pub(super) fn published_status(request: &PublishRequest<'_>, visibility: &str, current: Option<&VideoStatus>) -> Value {
    let mut status = status(request, visibility);
    for (name, value) in status.as_object_mut().into_iter().flatten() {
        if let Some(current) = current.and_then(|it| it.others.get(name)) {
            value.clone_from(current);
        }
    }
    status
}

/// The whole part `status`: an update turns off what it leaves out.
fn status(request: &PublishRequest<'_>, visibility: &str) -> Value {
    let options = request.options;
    let license = if options.text(LICENSE) == Some(CREATIVE_COMMONS) { "creativeCommon" } else { "youtube" };
    json!({
        "privacyStatus": visibility,
        "selfDeclaredMadeForKids": options.flag(MADE_FOR_KIDS).unwrap_or(false),
        "containsSyntheticMedia": options.flag(SYNTHETIC).unwrap_or(false),
        "embeddable": options.flag(EMBEDDABLE).unwrap_or(true),
        "publicStatsViewable": true,
        "license": license,
    })
}

/// The title option, or the first line of the text without the characters that YouTube refuses.
fn title(request: &PublishRequest<'_>) -> String {
    let allowed = |line: &str| line.replace(['<', '>'], "").trim().to_owned();
    let first_line = || request.text.lines().map(allowed).find(|it| !it.is_empty());
    let title = request.options.text(VIDEO_TITLE).map(str::to_owned).or_else(first_line);
    let title = title.unwrap_or_else(|| "Video".to_owned());
    let mut units = 0;
    let fits = |it: &char| {
        units += it.len_utf16();
        units <= MAX_TITLE
    };
    title.chars().take_while(fits).collect::<String>().trim_end().to_owned()
}

/// YouTube refuses `<` and `>`. The similar characters have three bytes each, which may exceed the limit.
fn description(text: &str) -> String {
    let similar = text.replace('<', "‹").replace('>', "›");
    if similar.len() <= MAX_DESCRIPTION_BYTES { similar } else { text.replace(['<', '>'], "") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn description_has_no_angle_brackets_and_fits() {
        assert_eq!(description("1 < 2 > 0"), "1 ‹ 2 › 0");
        let full = format!("{}<>", "a".repeat(MAX_DESCRIPTION_BYTES - 2));
        assert_eq!(description(&full).len(), MAX_DESCRIPTION_BYTES - 2);
    }
}
