//! Files: uploaded at once or in parts, processed, described, and shown.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, Query, Request, State};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, TimeDelta, Utc};
use domain::media::MimeType;
use http::{HeaderMap, StatusCode, header};
use serde_json::{Map, Value, json};

use super::access::{MEDIA, PARTS, STATUS};
use super::api_error::ApiError;
use super::{Fake, Memory};
use crate::fake::params::{essence, parts};
use crate::fake::schema::{self, Fields, Integer, Object, Required, TEXT, Text};

/// The largest image, GIF and video: "5 MB", "15 MB", "512 MB". The documentation does not define
/// MB; one million bytes is the safe reading.
const MAX_PICTURE: u64 = 5_000_000;
const MAX_GIF: u64 = 15_000_000;
const MAX_VIDEO: u64 = 512_000_000;

/// The largest part in the guide and in working clients. Larger parts are unproven, and 5 MB got 413.
const MAX_PART: usize = 1 << 20;

/// The longest video of an account without a subscription, and the longest `tweet_video`.
const MAX_SECONDS: u32 = 140;

/// How long X keeps a file that is in no post.
const KEPT: TimeDelta = TimeDelta::hours(24);

/// Processing time of GIFs and videos, and the interval between polls.
const TAKES: TimeDelta = TimeDelta::seconds(7);
const LOOK_AFTER: TimeDelta = TimeDelta::seconds(3);

const UNSUPPORTED: &str = "Unsupported video format";

const UPLOAD: Fields = &[
    ("media_type", Required, TEXT),
    ("media_category", Required, TEXT),
    ("total_bytes", Required, Integer(1, MAX_VIDEO)),
];

const METADATA: Fields = &[
    ("id", Required, TEXT),
    ("metadata", Required, Object(&[("alt_text", Required, Object(&[("text", Required, Text(1, 1_000))]))])),
];

#[derive(Clone, Debug)]
pub(super) struct File {
    pub(super) key: String,
    category: Category,
    size: u64,
    parts: BTreeMap<u16, Bytes>,
    /// When the file is ready; `None` before `finalize`.
    ready_at: Option<DateTime<Utc>>,
    ends_at: DateTime<Utc>,
    spoiled: Option<&'static str>,
    pub(super) words: Option<String>,
    is_shown: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Category {
    Picture,
    Gif,
    Video,
    LongVideo,
}

impl Category {
    fn named(name: &str) -> Option<Self> {
        match name {
            "tweet_image" => Some(Self::Picture),
            "tweet_gif" => Some(Self::Gif),
            "tweet_video" => Some(Self::Video),
            "amplify_video" => Some(Self::LongVideo),
            _ => None,
        }
    }

    fn takes(self, mime_type: &str, size: u64) -> bool {
        let (max, types): (_, &[&str]) = match self {
            Self::Picture => (MAX_PICTURE, &["image/jpeg", "image/png", "image/webp"]),
            Self::Gif => (MAX_GIF, &["image/gif"]),
            Self::Video | Self::LongVideo => (MAX_VIDEO, &["video/mp4", "video/quicktime"]),
        };
        types.contains(&mime_type) && (1..=max).contains(&size)
    }
}

impl File {
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.parts.values().flat_map(|it| it.to_vec()).collect()
    }

    /// Duration in the video's movie header, in whole seconds.
    fn seconds(&self) -> u32 {
        let bytes = self.bytes();
        let Some(at) = bytes.windows(4).position(|it| it == b"mvhd") else { return 0 };
        let number = |offset: usize| {
            let number = bytes.get(at + offset..at + offset + 4).and_then(|it| it.try_into().ok());
            number.map_or(0, u32::from_be_bytes)
        };
        number(20).checked_div(number(16)).unwrap_or(0)
    }

    fn to_json(&self, id: &str, now: DateTime<Utc>) -> Value {
        let expires = (self.ends_at - now).num_seconds();
        let mut object = json!({ "id": id, "media_key": self.key, "size": self.size, "expires_after_secs": expires });
        if self.category != Category::Picture
            && let Some(ready_at) = self.ready_at
        {
            object["processing_info"] = if now < ready_at {
                json!({ "state": "in_progress", "check_after_secs": LOOK_AFTER.num_seconds(), "progress_percent": 50 })
            } else if let Some(why) = self.spoiled {
                json!({ "state": "failed", "error": { "code": 3, "name": "UnsupportedMedia", "message": why } })
            } else {
                json!({ "state": "succeeded", "progress_percent": 100 })
            };
        }
        json!({ "data": object })
    }
}

struct Form {
    fields: BTreeMap<String, String>,
    media: Bytes,
}

impl Form {
    async fn read(request: Request) -> Result<Self, ApiError> {
        if essence(request.headers()) != "multipart/form-data"
            || !request.headers().contains_key(header::CONTENT_LENGTH)
        {
            return Err(ApiError::invalid("multipart/form-data with a length expected"));
        }
        let parts = parts(request).await.map_err(|_| ApiError::invalid("The form is broken"))?;
        let (media, fields): (Vec<_>, Vec<_>) = parts.into_iter().partition(|it| it.name == "media");
        let fields = fields.iter().map(|it| (it.name.clone(), it.text())).collect();
        let media = media.into_iter().next_back().map(|it| it.bytes);
        let media = media.ok_or_else(|| ApiError::invalid("$.media: is missing but it is required"))?;
        Ok(Self { fields, media })
    }
}

/// `POST /2/media/upload`: an image.
pub(super) async fn whole(State(fake): State<Arc<Fake>>, request: Request) -> Result<Json<Value>, ApiError> {
    fake.accept(&request.headers().clone(), "/2/media/upload", &["media.write"], MEDIA)?;
    let Form { fields, media } = Form::read(request).await?;
    let mime_type = MimeType::sniff(&media).map_or("", |it| it.as_str());
    let is_picture = fields.len() == 1 && fields.get("media_category").is_some_and(|it| it == "tweet_image");
    if !is_picture || !Category::Picture.takes(mime_type, media.len() as u64) {
        return Err(ApiError::invalid("media type unrecognized, or too large"));
    }
    let now = fake.clock.now();
    let mut memory = fake.memory();
    let id = memory.add_file(Category::Picture, media.len() as u64, now);
    let file = memory.files.get_mut(&id).ok_or_else(ApiError::not_found)?;
    file.parts.insert(0, media);
    file.ready_at = Some(now);
    Ok(Json(file.to_json(&id, now)))
}

/// `POST /2/media/upload/initialize`
pub(super) async fn initialize(
    State(fake): State<Arc<Fake>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Value>, ApiError> {
    fake.accept(&headers, "/2/media/upload/initialize", &["media.write"], PARTS)?;
    let fields = schema::parse(&body, UPLOAD)?;
    let text = |name: &str| fields[name].as_str().unwrap_or_default();
    let category = Category::named(text("media_category")).ok_or_else(|| ApiError::invalid("$.media_category"))?;
    let size = fields["total_bytes"].as_u64().filter(|it| category.takes(text("media_type"), *it));
    let size = size.ok_or_else(|| ApiError::invalid("$.media_type, or $.total_bytes: File size exceeds the limit"))?;
    let now = fake.clock.now();
    let mut memory = fake.memory();
    let id = memory.add_file(category, size, now);
    let key = memory.files[&id].key.clone();
    Ok(Json(json!({ "data": { "id": id, "media_key": key, "expires_after_secs": KEPT.num_seconds() } })))
}

/// `POST /2/media/upload/{id}/append`
pub(super) async fn append(
    State(fake): State<Arc<Fake>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, ApiError> {
    fake.accept(&request.headers().clone(), "/2/media/upload/append", &["media.write"], PARTS)?;
    let Form { fields, media } = Form::read(request).await?;
    if MAX_PART < media.len() {
        return Err(ApiError::too_large());
    }
    let number = fields.get("segment_index").filter(|_| fields.len() == 1).and_then(|it| it.parse::<u16>().ok());
    let number = number.filter(|it| *it < 1_000).ok_or_else(|| ApiError::invalid("$.segment_index: 0 to 999"))?;
    let now = fake.clock.now();
    let mut memory = fake.memory();
    let file = memory.file(&id, now)?;
    if file.ready_at.is_some() {
        return Err(ApiError::invalid("The upload has ended"));
    }
    file.parts.insert(number, media);
    // `append` has a body in the API description, but not in X's playground and in tests of clients.
    if number % 2 == 1 {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    Ok(Json(json!({ "data": { "expires_at": file.ends_at.timestamp() } })).into_response())
}

/// `POST /2/media/upload/{id}/finalize`
pub(super) async fn finalize(
    State(fake): State<Arc<Fake>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Value>, ApiError> {
    fake.accept(&headers, "/2/media/upload/finalize", &["media.write"], PARTS)?;
    let is_object = serde_json::from_slice::<Map<String, Value>>(&body).is_ok();
    if essence(&headers) != "application/json" || !is_object {
        return Err(ApiError::invalid("Request body must be a JSON object."));
    }
    let now = fake.clock.now();
    let mut memory = fake.memory();
    let spoils = memory.spoils;
    let file = memory.file(&id, now)?;
    let arrived: u64 = file.parts.values().map(|it| it.len() as u64).sum();
    let is_in_order = file.parts.keys().enumerate().all(|(at, number)| at == usize::from(*number));
    if file.ready_at.is_some() || arrived != file.size || !is_in_order {
        return Err(ApiError::invalid("Not all of it is there, or it was ended before"));
    }
    let is_video = MimeType::sniff(&file.bytes()).is_some_and(|it| it.as_str() == "video/mp4" || it == MimeType::Gif);
    file.spoiled = if spoils || !is_video {
        Some(UNSUPPORTED)
    } else if file.category == Category::Video && MAX_SECONDS < file.seconds() {
        Some("exceeds max duration of 2.minutes+20.seconds")
    } else {
        None
    };
    file.ready_at = Some(now + TAKES);
    Ok(Json(file.to_json(&id, now)))
}

/// `GET /2/media/upload?command=STATUS`
pub(super) async fn status(
    State(fake): State<Arc<Fake>>,
    Query(asked): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> Result<Json<Value>, ApiError> {
    fake.accept(&headers, "/2/media/upload", &["media.write"], STATUS)?;
    let id = asked.get("media_id").filter(|_| asked.get("command").is_some_and(|it| it == "STATUS"));
    let id = id.ok_or_else(|| ApiError::invalid("The `command` query parameter value is not STATUS"))?;
    let now = fake.clock.now();
    let mut memory = fake.memory();
    let spoils = memory.spoils;
    let file = memory.file(id, now)?;
    if spoils {
        file.spoiled = Some(UNSUPPORTED);
    }
    Ok(Json(file.to_json(id, now)))
}

/// `POST /2/media/metadata`
pub(super) async fn describe(
    State(fake): State<Arc<Fake>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Value>, ApiError> {
    fake.accept(&headers, "/2/media/metadata", &["media.write"], MEDIA)?;
    let fields = schema::parse(&body, METADATA)?;
    let id = fields["id"].as_str().unwrap_or_default();
    let now = fake.clock.now();
    let mut memory = fake.memory();
    let file = memory.file(id, now)?;
    if matches!(file.category, Category::Video | Category::LongVideo) {
        return Err(ApiError::invalid("Videos have no alt text"));
    }
    file.words = fields["metadata"]["alt_text"]["text"].as_str().map(str::to_owned);
    Ok(Json(json!({ "data": { "id": id } })))
}

impl Memory {
    fn add_file(&mut self, category: Category, size: u64, now: DateTime<Utc>) -> String {
        let id = self.next().to_string();
        let kind = match category {
            Category::Picture => 3,
            Category::Gif => 16,
            Category::Video => 7,
            Category::LongVideo => 13,
        };
        let file = File {
            key: format!("{kind}_{id}"),
            category,
            size,
            parts: BTreeMap::new(),
            ready_at: None,
            ends_at: now + KEPT,
            spoiled: None,
            words: None,
            is_shown: false,
        };
        self.files.insert(id.clone(), file);
        id
    }

    fn file(&mut self, id: &str, now: DateTime<Utc>) -> Result<&mut File, ApiError> {
        let file = self.files.get_mut(id).filter(|it| it.is_shown || now < it.ends_at);
        file.ok_or_else(ApiError::not_found)
    }

    pub(super) fn show(&mut self, ids: &[String], now: DateTime<Utc>) -> Result<(), ApiError> {
        let pays = self.subscription != "None";
        let mut categories = Vec::new();
        for id in ids {
            let invalid = || ApiError::invalid("Your media IDs are invalid.");
            let file = self.file(id, now).map_err(|_| invalid())?;
            if file.ready_at.is_none_or(|it| now < it) || file.spoiled.is_some() {
                return Err(invalid());
            }
            if !pays && MAX_SECONDS < file.seconds() {
                return Err(ApiError::forbidden("This user is not allowed to post a video longer than 2 minutes"));
            }
            categories.push(file.category);
        }
        if 1 < categories.len() && categories.iter().any(|it| *it != Category::Picture) {
            return Err(ApiError::invalid("Tweets take 4 photos, or 1 GIF, or 1 video."));
        }
        for id in ids {
            if let Some(file) = self.files.get_mut(id) {
                file.is_shown = true;
            }
        }
        Ok(())
    }
}
