//! Videos, reels and video stories: upload, processing, publishing.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, TimeDelta, Utc};
use domain::media::{FileType, MimeType};
use http::{HeaderMap, Method};
use serde_json::{Value, json};

use super::Fake;
use crate::fake::oauth::secret;
use crate::fake::wire::Cut;
use crate::meta::error::GraphError;
use crate::meta::fields::Fields;

/// Maximum size of a video, in bytes.
const MAX_BYTES: u64 = 10_000_000_000;

/// Part size of a Page video, in bytes.
const PART: u64 = 4 << 20;

/// Duration of processing (reels, stories) and of publishing (videos).
const TAKES: TimeDelta = TimeDelta::seconds(7);

/// How long an unpublished video is kept.
const KEPT: TimeDelta = TimeDelta::hours(24);

/// Maximum length of a title, in code points.
const MAX_TITLE: usize = 255;

#[derive(Clone, Debug)]
pub(super) struct Video {
    pub(super) page: String,
    pub(super) bytes: Vec<u8>,
    pub(super) text: String,
    pub(super) title: Option<String>,
    /// `videos`, `video_reels` or `video_stories`.
    edge: String,
    /// The upload session id that parts of a Page video contain.
    session: String,
    /// Announced size in bytes, once known.
    size: Option<u64>,
    begun_at: DateTime<Utc>,
    there_at: Option<DateTime<Utc>>,
    finished_at: Option<DateTime<Utc>>,
}

impl Video {
    pub(super) fn is_finished(&self) -> bool {
        self.finished_at.is_some()
    }

    pub(super) fn is_public(&self, now: DateTime<Utc>) -> bool {
        self.finished_at.is_some_and(|it| it + TAKES <= now)
    }

    fn is_processing(&self, now: DateTime<Utc>) -> bool {
        self.there_at.is_some_and(|it| it + TAKES <= now)
    }

    pub(super) fn status(&self, now: DateTime<Utc>) -> Value {
        let looked_through = match self.there_at {
            None => "not_started",
            Some(_) if !self.is_processing(now) => "in_progress",
            Some(_) => "complete",
        };
        let published = match self.finished_at {
            None => "not_started",
            Some(_) if self.is_public(now) => "complete",
            Some(_) => "in_progress",
        };
        let video_status = match (looked_through, published) {
            (_, "complete") => "ready",
            _ if !self.is_finished() && self.begun_at + KEPT <= now => "expired",
            ("complete", _) => "upload_complete",
            _ => "processing",
        };
        let uploaded = if self.there_at.is_some() { "complete" } else { "in_progress" };
        let mut status = json!({
            "video_status": video_status,
            "uploading_phase": { "status": uploaded, "bytes_transferred": self.bytes.len() },
            "processing_phase": { "status": looked_through },
            "publishing_phase": { "status": published },
        });
        if published == "complete" {
            status["publishing_phase"]["publish_status"] = "published".into();
        }
        status
    }

    fn next(&self) -> Value {
        let (start, size) = (self.bytes.len() as u64, self.size.unwrap_or_default());
        json!({ "start_offset": start.to_string(), "end_offset": size.min(start + PART).to_string() })
    }
}

impl Fake {
    /// `POST /{page}/videos`
    pub(super) fn video(&self, page: &str, mut fields: Fields) -> Result<Value, GraphError> {
        match fields.want("upload_phase")?.as_str() {
            "start" => {
                let size = fields.want("file_size")?.parse().ok().filter(|it| (1..=MAX_BYTES).contains(it));
                fields.end()?;
                let size = size.ok_or_else(|| GraphError::param("Param file_size must be at most 10 GB"))?;
                let (id, video) = self.new_video(page, "videos", Some(size));
                let mut answer = video.next();
                answer["upload_session_id"] = video.session.into();
                answer["video_id"] = id.into();
                Ok(answer)
            }
            "transfer" => {
                let (session, start) = (fields.want("upload_session_id")?, fields.want("start_offset")?);
                let part = fields.file("video_file_chunk")?;
                fields.end()?;
                self.part(page, (&session, &start), &part)
            }
            "finish" => {
                let session = fields.want("upload_session_id")?;
                let id = self.get_id_by_session(page, &session)?;
                self.finish(page, &id, fields)
            }
            other => {
                Err(GraphError::param(&format!("Param upload_phase must be one of start, transfer, finish: {other}")))
            }
        }
    }

    /// `POST /{page}/video_reels` and `POST /{page}/video_stories`
    pub(super) fn upload_reel_or_story(
        &self,
        (page, edge): (&str, &str),
        mut fields: Fields,
    ) -> Result<Value, GraphError> {
        match fields.want("upload_phase")?.as_str() {
            "start" => {
                fields.end()?;
                let (id, _) = self.new_video(page, edge, None);
                let url = format!("{}/video-upload/v26.0/{id}", self.base_url());
                Ok(json!({ "video_id": id, "upload_url": url }))
            }
            "finish" => {
                let id = fields.want("video_id")?;
                let state = fields.text("video_state");
                if (edge == "video_reels") != (state.as_deref() == Some("PUBLISHED")) {
                    return Err(GraphError::param("Param video_state must be PUBLISHED for reels alone"));
                }
                let is_it = self.memory().videos.get(&id).is_some_and(|it| it.edge == edge && it.page == page);
                if is_it { self.finish(page, &id, fields) } else { Err(GraphError::object_not_found(&id)) }
            }
            other => Err(GraphError::param(&format!("Param upload_phase must be one of start, finish: {other}"))),
        }
    }

    fn new_video(&self, page: &str, edge: &str, size: Option<u64>) -> (String, Video) {
        let video = Video {
            page: page.to_owned(),
            bytes: Vec::new(),
            text: String::new(),
            title: None,
            edge: edge.to_owned(),
            session: secret(),
            size,
            begun_at: self.clock.now(),
            there_at: None,
            finished_at: None,
        };
        let mut memory = self.memory();
        let id = memory.next();
        memory.videos.insert(id.clone(), video.clone());
        (id, video)
    }

    fn get_id_by_session(&self, page: &str, session: &str) -> Result<String, GraphError> {
        let memory = self.memory();
        let found = memory.videos.iter().find(|(_, it)| it.session == session && it.page == page);
        found.map(|(id, _)| id.clone()).ok_or_else(|| GraphError::param("There is no such upload session"))
    }

    /// Accepts the next part, or the last part again, because its response may be lost.
    fn part(&self, page: &str, (session, start): (&str, &str), part: &Bytes) -> Result<Value, GraphError> {
        let id = self.get_id_by_session(page, session)?;
        let now = self.clock.now();
        let mut memory = self.memory();
        let video = memory.videos.get_mut(&id).ok_or_else(|| GraphError::object_not_found(&id))?;
        let (arrived, size) = (video.bytes.len() as u64, video.size.unwrap_or_default());
        let wrong = || GraphError::new(6_000, "The part does not begin where the last one ended").subcode(1_363_037);
        let start: u64 = start.parse().map_err(|_| wrong())?;
        let length = part.len() as u64;
        if start + length == arrived && 0 < length {
            return Ok(video.next());
        }
        if start != arrived || length != PART.min(size - arrived) {
            return Err(wrong());
        }
        video.bytes.extend_from_slice(part);
        if video.bytes.len() as u64 == size {
            video.there_at = Some(now);
        }
        Ok(video.next())
    }

    fn finish(&self, page: &str, id: &str, mut fields: Fields) -> Result<Value, GraphError> {
        let edge = self.memory().videos.get(id).map(|it| it.edge.clone()).unwrap_or_default();
        let is_story = edge == "video_stories";
        let (text, title) = if is_story { (None, None) } else { (fields.text("description"), fields.text("title")) };
        fields.end()?;
        if title.as_ref().is_some_and(|it| MAX_TITLE < it.chars().count()) {
            return Err(GraphError::param("Param title must be at most 255 characters"));
        }
        let now = self.clock.now();
        let mut memory = self.memory();
        let video = memory.videos.get_mut(id).ok_or_else(|| GraphError::object_not_found(id))?;
        let is_video = MimeType::sniff(&video.bytes).is_some_and(|it| it.file_type() == FileType::Video);
        if video.is_finished() {
            return Err(GraphError::param("The video was published before"));
        }
        if video.there_at.is_none() || !is_video || now >= video.begun_at + KEPT {
            return Err(GraphError::param("The video is not there"));
        }
        if edge != "videos" && !video.is_processing(now) {
            return Err(GraphError::new(6_000, "The video is not processed yet").subcode(1_363_130));
        }
        video.finished_at = Some(now);
        (video.text, video.title) = (text.unwrap_or_default().trim().to_owned(), title);
        let text = video.text.clone();
        let post = memory.add_post(page, &text, Vec::new(), Some(id.to_owned()), now);
        if let Some(post) = memory.posts.last_mut() {
            post.is_story = is_story;
        }
        if edge == "videos" { Ok(json!({ "success": true })) } else { Ok(json!({ "success": true, "post_id": post })) }
    }
}

/// `POST https://rupload.facebook.com/video-upload/v26.0/{video}`
pub(super) async fn receive(
    State(fake): State<Arc<Fake>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, GraphError> {
    let header = |name: &str| headers.get(name).and_then(|it| it.to_str().ok());
    let unauthorized =
        || GraphError::upload(false, "NotAuthorizedError", "User not authorized to perform this request");
    let invalid = |words: &str| GraphError::upload(false, "InvalidRequestError", words);
    let token = header("authorization").and_then(|it| it.strip_prefix("OAuth ")).ok_or_else(unauthorized)?;
    if let Some(answer) = fake.ordered(&Method::POST, "video-upload") {
        return Ok(answer);
    }
    let number = |name: &str| header(name).and_then(|it| it.parse::<u64>().ok());
    let (offset, size) = (number("offset"), number("file_size"));
    let now = fake.clock.now();
    let mut memory = fake.memory();
    let page = memory.page_tokens.get(token).map(|it| it.0.clone()).ok_or_else(unauthorized)?;
    let breaks_after = memory.breaks_after.take();
    let video = memory.videos.get_mut(&id).filter(|it| it.page == page && it.edge != "videos");
    let video = video.ok_or_else(|| invalid("Invalid video id"))?;
    let arrived = video.bytes.len() as u64;
    let (Some(offset), Some(size)) = (offset, size) else {
        return Err(invalid("The headers offset and file_size are required"));
    };
    if offset != arrived || size != offset + body.len() as u64 || body.is_empty() || MAX_BYTES < size {
        return Err(invalid("The upload does not go on where it broke off, or is of another size"));
    }
    video.size = Some(size);
    if let Some(bytes) = breaks_after.filter(|it| *it < body.len()) {
        video.bytes.extend_from_slice(&body[..bytes]);
        return Ok(Cut.into_response());
    }
    video.bytes.extend_from_slice(&body);
    video.there_at = Some(now);
    Ok(Json(json!({ "success": true, "message": "Upload successful." })).into_response())
}
