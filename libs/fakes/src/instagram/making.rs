//! The creation of containers, from a fetched file or from other containers.
//!
//! Source: `reference/ig-user/media`, `content-publishing`, `reference/error-codes`.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, TimeDelta, Utc};
use domain::media::{Facts, FileType, MimeType};
use http::HeaderMap;
use serde_json::{Value, json};

use super::{Fake, Memory, text};
use crate::fake::wire::Cut;
use crate::meta::containers::State as LimitUsage;
use crate::meta::error::GraphError;
use crate::meta::fetched::{Fetched, FileProblem, Limits, NotFetched, fetch_medium};
use crate::meta::fields::Fields;

/// The content of a container, and later of the post.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    pub(super) kind: Kind,
    pub(super) caption: String,
    pub(super) files: Vec<File>,
    /// The options of the post.
    pub(super) said: Value,
    /// The users tagged in its only file.
    pub(super) tags: Value,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// A picture or a carousel in the feed.
    #[default]
    Post,
    Reel,
    Story,
    /// A part of a carousel.
    Item,
}

#[derive(Clone, Debug)]
pub(super) struct File {
    pub(super) fetched: Fetched,
    pub(super) words: Option<String>,
    /// The users tagged in the file.
    pub(super) tags: Value,
}

/// "JPEG, 8 MB, 4:5 to 1.91:1"
const IMAGES: Limits = Limits {
    types: &[MimeType::Jpeg],
    max_bytes: 8_000_000,
    narrowest: (4, 5),
    widest: (191, 100),
    runs: (u64::MAX, 0),
};

/// "We recommend 9:16": no ratio is refused.
const STORY_IMAGES: Limits = Limits { narrowest: (0, 1), widest: (1, 0), ..IMAGES };

/// "MOV or MP4, 300 MB, 0.01:1 to 10:1, 3 seconds to 15 minutes"
const REELS: Limits = Limits {
    types: &[MimeType::Mp4, MimeType::Quicktime],
    max_bytes: 300_000_000,
    narrowest: (1, 100),
    widest: (10, 1),
    runs: (900_000, 3_000),
};

/// "100 MB, 3 to 60 seconds"
const STORY_VIDEOS: Limits = Limits { max_bytes: 100_000_000, runs: (60_000, 3_000), ..REELS };

/// How many containers an account may make within a day.
const MOST: usize = 400;

/// `POST /{ig-user-id}/media`
pub(super) async fn make(
    State(fake): State<Arc<Fake>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    mut fields: Fields,
) -> Result<Json<Value>, GraphError> {
    fake.authorize_for_account(&headers, &mut fields, (&id, "media"), fake.scopes().publish)?;
    let now = fake.clock.now();
    if MOST <= fake.memory().containers.count_since(now - TimeDelta::days(1)) {
        return Err(GraphError::limited(60));
    }
    // Instagram's login ignores this parameter.
    let is_upload = fields.one_of("upload_type", &["resumable"])?.is_some() && fake.memory().by_facebook;
    let types = fields.one_of("media_type", &["IMAGE", "VIDEO", "REELS", "STORIES", "CAROUSEL"])?;
    let is_item = fields.flag("is_carousel_item")?.unwrap_or_default();
    let (content, fault) = match (types.as_deref(), is_item) {
        (Some("CAROUSEL"), false) => (fake.read_carousel(fields)?, None),
        (Some("STORIES"), false) => fake.read_file(Kind::Story, fields, is_upload).await?,
        (Some("REELS"), false) => fake.read_file(Kind::Reel, fields, is_upload).await?,
        (None | Some("IMAGE"), false) => fake.read_file(Kind::Post, fields, is_upload).await?,
        (None | Some("IMAGE" | "VIDEO"), true) => {
            let is_video = types.as_deref() == Some("VIDEO");
            if is_video != (is_upload || fields.has("video_url")) {
                return Err(unknown_type());
            }
            fake.read_file(Kind::Item, fields, is_upload).await?
        }
        _ => return Err(unknown_type()),
    };
    if is_upload && types.as_deref() != Some("CAROUSEL") {
        let Memory { containers, ids, .. } = &mut *fake.memory();
        let id = containers.await_upload(ids, content, now);
        let uri = format!("{}/ig-api-upload/v26.0/{id}", fake.base_url());
        return Ok(Json(json!({ "id": id, "uri": uri })));
    }
    let id = fake.memory().make(content, fault, now);
    Ok(Json(json!({ "id": id })))
}

/// `POST https://rupload.facebook.com/ig-api-upload/v26.0/{ig-container-id}`: the bytes of a video
/// from `offset` on.
pub(super) async fn receive(
    State(fake): State<Arc<Fake>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, GraphError> {
    let header = |name: &str| headers.get(name).and_then(|it| it.to_str().ok());
    let number = |name: &str| header(name).and_then(|it| it.parse::<usize>().ok());
    let invalid = |words: &str| GraphError::upload(false, "InvalidRequestError", words);
    let is_known = |token: &str| fake.memory().pages.iter().any(|it| it.token == token);
    if !header("authorization").and_then(|it| it.strip_prefix("OAuth ")).is_some_and(is_known) {
        return Err(GraphError::upload(false, "NotAuthorizedError", "User not authorized to perform this request"));
    }
    let now = fake.clock.now();
    let mut memory = fake.memory();
    if let Some(at) = memory.refusals.iter().position(|(ends, _)| *ends == "ig-api-upload") {
        return Err(memory.refusals.remove(at).1);
    }
    let (breaks_after, work, spoils) = (memory.breaks_after.take(), memory.work[2], memory.fault.clone());
    let container = memory.containers.get_mut(&id).ok_or_else(|| invalid("Invalid container id"))?;
    let mut content = container.content.clone();
    let upload = container.upload_mut().filter(|it| !it.is_complete);
    let upload = upload.ok_or_else(|| invalid("The container awaits no bytes"))?;
    let is_next = number("offset") == Some(upload.bytes.len());
    if !is_next || number("file_size") != Some(upload.bytes.len() + body.len()) || body.is_empty() {
        return Err(invalid("The bytes do not begin where the last ones ended, or are not all"));
    }
    if let Some(bytes) = breaks_after.filter(|it| *it < body.len()) {
        upload.bytes.extend_from_slice(&body[..bytes]);
        return Ok(Cut.into_response());
    }
    upload.bytes.extend_from_slice(&body);
    let fault = match Fetched::from_bytes(std::mem::take(&mut upload.bytes)) {
        Some(file) => content.add(file, None).unwrap_or_else(|_| Some(failed(2_207_026))),
        None => Some(failed(2_207_026)),
    };
    container.uploaded(content, work, fault.or(spoils), now);
    Ok(Json(json!({ "success": true, "message": "Upload successful." })).into_response())
}

fn unknown_type() -> GraphError {
    GraphError::param("The media_type is unknown, or not one for this").subcode(2_207_023)
}

/// "23-60 FPS", with the tolerance that clocks of cameras need, and "Maximum columns: 1920".
fn is_supported_video(facts: Facts) -> bool {
    let is_taken = |it: u32| (22_500..=60_500).contains(&it);
    facts.milli_frames_per_second.is_none_or(is_taken) && facts.pixels.is_none_or(|it| it.width <= 1_920)
}

/// The `status` of a failed container.
pub(super) fn failed(subcode: u32) -> String {
    format!("Error: Media upload has failed with error code {subcode}")
}

fn image_error(wrong: FileProblem) -> GraphError {
    match wrong {
        FileProblem::Ratio => GraphError::new(36_003, "The aspect ratio is not supported.").subcode(2_207_009),
        FileProblem::Size => GraphError::new(36_000, "The image is too large to download.").subcode(2_207_004),
        FileProblem::Type | FileProblem::Duration | FileProblem::DescribedLast => {
            GraphError::new(36_001, "The image format is not supported.").subcode(2_207_005)
        }
    }
}

fn alt_text(fields: &mut Fields) -> Result<Option<String>, GraphError> {
    let text = fields.text("alt_text").filter(|it| !it.is_empty());
    if text.as_ref().is_some_and(|it| 1_000 < it.encode_utf16().count()) {
        return Err(GraphError::param("Param alt_text must be at most 1000 characters"));
    }
    Ok(text)
}

/// Coordinates of user tags: required (picture), optional (story), not accepted (video).
fn tags(fields: &mut Fields, kind: Kind, is_video: bool) -> Result<Value, GraphError> {
    let Some(tags) = fields.json("user_tags")? else { return Ok(Value::Null) };
    let wrong = |words: &str| GraphError::param(words).subcode(2_207_035);
    let list = tags.as_array().filter(|it| (1..=20).contains(&it.len()));
    let list = list.ok_or_else(|| wrong("Param user_tags must be an array of 1 to 20"))?;
    for tag in list {
        let known = tag.as_object().is_some_and(|it| it.keys().all(|it| ["username", "x", "y"].contains(&it.as_str())));
        if !known || !tag["username"].as_str().is_some_and(is_name) {
            return Err(wrong("Param user_tags has one that is no username"));
        }
        let place = |name: &str| match &tag[name] {
            Value::Null => Ok(false),
            it if it.as_f64().is_some_and(|it| (0.0..=1.0).contains(&it)) => Ok(true),
            _ => Err(wrong("Param user_tags has a place that is not from 0.0 to 1.0")),
        };
        let is_fine = match (place("x")?, place("y")?) {
            (true, true) => kind == Kind::Story || !is_video,
            (false, false) => kind == Kind::Story || is_video,
            _ => false,
        };
        if !is_fine {
            return Err(wrong("Param user_tags has x and y in pictures, and not in reels"));
        }
    }
    Ok(tags)
}

fn is_name(it: &str) -> bool {
    (1..=30).contains(&it.len()) && it.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'_'))
}

/// Reads the options of posts and reels. Stories and carousel items have none of them.
fn read_post_options(content: &mut Content, fields: &mut Fields) -> Result<(), GraphError> {
    content.caption = fields.text("caption").unwrap_or_default();
    if let Some(message) = text::fault(&content.caption) {
        return Err(GraphError::new(36_004, message).subcode(2_207_010));
    }
    if let Some(names) = fields.list("collaborators")? {
        if !(1..=3).contains(&names.len()) || !names.iter().all(|it| is_name(it)) {
            return Err(GraphError::param("Param collaborators must be 1 to 3 usernames").subcode(2_207_040));
        }
        content.said["collaborators"] = names.into();
    }
    if let Some(place) = fields.text("location_id") {
        if place.is_empty() || !place.bytes().all(|it| it.is_ascii_digit()) {
            return Err(GraphError::param("INSTAGRAM_PLATFORM_API__INVALID_LOCATION_ID"));
        }
        content.said["location_id"] = place.into();
    }
    Ok(())
}

impl Content {
    /// Adds a file that was fetched or uploaded. Returns the `status` if the container will fail.
    fn add(&mut self, file: Fetched, alt_text: Option<String>) -> Result<Option<String>, GraphError> {
        let is_video = file.mime_type.file_type() == FileType::Video;
        let limits = match (is_video, self.kind == Kind::Story) {
            (false, false) => IMAGES,
            (false, true) => STORY_IMAGES,
            (true, false) => REELS,
            (true, true) => STORY_VIDEOS,
        };
        let wrong = limits.check(&file);
        if let Some(wrong) = wrong.filter(|_| !is_video) {
            return Err(image_error(wrong));
        }
        let is_refused = wrong.is_some() || is_video && !is_supported_video(file.facts);
        let moment = self.said["thumb_offset"].as_u64();
        if moment.zip(file.facts.duration_ms).is_some_and(|(moment, length)| length < moment) {
            return Err(GraphError::new(1, "The thumbnail offset is beyond the video").subcode(2_207_057));
        }
        self.files.push(File { fetched: file, words: alt_text, tags: self.tags.take() });
        Ok(is_refused.then(|| failed(2_207_026)))
    }
}

impl Fake {
    /// Also returns the `status` if processing will fail. With `is_upload`, the bytes follow later.
    async fn read_file(
        &self,
        kind: Kind,
        mut fields: Fields,
        is_upload: bool,
    ) -> Result<(Content, Option<String>), GraphError> {
        let is_video = is_upload || fields.has("video_url");
        if is_video == (kind == Kind::Post) && kind != Kind::Item && kind != Kind::Story {
            return Err(if is_video { unknown_type() } else { GraphError::missing("video_url") });
        }
        let address =
            if is_upload { None } else { Some(fields.want(if is_video { "video_url" } else { "image_url" })?) };
        let words = if is_video || kind == Kind::Story { None } else { alt_text(&mut fields)? };
        let mut content =
            Content { kind, said: json!({}), tags: tags(&mut fields, kind, is_video)?, ..Content::default() };
        if kind == Kind::Reel {
            if let Some(moment) = fields.number("thumb_offset", 0, i64::MAX)? {
                content.said["thumb_offset"] = moment.into();
            }
            if let Some(share) = fields.flag("share_to_feed")? {
                content.said["share_to_feed"] = share.into();
            }
        }
        if matches!(kind, Kind::Post | Kind::Reel) {
            read_post_options(&mut content, &mut fields)?;
        }
        fields.end()?;
        let Some(address) = address else { return Ok((content, None)) };
        let refused_hosts = self.memory().refused_hosts.clone();
        let file = match fetch_medium(is_video, &address, &refused_hosts).await {
            Ok(file) => {
                self.memory().fetched.push(address);
                file
            }
            Err(NotFetched::HostRefused) if is_video => return Ok((content, Some(failed(2_207_052)))),
            Err(NotFetched::NotThere) if is_video => return Ok((content, Some(failed(2_207_077)))),
            Err(_) => {
                let error = GraphError::new(9_004, "Only photo or video can be accepted as media type.");
                let words = "The media could not be fetched from this URI.";
                return Err(error.subcode(2_207_052).for_people("Media download has failed.", words));
            }
        };
        let fault = content.add(file, words)?;
        Ok((content, fault))
    }

    /// A carousel of containers that are ready.
    fn read_carousel(&self, mut fields: Fields) -> Result<Content, GraphError> {
        let children = fields.list("children")?.ok_or_else(|| GraphError::missing("children"))?;
        if !(2..=10).contains(&children.len()) {
            let message = "A carousel needs 2 to 10 children";
            return Err(GraphError::param(message).subcode(2_207_028));
        }
        let (memory, now, mut files) = (self.memory(), self.clock.now(), Vec::new());
        for child in &children {
            let container = memory.containers.get(child).ok_or_else(no_media)?;
            match container.state(now) {
                LimitUsage::Ready if container.content.kind == Kind::Item => {
                    files.extend(container.content.files.clone());
                }
                LimitUsage::Working => return Err(not_ready()),
                LimitUsage::Expired => return Err(no_media()),
                _ => return Err(GraphError::param("Param children has one that is no carousel item, or failed")),
            }
        }
        let mut content = Content { files, said: json!({}), ..Content::default() };
        read_post_options(&mut content, &mut fields)?;
        fields.end()?;
        Ok(content)
    }
}

/// The error for a container that does not exist or has expired.
pub(super) fn no_media() -> GraphError {
    let message = "The media with this id cannot be found.";
    GraphError::new(24, "The requested resource does not exist")
        .subcode(2_207_008)
        .for_people("Media Not Found", message)
}

/// Like `no_media`, for a container that is still processing.
pub(super) fn not_ready() -> GraphError {
    let message = "The media is not ready for publishing, please wait for a moment";
    GraphError::new(9_007, "Media ID is not available").subcode(2_207_027).for_people("Media is not ready", message)
}

impl Memory {
    fn make(&mut self, content: Content, failure: Option<String>, now: DateTime<Utc>) -> String {
        let [of_whole, of_image, of_video] = self.work;
        let of_file = |it: &File| match it.fetched.mime_type.file_type() {
            FileType::Image => of_image,
            FileType::Video | FileType::Document => of_video,
        };
        let is_whole = 1 < content.files.len();
        let works = content.files.iter().filter(|_| !is_whole).map(of_file);
        let work = works.chain([of_whole]).max().unwrap_or_default();
        let failure = failure.or_else(|| self.fault.clone());
        self.containers.make(&mut self.ids, content, work, failure, now)
    }
}
