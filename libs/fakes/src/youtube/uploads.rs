//! Uploads: sessions that receive a video in parts, and thumbnails.

use axum::Json;
use axum::response::IntoResponse;
use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::America::Los_Angeles;
use domain::media::MimeType;
use http::{HeaderMap, StatusCode, header};
use serde_json::{Value, json};

use super::Fake;
use super::api::{ApiCall, ApiResult, error};
use super::videos::{defaults, written};
use crate::fake::oauth::secret;
use crate::fake::params::essence;

/// How many uploads a project may begin on a day in Pacific time. Calls that are refused count, too.
const UPLOADS_PER_DAY: u32 = 100;

const MAX_BYTES: usize = 256 << 30;
const MAX_THUMBNAIL_BYTES: usize = 2 << 20;

/// The size of a part is a multiple of this.
const UNIT: usize = 256 << 10;

/// How long a session lives; not documented for YouTube, but for Google's other uploads.
const LIVES: TimeDelta = TimeDelta::days(7);

pub(super) struct Session {
    parts: Value,
    mime_type: String,
    size: usize,
    bytes: Vec<u8>,
    /// The id of the video that it has made.
    video: Option<String>,
    begun_at: DateTime<Utc>,
    notifies: bool,
}

/// `POST /upload/youtube/v3/videos`: begins a session.
pub(super) fn start(fake: &Fake, call: &ApiCall) -> ApiResult {
    let (begun_at, mut memory) = (fake.clock.now(), fake.memory());
    let today = begun_at.with_timezone(&Los_Angeles).date_naive();
    memory.uploads = (today, if memory.uploads.0 == today { memory.uploads.1 + 1 } else { 1 });
    if UPLOADS_PER_DAY < memory.uploads.1 {
        let message = "Quota exceeded for quota metric 'Video Uploads' and limit 'Video Uploads per day' of service \
            'youtube.googleapis.com' for consumer 'project_number:549755885170'.";
        return Err(error(429, "global", "rateLimitExceeded", message));
    }
    let mime_type = call.header("x-upload-content-type").unwrap_or_default().to_owned();
    let is_video = mime_type.starts_with("video/") || mime_type == "application/octet-stream";
    let size = call.header("x-upload-content-length").and_then(|it| it.parse().ok()).unwrap_or_default();
    if call.required("uploadType")? != "resumable" || !is_video || !(1..=MAX_BYTES).contains(&size) {
        return Err(error(400, "global", "badContent", "A resumable upload of a video, with its size, is expected."));
    }
    let parts = written(call, defaults(), defaults())?;
    let (upload_id, bytes, video) = (secret(), Vec::new(), None);
    let location = format!("{}{}&upload_id={upload_id}", fake.base_url(), call.uri);
    let notifies = call.query.get("notifySubscribers").is_none_or(|it| it == "true");
    memory.sessions.insert(upload_id, Session { parts, mime_type, size, bytes, video, begun_at, notifies });
    Ok([(header::LOCATION, location)].into_response())
}

/// `PUT` of a session's URI: a part, or a probe without a body.
pub(super) fn receive(fake: &Fake, call: &ApiCall) -> ApiResult {
    let (now, mut memory, upload_id) = (fake.clock.now(), fake.memory(), call.required("upload_id")?);
    let (stores_little, length) = (memory.stores_little, call.body.len());
    let session = memory.sessions.get_mut(upload_id).filter(|it| now < it.begun_at + LIVES);
    let session = session.ok_or_else(|| error(404, "global", "notFound", "Not Found"))?;
    let (stored, size) = (session.bytes.len(), session.size);
    let whole = format!("bytes 0-{}/{size}", size - 1);
    let range = call.header("content-range").unwrap_or(&whole);
    if range != format!("bytes */{size}") || length != 0 {
        let end = stored + length;
        let is_next = length != 0 && end <= size && range == format!("bytes {stored}-{}/{size}", end - 1);
        if !is_next || essence(&call.headers) != session.mime_type || end != size && !length.is_multiple_of(UNIT) {
            let rule = "multiple of 262144, except for the final request";
            let message = format!("Invalid request. The next part begins at {stored}, and its size is a {rule}.");
            return Err(error(400, "global", "badRequest", &message));
        }
        session.bytes.extend_from_slice(&call.body[..if stores_little { UNIT.min(length) } else { length }]);
    }
    if session.bytes.len() < size {
        let last = session.bytes.len().checked_sub(1).map(|it| (header::RANGE, format!("bytes=0-{it}")));
        let headers: HeaderMap = last.into_iter().map(|(name, it)| (name, it.parse().unwrap())).collect();
        return Ok((StatusCode::PERMANENT_REDIRECT, headers).into_response());
    }
    let status = if session.video.is_some() { StatusCode::OK } else { StatusCode::CREATED };
    let (parts, bytes, made) = (session.parts.clone(), session.bytes.clone(), session.video.clone());
    let notifies = session.notifies;
    let id = made.unwrap_or_else(|| {
        let video = memory.add(parts, bytes, now);
        video.notifies = notifies;
        video.id.clone()
    });
    memory.sessions.get_mut(upload_id).unwrap().video = Some(id.clone());
    Ok((status, Json(memory.video(&id)?.resource(call, now))).into_response())
}

/// `POST /upload/youtube/v3/thumbnails/set`
pub(super) fn set_thumbnail(fake: &Fake, call: &ApiCall) -> ApiResult {
    let mut memory = fake.memory();
    let video = memory.video(call.required("videoId")?)?;
    let mime_type = MimeType::sniff(&call.body).filter(|it| [MimeType::Jpeg, MimeType::Png].contains(it));
    let is_image = mime_type.is_some_and(|it| essence(&call.headers) == it.as_str());
    if call.required("uploadType")? != "media" || !is_image || MAX_THUMBNAIL_BYTES < call.body.len() {
        return Err(error(400, "youtube.thumbnail", "invalidImage", "The provided image content is invalid."));
    }
    video.thumbnail = Some(call.body.to_vec());
    let items = json!([{ "default": { "url": format!("https://i.ytimg.com/vi/{}/default.jpg", video.id) } }]);
    Ok(Json(json!({ "kind": "youtube#thumbnailSetResponse", "etag": video.id, "items": items })).into_response())
}
