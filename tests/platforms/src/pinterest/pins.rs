//! Pins, and the videos that are uploaded for them.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{FromRequest, Multipart, Path, Query, Request, State};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, TimeDelta, Utc};
use domain::media::{FileType, MimeType};
use http::{HeaderMap, StatusCode, header};
use serde_json::{Map, Value, json};

use super::{BOARD, Here, Memory, Refusal, USERNAME, is_json, page_size};
use crate::meta::fetched::fetch;

/// How long a video is processed.
const PROCESSING: TimeDelta = TimeDelta::seconds(12);

const MAX_IMAGE_BYTES: usize = 20_000_000;

/// The fields of `PinCreate` in the description.
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
    /// `created_at` has no zone. Empty texts are null.
    fn json(&self) -> Value {
        let text = |it: &str| if it.is_empty() { Value::Null } else { it.into() };
        json!({
            "id": self.id, "created_at": self.at.format("%Y-%m-%dT%H:%M:%S").to_string(), "board_id": BOARD,
            "title": text(&self.title), "description": text(&self.description), "link": text(&self.link),
            "alt_text": self.alt_text, "creative_type": "REGULAR", "is_owner": true, "is_standard": false,
            "board_owner": { "username": USERNAME }, "media": { "media_type": "image" },
        })
    }
}

/// A registered video.
#[derive(Clone, Debug)]
pub(super) struct Media {
    key: String,
    /// With the time of its upload.
    stored: Option<(DateTime<Utc>, MimeType, Vec<u8>)>,
    is_spoilt: bool,
}

impl Media {
    fn status(&self, now: DateTime<Utc>) -> &'static str {
        match &self.stored {
            None => "registered",
            Some((at, ..)) if now < *at + PROCESSING => "processing",
            Some(_) if self.is_spoilt => "failed",
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
pub(super) async fn create(
    State(here): State<Arc<Here>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<(StatusCode, Json<Value>), Refusal> {
    here.accept(&headers, "/v5/pins", &["boards:read", "boards:write", "pins:read", "pins:write"])?;
    let request = object(&headers, &body)?;
    if let Some(unknown) = request.keys().find(|it| !PIN_FIELDS.split(' ').any(|known| known == it.as_str())) {
        return Err(Refusal::invalid(&format!("Additional properties are not allowed ('{unknown}' was unexpected)")));
    }
    let text = |name: &str, max: usize| match request.get(name) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) if text.chars().count() <= max => Ok(text.clone()),
        Some(_) => Err(Refusal::invalid(&format!("{name}: a string of at most {max} characters"))),
    };
    let board = text("board_id", 30)?;
    if !board.bytes().all(|it| it.is_ascii_digit()) || board.is_empty() {
        return Err(Refusal::invalid(&format!("'{board}' does not match '^\\\\d+$'")));
    }
    if board != BOARD {
        return Err(Refusal::new(404, 40, "Board not found."));
    }
    let pin = Pin {
        title: text("title", 100)?,
        description: text("description", 800)?,
        link: text("link", 2_048)?,
        alt_text: Some(text("alt_text", 500)?).filter(|it| !it.is_empty()),
        files: files(&here, request.get("media_source").unwrap_or(&Value::Null)).await?,
        request: Value::Object(request.clone()),
        at: here.clock.now(),
        ..Pin::default()
    };
    Ok((StatusCode::CREATED, Json(here.memory().add(pin).json())))
}

fn object(headers: &HeaderMap, body: &[u8]) -> Result<Map<String, Value>, Refusal> {
    let object = serde_json::from_slice(body).ok().filter(|_| is_json(headers));
    object.ok_or_else(|| Refusal::invalid("The body has to be a JSON object."))
}

/// The files of a `media_source`.
async fn files(here: &Here, source: &Value) -> Result<Vec<(MimeType, Vec<u8>)>, Refusal> {
    let allows = |names: &[&str]| source.as_object().is_some_and(|it| it.keys().all(|it| names.contains(&it.as_str())));
    match source["source_type"].as_str() {
        Some("image_url") if allows(&["source_type", "url", "is_standard"]) => Ok(vec![image(&source["url"]).await?]),
        Some("multiple_image_urls") if allows(&["source_type", "items", "index"]) => {
            let items = source["items"].as_array().map(Vec::as_slice).unwrap_or_default();
            if !(2..=5).contains(&items.len()) || !source["index"].is_u64() {
                return Err(Refusal::invalid("items: minItems=2, maxItems=5"));
            }
            let mut files = Vec::new();
            for item in items {
                files.push(image(&item["url"]).await?);
            }
            Ok(files)
        }
        Some("video_id") => {
            let covers = ["cover_image_url", "cover_image_data", "cover_image_key_frame_time"];
            if !covers.iter().any(|it| source.get(it).is_some()) {
                return Err(Refusal::invalid("A cover image is required for a video."));
            }
            if source.get(covers[2]).is_some_and(|it| !it.is_u64()) {
                return Err(Refusal::invalid("cover_image_key_frame_time: a number of seconds"));
            }
            let memory = here.memory();
            let media = source["media_id"].as_str().and_then(|it| memory.media.get(it));
            let media = media.filter(|it| it.status(here.clock.now()) == "succeeded");
            let stored = media.and_then(|it| it.stored.clone());
            let (_, mime_type, bytes) = stored.ok_or_else(|| Refusal::invalid("The video is not ready."))?;
            Ok(vec![(mime_type, bytes)])
        }
        _ => Err(Refusal::invalid("media_source: does not match any of the allowed types")),
    }
}

async fn image(url: &Value) -> Result<(MimeType, Vec<u8>), Refusal> {
    let unreachable = || Refusal::invalid("Sorry! We were unable to reach the URL.");
    let file = fetch(url.as_str().unwrap_or_default(), &[]).await.map_err(|_| unreachable())?;
    if file.mime_type.file_type() != FileType::Image || MAX_IMAGE_BYTES < file.bytes.len() {
        return Err(Refusal::invalid("The image could not be used."));
    }
    Ok((file.mime_type, file.bytes))
}

/// `GET /v5/boards/{board_id}/pins`
pub(super) async fn list(
    State(here): State<Arc<Here>>,
    Path(board): Path<String>,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> Result<Json<Value>, Refusal> {
    here.accept(&headers, "/v5/boards/", &["boards:read", "pins:read"])?;
    if board != BOARD {
        return Err(Refusal::new(404, 40, "Board not found."));
    }
    let (size, start) = (page_size(&query)?, query.get("bookmark").map_or(Some(0), |it| it.parse::<usize>().ok()));
    let start = start.ok_or_else(|| Refusal::invalid("Invalid bookmark."))?;
    let memory = here.memory();
    let items: Vec<_> = memory.pins.iter().rev().skip(start).take(size).map(Pin::json).collect();
    let next = start + items.len();
    let bookmark = (next < memory.pins.len()).then(|| next.to_string());
    Ok(Json(json!({ "items": items, "bookmark": bookmark })))
}

/// `POST /v5/media`
pub(super) async fn register(
    State(here): State<Arc<Here>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<(StatusCode, Json<Value>), Refusal> {
    here.accept(&headers, "/v5/media", &["pins:read", "pins:write"])?;
    if Value::Object(object(&headers, &body)?) != json!({ "media_type": "video" }) {
        return Err(Refusal::invalid("media_type: video"));
    }
    let upload_url = here.storage.lock().unwrap().clone();
    let mut memory = here.memory();
    let id = memory.next_id();
    let media = Media { key: format!("uploads/{id}"), stored: None, is_spoilt: memory.spoils };
    let parameters = json!({
        "x-amz-date": "20261124T000000Z", "x-amz-signature": "signature", "x-amz-security-token": "token",
        "x-amz-algorithm": "AWS4-HMAC-SHA256", "key": media.key, "policy": "policy", "x-amz-credential": "credential",
        "Content-Type": "multipart/form-data",
    });
    memory.media.insert(id.clone(), media);
    let media =
        json!({ "media_id": id, "media_type": "video", "upload_url": upload_url, "upload_parameters": parameters });
    Ok((StatusCode::CREATED, Json(media)))
}

/// `GET /v5/media/{media_id}`
pub(super) async fn status(
    State(here): State<Arc<Here>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Json<Value>, Refusal> {
    here.accept(&headers, "/v5/media/", &["pins:read"])?;
    let mut memory = here.memory();
    let spoils = memory.spoils;
    let media = memory.media.get_mut(&id).ok_or_else(|| Refusal::new(404, 50, "Media not found."))?;
    media.is_spoilt |= spoils;
    Ok(Json(json!({ "media_id": id, "media_type": "video", "status": media.status(here.clock.now()) })))
}

/// The form POST of S3: every signed field, the file last, with a length and without a token.
pub(super) async fn store(State(here): State<Arc<Here>>, request: Request) -> Response {
    let headers = request.headers();
    let refused =
        |status: StatusCode, code: &str| (status, format!("<Error><Code>{code}</Code></Error>")).into_response();
    if headers.contains_key(header::AUTHORIZATION) {
        return refused(StatusCode::BAD_REQUEST, "InvalidArgument");
    }
    if !headers.contains_key(header::CONTENT_LENGTH) {
        return refused(StatusCode::LENGTH_REQUIRED, "MissingContentLength");
    }
    let Ok(mut form) = Multipart::from_request(request, &()).await else {
        return refused(StatusCode::BAD_REQUEST, "MalformedPOSTRequest");
    };
    let (mut fields, mut file) = (BTreeMap::new(), None);
    while let Ok(Some(field)) = form.next_field().await {
        let name = field.name().unwrap_or_default().to_owned();
        let Ok(bytes) = field.bytes().await else { return refused(StatusCode::BAD_REQUEST, "IncompleteBody") };
        if name == "file" {
            file = Some(bytes);
            // S3 ignores what follows the file.
            break;
        }
        fields.insert(name, String::from_utf8_lossy(&bytes).into_owned());
    }
    let signed = ["x-amz-date", "x-amz-signature", "x-amz-algorithm", "key", "policy", "x-amz-credential"];
    if !signed.iter().all(|it| fields.contains_key(*it)) {
        return refused(StatusCode::FORBIDDEN, "AccessDenied");
    }
    let (now, mut memory) = (here.clock.now(), here.memory());
    let media = memory.media.values_mut().find(|it| fields.get("key") == Some(&it.key));
    let (Some(media), Some(file)) = (media, file) else { return refused(StatusCode::FORBIDDEN, "AccessDenied") };
    let Some(mime_type) = MimeType::sniff(&file) else { return refused(StatusCode::BAD_REQUEST, "InvalidArgument") };
    media.stored = Some((now, mime_type, file.to_vec()));
    StatusCode::NO_CONTENT.into_response()
}
