//! Pins, and the videos that are uploaded for them.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, Query, Request, State};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, TimeDelta, Utc};
use domain::media::{FileType, MimeType};
use futures::future::try_join_all;
use http::{HeaderMap, StatusCode, header};
use serde_json::{Map, Value, json};

use super::{ApiError, ApiResult, BOARD, Created, Fake, Memory, Paging, USERNAME, invalid, page, refusal};
use crate::fake::params::{essence, parts};
use crate::meta::fetched::fetch;

const PROCESSING: TimeDelta = TimeDelta::seconds(12);

const MAX_IMAGE_BYTES: usize = 20_000_000;

/// The fields of `PinCreate` in the API description.
const PIN_FIELDS: &str = "alt_text board_id board_section_id description dominant_color is_removable link media_source \
                          note parent_pin_id title";

#[derive(Clone, Debug, Default)]
pub(super) struct Pin {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) description: String,
    pub(super) link: String,
    pub(super) alt_text: Option<String>,
    pub(super) files: Vec<(MimeType, Vec<u8>)>,
    pub(super) request: Value,
    pub(super) at: DateTime<Utc>,
}

impl Pin {
    /// `created_at` has no time zone. Empty texts are null.
    fn json(&self) -> Value {
        let text = |it: &str| if it.is_empty() { Value::Null } else { it.into() };
        let media_type = match self.files.as_slice() {
            [(mime_type, _)] if mime_type.file_type() == FileType::Video => "video",
            [_] => "image",
            _ => "multiple_images",
        };
        json!({
            "id": self.id, "created_at": self.at.format("%Y-%m-%dT%H:%M:%S").to_string(), "board_id": BOARD,
            "title": text(&self.title), "description": text(&self.description), "link": text(&self.link),
            "alt_text": self.alt_text, "creative_type": "REGULAR", "is_owner": true, "is_standard": false,
            "board_owner": { "username": USERNAME }, "media": { "media_type": media_type },
        })
    }
}

#[derive(Clone, Debug)]
pub(super) struct Media {
    /// The fields of the upload form.
    parameters: BTreeMap<String, String>,
    /// Upload time, type and content.
    stored: Option<(DateTime<Utc>, MimeType, Vec<u8>)>,
}

impl Media {
    fn status(&self, now: DateTime<Utc>, is_spoiled: bool) -> &'static str {
        match &self.stored {
            None => "registered",
            Some((at, ..)) if now < *at + PROCESSING => "processing",
            Some(_) if is_spoiled => "failed",
            Some(_) => "succeeded",
        }
    }
}

impl Memory {
    pub(super) fn add(&mut self, pin: Pin) -> Pin {
        let pin = Pin { id: self.next_id(), ..pin };
        self.pins.push(pin.clone());
        pin
    }
}

/// `POST /v5/pins`
pub(super) async fn create(State(fake): State<Arc<Fake>>, headers: HeaderMap, body: Bytes) -> Created {
    fake.accept(&headers, "/v5/pins", &["boards:read", "boards:write", "pins:read", "pins:write"])?;
    let request = object(&headers, &body)?;
    if let Some(unknown) = request.keys().find(|it| !PIN_FIELDS.split(' ').any(|known| known == it.as_str())) {
        return Err(invalid(&format!("Additional properties are not allowed ('{unknown}' was unexpected)")));
    }
    let text = |name: &str, max: usize| match request.get(name) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) if text.chars().count() <= max => Ok(text.clone()),
        Some(_) => Err(invalid(&format!("{name}: a string of at most {max} characters"))),
    };
    let board = text("board_id", 30)?;
    if !board.bytes().all(|it| it.is_ascii_digit()) || board.is_empty() {
        return Err(invalid(&format!("'{board}' does not match '^\\\\d+$'")));
    }
    if board != BOARD {
        return Err(refusal(404, 40, "Board not found."));
    }
    let pin = Pin {
        title: text("title", 100)?,
        description: text("description", 800)?,
        link: text("link", 2_048)?,
        alt_text: Some(text("alt_text", 500)?).filter(|it| !it.is_empty()),
        files: files(&fake, request.get("media_source").unwrap_or(&Value::Null)).await?,
        request: Value::Object(request.clone()),
        at: fake.clock.now(),
        ..Pin::default()
    };
    Ok((StatusCode::CREATED, Json(fake.memory().add(pin).json())))
}

fn object(headers: &HeaderMap, body: &[u8]) -> Result<Map<String, Value>, ApiError> {
    let object = serde_json::from_slice(body).ok().filter(|_| essence(headers) == "application/json");
    object.ok_or_else(|| invalid("The body has to be a JSON object."))
}

async fn files(here: &Fake, source: &Value) -> Result<Vec<(MimeType, Vec<u8>)>, ApiError> {
    let has_only = |value: &Value, names: &[&str]| {
        value.as_object().is_some_and(|it| it.keys().all(|it| names.contains(&it.as_str())))
    };
    let allows = |names: &[&str]| has_only(source, names);
    match source["source_type"].as_str() {
        Some("image_url") if allows(&["source_type", "url", "is_standard"]) => {
            Ok(vec![fetch_image(&source["url"]).await?])
        }
        Some("multiple_image_urls") if allows(&["source_type", "items", "index"]) => {
            let items = source["items"].as_array().map(Vec::as_slice).unwrap_or_default();
            if !(2..=5).contains(&items.len()) || !source["index"].is_u64() {
                return Err(invalid("items: minItems=2, maxItems=5"));
            }
            if !items.iter().all(|it| has_only(it, &["title", "description", "link", "url"])) {
                return Err(invalid("items: Additional properties are not allowed"));
            }
            try_join_all(items.iter().map(|it| fetch_image(&it["url"]))).await
        }
        // Of the three kinds of covers, only a frame of the video.
        Some("video_id") if allows(&["source_type", "media_id", "cover_image_key_frame_time"]) => {
            if !source["cover_image_key_frame_time"].is_u64() {
                return Err(invalid("A cover image is required for a video."));
            }
            let memory = here.memory();
            let media = source["media_id"].as_str().and_then(|it| memory.media.get(it));
            let media = media.filter(|it| it.status(here.clock.now(), memory.spoils) == "succeeded");
            let stored = media.and_then(|it| it.stored.clone());
            let (_, mime_type, bytes) = stored.ok_or_else(|| invalid("The video is not ready."))?;
            Ok(vec![(mime_type, bytes)])
        }
        _ => Err(invalid("media_source: does not match any of the allowed types")),
    }
}

async fn fetch_image(url: &Value) -> Result<(MimeType, Vec<u8>), ApiError> {
    let unreachable = || invalid("Sorry! We were unable to reach the URL.");
    let file = fetch(url.as_str().unwrap_or_default(), &[]).await.map_err(|_| unreachable())?;
    if file.mime_type.file_type() != FileType::Image || MAX_IMAGE_BYTES < file.bytes.len() {
        return Err(invalid("The image could not be used."));
    }
    Ok((file.mime_type, file.bytes))
}

/// `GET /v5/boards/{board_id}/pins`, newest first.
pub(super) async fn list(
    State(fake): State<Arc<Fake>>,
    Path(board): Path<String>,
    Query(query): Paging,
    headers: HeaderMap,
) -> ApiResult {
    fake.accept(&headers, "/v5/boards/", &["boards:read", "pins:read"])?;
    if board != BOARD {
        return Err(refusal(404, 40, "Board not found."));
    }
    let pins: Vec<_> = fake.memory().pins.iter().rev().map(Pin::json).collect();
    page(&query, 250, &pins)
}

/// `POST /v5/media`
pub(super) async fn register(State(fake): State<Arc<Fake>>, headers: HeaderMap, body: Bytes) -> Created {
    fake.accept(&headers, "/v5/media", &["pins:read", "pins:write"])?;
    if Value::Object(object(&headers, &body)?) != json!({ "media_type": "video" }) {
        return Err(invalid("media_type: video"));
    }
    let mut memory = fake.memory();
    let upload_url = format!("{}/storage", fake.base_url());
    let id = memory.next_id();
    let names = "x-amz-date x-amz-signature x-amz-security-token x-amz-algorithm key policy x-amz-credential";
    let parameters = names.split(' ').map(|name| (name.to_owned(), format!("{name} of {id}")));
    let parameters = parameters.chain([("Content-Type".to_owned(), "multipart/form-data".to_owned())]);
    let media = Media { parameters: parameters.collect(), stored: None };
    let object = json!({ "media_id": id, "media_type": "video", "upload_url": upload_url,
        "upload_parameters": media.parameters });
    memory.media.insert(id, media);
    Ok((StatusCode::CREATED, Json(object)))
}

/// `GET /v5/media/{media_id}`
pub(super) async fn status(State(here): State<Arc<Fake>>, Path(id): Path<String>, headers: HeaderMap) -> ApiResult {
    here.accept(&headers, "/v5/media/", &["pins:read"])?;
    let memory = here.memory();
    let media = memory.media.get(&id).ok_or_else(|| refusal(404, 50, "Media not found."))?;
    let status = media.status(here.clock.now(), memory.spoils);
    Ok(Json(json!({ "media_id": id, "media_type": "video", "status": status })))
}

/// The form POST of S3: every signed field, the file last, with a content length and without a token.
pub(super) async fn store(State(fake): State<Arc<Fake>>, request: Request) -> Response {
    let refused =
        |status: StatusCode, code: &str| (status, format!("<Error><Code>{code}</Code></Error>")).into_response();
    if request.headers().contains_key(header::AUTHORIZATION) {
        return refused(StatusCode::BAD_REQUEST, "InvalidArgument");
    }
    if !request.headers().contains_key(header::CONTENT_LENGTH) {
        return refused(StatusCode::LENGTH_REQUIRED, "MissingContentLength");
    }
    let Ok(mut parts) = parts(request).await else {
        return refused(StatusCode::BAD_REQUEST, "MalformedPOSTRequest");
    };
    let file = parts.pop().filter(|it| it.name == "file");
    let fields = parts.iter().map(|it| (it.name.clone(), it.text())).collect();
    let (now, mut memory) = (fake.clock.now(), fake.memory());
    let media = memory.media.values_mut().find(|it| it.parameters == fields);
    let (Some(media), Some(file)) = (media, file) else { return refused(StatusCode::FORBIDDEN, "AccessDenied") };
    let Some(mime_type) = MimeType::sniff(&file.bytes) else {
        return refused(StatusCode::BAD_REQUEST, "InvalidArgument");
    };
    media.stored = Some((now, mime_type, file.bytes.to_vec()));
    StatusCode::NO_CONTENT.into_response()
}
