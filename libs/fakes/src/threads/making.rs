//! Creating containers: of text, of a fetched file, or of several files.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use chrono::{DateTime, TimeDelta, Utc};
use domain::media::{Facts, FileType, MimeType};
use http::HeaderMap;
use serde_json::{Value, json};

use super::access::{PUBLISH, REPLY};
use super::{Fake, Memory, poll, text};
use crate::meta::containers::{State as LimitUsage, WORK};
use crate::meta::error::GraphError;
use crate::meta::fetched::{Fetched, FileProblem, Limits, fetch_medium};
use crate::meta::fields::Fields;

/// Content of a container, and of the post made from it.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    pub(super) text: String,
    pub(super) files: Vec<File>,
    /// The options.
    pub(super) said: Value,
    /// Whether the container is an item of a carousel.
    pub(super) is_item: bool,
    /// The id of the post that it replies to.
    pub(super) reply_to: Option<String>,
    /// Whether another profile wrote it.
    pub(super) is_by_visitor: bool,
}

#[derive(Clone, Debug)]
pub(super) struct File {
    pub(super) file: Fetched,
    pub(super) words: Option<String>,
}

/// "JPEG and PNG, 8 MB, 10:1"
const IMAGES: Limits = Limits {
    types: &[MimeType::Jpeg, MimeType::Png],
    max_bytes: 8_000_000,
    narrowest: (1, 10),
    widest: (10, 1),
    runs: (u64::MAX, 0),
};

/// "MOV or MP4, 1 GB, 0.01:1 to 10:1, more than 0 and up to 5 minutes"
const VIDEOS: Limits = Limits {
    types: &[MimeType::Mp4, MimeType::Quicktime],
    max_bytes: 1_000_000_000,
    narrowest: (1, 100),
    widest: (10, 1),
    runs: (300_000, 1),
};

const REPLY_CONTROLS: &[&str] =
    &["everyone", "accounts_you_follow", "mentioned_only", "parent_post_author_only", "followers_only"];

/// `POST /{threads-user-id}/threads`
pub(super) async fn make(
    State(fake): State<Arc<Fake>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    mut fields: Fields,
) -> Result<Json<Value>, GraphError> {
    let scopes = if fields.has("reply_to_id") { REPLY } else { PUBLISH };
    fake.authorize_for_profile(&headers, &mut fields, (&id, "threads"), scopes)?;
    let kind = fields.one_of("media_type", &["TEXT", "IMAGE", "VIDEO", "CAROUSEL"])?;
    let kind = kind.ok_or_else(|| GraphError::missing("media_type"))?;
    let (content, fault) = match kind.as_str() {
        "TEXT" => (read_text(fields)?, None),
        "CAROUSEL" => (fake.read_carousel(fields)?, None),
        kind => fake.read_file(kind == "VIDEO", fields).await?,
    };
    let now = fake.clock.now();
    let is_public = |id: &String| fake.memory().posts.iter().any(|it| it.id == *id);
    if content.reply_to.as_ref().is_some_and(|it| !is_public(it)) {
        return Err(no_media());
    }
    let id = fake.memory().make(content, fault, now);
    Ok(Json(json!({ "id": id })))
}

fn read_text(mut fields: Fields) -> Result<Content, GraphError> {
    let mut options = json!({});
    if let Some(link) = fields.text("link_attachment") {
        let is_link = url::Url::parse(&link).is_ok_and(|it| ["http", "https"].contains(&it.scheme()));
        if !is_link {
            return Err(GraphError::param("Param link_attachment must be a URL"));
        }
        options["link_attachment"] = link.into();
    }
    if let Some(poll) = fields.json("poll_attachment")? {
        poll::check(&poll)?;
        options["poll_attachment"] = poll;
    }
    let content = read_post_options(&mut fields, options, Vec::new())?;
    fields.end()?;
    if content.text.trim().is_empty() {
        return Err(GraphError::missing("text"));
    }
    Ok(content)
}

/// The error in the container's status.
fn video_error_code(wrong: FileProblem) -> &'static str {
    match wrong {
        FileProblem::Ratio => "INVALID_ASPEC_RATIO",
        FileProblem::Duration => "INVALID_DURATION",
        FileProblem::Type | FileProblem::Size | FileProblem::DescribedLast => "FAILED_PROCESSING_VIDEO",
    }
}

/// "23-60 FPS", with a tolerance for camera clocks, and "Maximum columns: 1920".
fn find_video_error(facts: Facts) -> Option<&'static str> {
    let is_taken = |it: u32| (22_500..=60_500).contains(&it);
    if facts.milli_frames_per_second.is_some_and(|it| !is_taken(it)) {
        return Some("INVALID_FRAME_RATE");
    }
    facts.pixels.filter(|it| 1_920 < it.width).map(|_| "FAILED_PROCESSING_VIDEO")
}

/// The subcodes are Instagram's; the documentation of Threads has none.
fn image_error(wrong: FileProblem) -> GraphError {
    match wrong {
        FileProblem::Ratio => GraphError::new(36_003, "The aspect ratio is not supported.").subcode(2_207_009),
        FileProblem::Size => GraphError::new(36_000, "The image is too large to download.").subcode(2_207_004),
        FileProblem::Type | FileProblem::Duration | FileProblem::DescribedLast => {
            GraphError::new(36_001, "The image format is not supported.").subcode(2_207_005)
        }
    }
}

/// The options of a post, which carousel items do not have.
fn read_post_options(fields: &mut Fields, mut options: Value, files: Vec<File>) -> Result<Content, GraphError> {
    let text = fields.text("text").unwrap_or_default();
    if 500 < text::length(&text) {
        return Err(GraphError::param("Param text must be at most 500 characters long."));
    }
    if 5 < text::links(&text, options["link_attachment"].as_str()) {
        return Err(GraphError::new(100, "THREADS_API__LINK_LIMIT_EXCEEDED"));
    }
    if let Some(who) = fields.one_of("reply_control", REPLY_CONTROLS)? {
        options["reply_control"] = who.into();
    }
    if let Some(tag) = fields.text("topic_tag") {
        if !(1..=50).contains(&tag.chars().count()) || tag.contains(['.', '&']) {
            return Err(GraphError::param("Param topic_tag must have 1 to 50 characters without . and &"));
        }
        options["topic_tag"] = tag.into();
    }
    let reply_to = fields.text("reply_to_id");
    Ok(Content { text, files, said: options, reply_to, ..Content::default() })
}

impl Fake {
    /// Returns the error that the container shows after processing.
    async fn read_file(&self, is_video: bool, mut fields: Fields) -> Result<(Content, Option<String>), GraphError> {
        let address = fields.want(if is_video { "video_url" } else { "image_url" })?;
        let words = fields.text("alt_text").filter(|it| !it.is_empty());
        if words.as_ref().is_some_and(|it| 1_000 < it.chars().count()) {
            return Err(GraphError::param("Param alt_text must be at most 1000 characters"));
        }
        let mut content = if fields.flag("is_carousel_item")?.unwrap_or_default() {
            Content { is_item: true, ..Content::default() }
        } else {
            read_post_options(&mut fields, json!({}), Vec::new())?
        };
        fields.end()?;
        let file = match fetch_medium(is_video, &address, &[]).await {
            Ok(file) => {
                self.memory().fetched.push(address);
                file
            }
            Err(_) if is_video => return Ok((content, Some("FAILED_DOWNLOADING_VIDEO".to_owned()))),
            Err(_) => {
                let error = GraphError::new(9_004, "Only photo or video can be accepted as media type.");
                let words = "The media could not be fetched from this URI.";
                return Err(error.subcode(2_207_052).for_people("Media download has failed.", words));
            }
        };
        let fault = if is_video {
            VIDEOS.check(&file).map(video_error_code).or_else(|| find_video_error(file.facts))
        } else {
            None
        };
        if let Some(wrong) = IMAGES.check(&file).filter(|_| !is_video) {
            return Err(image_error(wrong));
        }
        content.files.push(File { file, words });
        Ok((content, fault.map(str::to_owned)))
    }

    /// A carousel of processed containers.
    fn read_carousel(&self, mut fields: Fields) -> Result<Content, GraphError> {
        let children = fields.list("children")?.ok_or_else(|| GraphError::missing("children"))?;
        if !(2..=20).contains(&children.len()) {
            return Err(GraphError::param("Param children must have 2 to 20 items"));
        }
        let (memory, now, mut files) = (self.memory(), self.clock.now(), Vec::new());
        for child in &children {
            let container = memory.containers.get(child).ok_or_else(no_media)?;
            match container.state(now) {
                LimitUsage::Ready if container.content.is_item => files.extend(container.content.files.clone()),
                LimitUsage::Ready => return Err(GraphError::param("Param children has one that is no carousel item")),
                LimitUsage::Expired => return Err(no_media()),
                _ => return Err(GraphError::param("Param children has one that is not FINISHED")),
            }
        }
        let content = read_post_options(&mut fields, json!({}), files)?;
        fields.end()?;
        Ok(content)
    }
}

/// The error for an id that does not exist, or not yet.
pub(super) fn no_media() -> GraphError {
    let message = "The media with this id cannot be found.";
    GraphError::new(24, "The requested resource does not exist")
        .subcode(4_279_009)
        .for_people("Media Not Found", message)
}

impl Memory {
    fn make(&mut self, content: Content, failure: Option<String>, now: DateTime<Utc>) -> String {
        let [read_text, of_image, of_video] = WORK;
        let of_file = |it: &File| match it.file.mime_type.file_type() {
            FileType::Image => of_image,
            FileType::Video | FileType::Document => of_video,
        };
        let work = content.files.iter().map(of_file).chain([read_text]).max().unwrap_or(TimeDelta::zero());
        self.containers.make(&mut self.ids, content, work, failure, now)
    }
}
