//! Pictures, videos and documents: announced, uploaded to their own URLs, and processed.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{OriginalUri, Path, RawQuery, State};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, TimeDelta, Utc};
use domain::media::{FileType, MimeType};
use domain::token;
use http::{HeaderMap, StatusCode, header};
use serde_json::{Value, json};

use super::api_error::ApiError;
use super::{Fake, Memory};
use crate::fake::oauth::{Grant, secret};
use crate::fake::params::{bearer, essence};
use crate::fake::schema::{self, Any, Boolean, Fields, Integer, Object, Required, TEXT};

const MAX_PIXELS: u64 = 36_152_320;

/// The largest video according to the help page. The schema states 5 GB.
const MAX_VIDEO_BYTES: u64 = 500 << 20;

/// How long an upload URL is valid. The documents state no duration.
const TICKET_LIVES: TimeDelta = TimeDelta::hours(24);

/// "<= 100 MB".
const MAX_DOCUMENT_BYTES: usize = 100_000_000;

const PICTURE_TAKES: TimeDelta = TimeDelta::seconds(2);
const DOCUMENT_TAKES: TimeDelta = TimeDelta::seconds(8);
const VIDEO_TAKES: TimeDelta = TimeDelta::seconds(12);

/// How long the status of a video may lag behind the finalization. LinkedIn states no duration.
const READ_LAG: TimeDelta = TimeDelta::seconds(6);

/// Either scope permits uploads.
const SCOPES: &[&str] = &["w_member_social", "w_organization_social"];

const FILE: Fields = &[("initializeUploadRequest", Required, Object(&[("owner", Required, TEXT)]))];

const VIDEO: Fields = &[("initializeUploadRequest", Required, Object(VIDEO_REQUEST))];

const VIDEO_REQUEST: Fields = &[
    ("owner", Required, TEXT),
    ("fileSizeBytes", Required, Integer(1, MAX_VIDEO_BYTES)),
    ("uploadCaptions", Required, Boolean),
    ("uploadThumbnail", Required, Boolean),
];

const FINALIZATION: Fields = &[(
    "finalizeUploadRequest",
    Required,
    Object(&[("video", Required, TEXT), ("uploadToken", Required, TEXT), ("uploadedPartIds", Required, Any)]),
)];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileKind {
    Image,
    Video,
    Document,
}

impl FileKind {
    /// As in its URN.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Video => "video",
            Self::Document => "document",
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct File {
    pub(super) owner: String,
    kind: FileKind,
    ticket: String,
    ends_at: DateTime<Utc>,
    /// The finalization has to repeat it.
    token: String,
    parts: Vec<Part>,
    state: FileState,
    finalized_at: Option<DateTime<Utc>>,
}

#[derive(Clone, Debug)]
struct Part {
    /// The offset and the length of the part, in bytes. The length of a picture is unknown before
    /// the upload.
    at: u64,
    length: Option<u64>,
    arrived: Option<(String, Bytes)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileState {
    Waiting,
    ReadyAt(DateTime<Utc>),
    Failed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AssetStatus {
    WaitingUpload,
    Processing,
    Available,
    Failed,
}

impl File {
    pub(super) fn asset(&self, now: DateTime<Utc>) -> AssetStatus {
        match self.state {
            FileState::Waiting => AssetStatus::WaitingUpload,
            FileState::ReadyAt(at) if now < at => AssetStatus::Processing,
            FileState::ReadyAt(_) => AssetStatus::Available,
            FileState::Failed => AssetStatus::Failed,
        }
    }

    /// The status that a read returns, which lags behind the write.
    fn read(&self, now: DateTime<Utc>) -> AssetStatus {
        let is_behind = self.finalized_at.is_some_and(|it| now < it + READ_LAG);
        if is_behind { AssetStatus::WaitingUpload } else { self.asset(now) }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        self.parts.iter().filter_map(|it| it.arrived.as_ref()).flat_map(|(_, it)| it.to_vec()).collect()
    }
}

/// `POST /rest/images?action=initializeUpload`
pub(super) async fn image(
    State(fake): State<Arc<Fake>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Value>, ApiError> {
    let grant = fake.authorize_rest(&headers, "/rest/images", SCOPES)?;
    announce(&fake, FileKind::Image, query.as_deref(), &grant, &body)
}

/// `POST /rest/documents?action=initializeUpload`
pub(super) async fn document(
    State(fake): State<Arc<Fake>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Value>, ApiError> {
    let grant = fake.authorize_rest(&headers, "/rest/documents", SCOPES)?;
    announce(&fake, FileKind::Document, query.as_deref(), &grant, &body)
}

fn announce(
    fake: &Fake,
    kind: FileKind,
    query: Option<&str>,
    grant: &Grant,
    body: &[u8],
) -> Result<Json<Value>, ApiError> {
    let owner = schema::text(&read_action(query, "initializeUpload", body, FILE)?, "owner");
    let now = fake.clock.now();
    let mut memory = fake.memory();
    let parts = vec![Part { at: 0, length: None, arrived: None }];
    let (urn, file) = memory.add_file((kind, owner), parts, grant, now)?;
    let upload_url = memory.address(&file, 0);
    memory.files.insert(urn.clone(), file);
    let expires = (now + TICKET_LIVES).timestamp_millis();
    Ok(Json(json!({ "value": { "uploadUrlExpiresAt": expires, "uploadUrl": upload_url, kind.as_str(): urn } })))
}

/// `POST /rest/videos?action=initializeUpload` and `finalizeUpload`
pub(super) async fn video(
    State(fake): State<Arc<Fake>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Value>, ApiError> {
    let path = format!("/rest/videos?{}", query.as_deref().unwrap_or_default());
    let grant = fake.authorize_rest(&headers, &path, SCOPES)?;
    if query.as_deref() == Some("action=finalizeUpload") {
        return finalize(&fake, &read_action(query.as_deref(), "finalizeUpload", &body, FINALIZATION)?);
    }
    let request = read_action(query.as_deref(), "initializeUpload", &body, VIDEO)?;
    let (owner, size) = (schema::text(&request, "owner"), request["fileSizeBytes"].as_u64().unwrap_or_default());
    if request["uploadCaptions"] != false || request["uploadThumbnail"] != false {
        return Err(ApiError::bad("INVALID_VALUE_FOR_FIELD", "uploadCaptions, uploadThumbnail"));
    }
    let now = fake.clock.now();
    let mut memory = fake.memory();
    let step = memory.part_bytes;
    let parts = (0..size.div_ceil(step)).map(|it| Part {
        at: it * step,
        length: Some(step.min(size - it * step)),
        arrived: None,
    });
    let (urn, file) = memory.add_file((FileKind::Video, owner), parts.collect(), &grant, now)?;
    let instructions = file.parts.iter().enumerate().map(|(number, it)| {
        let last = it.at + it.length.unwrap_or_default() - 1;
        json!({ "uploadUrl": memory.address(&file, number), "firstByte": it.at, "lastByte": last })
    });
    let value = json!({
        "video": urn, "uploadToken": file.token, "uploadUrlsExpireAt": (now + TICKET_LIVES).timestamp_millis(),
        "uploadInstructions": instructions.collect::<Vec<_>>(),
    });
    memory.files.insert(urn, file);
    Ok(Json(json!({ "value": value })))
}

fn finalize(fake: &Fake, request: &Value) -> Result<Json<Value>, ApiError> {
    let (urn, token) = (schema::text(request, "video"), schema::text(request, "uploadToken"));
    let now = fake.clock.now();
    let mut memory = fake.memory();
    let spoils = memory.spoils;
    let file = memory.files.get_mut(&urn).filter(|it| it.kind == FileKind::Video).ok_or_else(ApiError::not_found)?;
    let arrived: Vec<_> = file.parts.iter().map(|it| it.arrived.as_ref().map(|(tag, _)| tag.clone())).collect();
    if file.state != FileState::Waiting || token != file.token || request["uploadedPartIds"] != json!(arrived) {
        return Err(ApiError::bad("INVALID_VALUE_FOR_FIELD", "/uploadedPartIds, /uploadToken, or it is finalized"));
    }
    let is_video = MimeType::sniff(&file.bytes()).is_some_and(|it| it == MimeType::Mp4);
    file.state = if is_video && !spoils { FileState::ReadyAt(now + VIDEO_TAKES) } else { FileState::Failed };
    file.finalized_at = Some(now);
    Ok(Json(json!({})))
}

/// `GET /rest/videos/{urn}`
pub(super) async fn show_video(
    State(fake): State<Arc<Fake>>,
    Path(urn): Path<String>,
    OriginalUri(uri): OriginalUri,
    headers: HeaderMap,
) -> Result<Json<Value>, ApiError> {
    fake.authorize_rest(&headers, "/rest/videos/", SCOPES)?;
    ApiError::check_encoded(uri.path())?;
    show(&fake, &urn, FileKind::Video)
}

/// `GET /rest/documents/{urn}`
pub(super) async fn show_document(
    State(fake): State<Arc<Fake>>,
    Path(urn): Path<String>,
    OriginalUri(uri): OriginalUri,
    headers: HeaderMap,
) -> Result<Json<Value>, ApiError> {
    fake.authorize_rest(&headers, "/rest/documents/", SCOPES)?;
    ApiError::check_encoded(uri.path())?;
    show(&fake, &urn, FileKind::Document)
}

fn show(fake: &Fake, urn: &str, kind: FileKind) -> Result<Json<Value>, ApiError> {
    let memory = fake.memory();
    let file = memory.files.get(urn).filter(|it| it.kind == kind).ok_or_else(ApiError::not_found)?;
    let mut object = json!({ "id": urn, "owner": file.owner });
    object["status"] = match file.read(fake.clock.now()) {
        AssetStatus::WaitingUpload => "WAITING_UPLOAD",
        AssetStatus::Processing => "PROCESSING",
        AssetStatus::Available => "AVAILABLE",
        AssetStatus::Failed => {
            if kind == FileKind::Video {
                object["processingFailureReason"] = "The format is not supported".into();
            }
            "PROCESSING_FAILED"
        }
    }
    .into();
    Ok(Json(object))
}

/// `PUT /dms-uploads/{ticket}/{part}`: whole files with the token, parts of videos without.
pub(super) async fn arrive(
    State(fake): State<Arc<Fake>>,
    Path((ticket, part)): Path<(String, usize)>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, ApiError> {
    let now = fake.clock.now();
    fake.refused(&format!("/dms-uploads/{part}")).map_or(Ok(()), Err)?;
    let is_video = fake.memory().files.values().any(|it| it.ticket == ticket && it.kind == FileKind::Video);
    if !is_video {
        let _: Grant = fake.authorize_upload(&headers)?;
    } else if bearer(&headers).is_some() {
        return Err(ApiError::bad("ILLEGAL_ARGUMENT", "This address needs no token"));
    }
    let mut memory = fake.memory();
    let spoils = memory.spoils;
    let file = memory.files.values_mut().find(|it| it.ticket == ticket).ok_or_else(ApiError::not_found)?;
    if file.ends_at <= now {
        return Err(ApiError::bad("EXPIRED_UPLOAD_URL", "The upload URL has expired"));
    }
    let length = headers.get(header::CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse::<u64>().ok());
    let wanted = file.parts.get_mut(part).ok_or_else(ApiError::not_found)?;
    let is_whole = length == Some(body.len() as u64) && wanted.length.is_none_or(|it| Some(it) == length);
    if file.state != FileState::Waiting || !is_whole || essence(&headers) != "application/octet-stream" {
        return Err(ApiError::bad("ILLEGAL_ARGUMENT", "This is not what the address is for"));
    }
    let tag = token::hash(&format!("{part} {}", body.len()));
    wanted.arrived = Some((tag.clone(), body.clone()));
    if is_video {
        return Ok((StatusCode::OK, [(header::ETAG, format!("\"{tag}\""))]).into_response());
    }
    let (is_accepted, takes) = match file.kind {
        FileKind::Document => (is_document(&body) && !spoils, DOCUMENT_TAKES),
        FileKind::Image | FileKind::Video => (is_picture(&body), PICTURE_TAKES),
    };
    file.state = if is_accepted { FileState::ReadyAt(now + takes) } else { FileState::Failed };
    Ok(StatusCode::CREATED.into_response())
}

/// Whether these bytes are a picture of a supported type and size.
fn is_picture(bytes: &[u8]) -> bool {
    let mime_type = MimeType::sniff(bytes).filter(|it| it.file_type() == FileType::Image && *it != MimeType::Webp);
    let Some(mime_type) = mime_type else { return false };
    mime_type.picture_size(bytes).is_none_or(|(width, height)| u64::from(width) * u64::from(height) < MAX_PIXELS)
}

fn is_document(bytes: &[u8]) -> bool {
    MimeType::Pdf.matches(bytes) && bytes.len() <= MAX_DOCUMENT_BYTES
}

/// The request of an action.
fn read_action(query: Option<&str>, name: &str, body: &[u8], fields: Fields) -> Result<Value, ApiError> {
    if query != Some(format!("action={name}").as_str()) {
        return Err(ApiError::bad("ILLEGAL_ARGUMENT", "There is no such action"));
    }
    Ok(schema::parse(body, fields)?[format!("{name}Request")].take())
}

impl Fake {
    fn authorize_upload(&self, headers: &HeaderMap) -> Result<Grant, ApiError> {
        Ok(self.oauth().accept(headers, SCOPES, self.clock.now())?.clone())
    }
}

impl Memory {
    fn add_file(
        &mut self,
        (kind, owner): (FileKind, String),
        parts: Vec<Part>,
        grant: &Grant,
        now: DateTime<Utc>,
    ) -> Result<(String, File), ApiError> {
        let is_of_pages = grant.scopes.iter().any(|it| it == SCOPES[1]);
        if owner.starts_with("urn:li:organization:") && !is_of_pages {
            return Err(ApiError::no_organization_permission("owner"));
        }
        if !self.may_post(&owner) {
            return Err(ApiError::denied("Not enough permissions to act for the owner"));
        }
        let file = File {
            owner,
            kind,
            ticket: secret(),
            ends_at: now + TICKET_LIVES,
            token: if kind == FileKind::Video { secret() } else { String::new() },
            parts,
            state: FileState::Waiting,
            finalized_at: None,
        };
        Ok((format!("urn:li:{}:C5{:x}", kind.as_str(), self.next()), file))
    }

    fn address(&self, file: &File, part: usize) -> String {
        format!("{}/dms-uploads/{}/{part}", self.uploads_at, file.ticket)
    }
}
