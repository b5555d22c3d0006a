//! Posts after the init call: processing, status, and the list of public videos.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use chrono::{DateTime, TimeDelta, Utc};
use domain::media::{MimeType, VideoCodec};
use http::HeaderMap;
use serde_json::{Value, json};

use super::upload::Upload;
use super::{ApiResult, Fake, Memory, Params, USERNAME, fields, invalid, refusal, success};
use crate::meta::fetched::Fetched;

pub(super) const STATUS: &str = "/v2/post/publish/status/fetch/";

/// From the arrival of all bytes to the post, or to the notification in the inbox.
const PROCESSING: TimeDelta = TimeDelta::seconds(5);

/// From the post to its id: "usually finishes within one minute".
const MODERATION: TimeDelta = TimeDelta::seconds(20);

/// The longest videos. That of a direct post is the example of the documentation.
pub(super) const MAX_DIRECT_SECONDS: u64 = 300;
const MAX_INBOX_SECONDS: u64 = 600;

const MAX_PHOTO: usize = 20_000_000;

#[derive(Clone, Debug, Default)]
pub(super) struct Post {
    /// Empty for a post that was made in the app.
    pub(super) publish_id: String,
    pub(super) id: i64,
    pub(super) is_direct: bool,
    pub(super) request: Value,
    pub(super) text: String,
    pub(super) begun_at: DateTime<Utc>,
    /// `None` for photos.
    pub(super) upload: Option<Upload>,
    pub(super) files: Vec<Vec<u8>>,
    pub(super) received_at: Option<DateTime<Utc>>,
    pub(super) fail_reason: Option<String>,
    /// May be in the future.
    pub(super) posted_at: Option<DateTime<Utc>>,
}

impl Post {
    pub(super) fn receive(&mut self, fail_reason: Option<String>, now: DateTime<Utc>) {
        self.fail_reason = fail_reason.or_else(|| self.files.iter().find_map(|it| self.check(it)).map(str::to_owned));
        self.received_at = Some(now);
        self.posted_at = (self.is_direct && self.fail_reason.is_none()).then(|| now + PROCESSING);
    }

    pub(super) fn finish_in_app(&mut self, now: DateTime<Utc>) {
        if self.status(now)["status"] == "SEND_TO_USER_INBOX" {
            self.posted_at = Some(now);
        }
    }

    /// "Video restrictions" and "Image restrictions" of the media transfer guide, as far as the facts are
    /// known. "Maximum 1080p" is read as portrait: clients report that wider photos are refused.
    fn check(&self, bytes: &[u8]) -> Option<&'static str> {
        let is_photo = self.upload.is_none();
        let types = if is_photo { [MimeType::Jpeg, MimeType::Webp] } else { [MimeType::Mp4, MimeType::Quicktime] };
        let Some(file) = Fetched::from_bytes(bytes.to_vec()).filter(|it| types.contains(&it.mime_type)) else {
            return Some("file_format_check_failed");
        };
        let facts = file.facts;
        let (min, max_width, max_height) = if is_photo { (1, 1_080, 1_920) } else { (360, 4_096, 4_096) };
        let has_size = |width, height| (min..=max_width).contains(&width) && (min..=max_height).contains(&height);
        let max_seconds = if self.is_direct { MAX_DIRECT_SECONDS } else { MAX_INBOX_SECONDS };
        if matches!(facts.codec, Some(VideoCodec::Av1 | VideoCodec::Other)) || is_photo && MAX_PHOTO < bytes.len() {
            Some("file_format_check_failed")
        } else if facts.pixels.is_some_and(|it| !has_size(it.width, it.height)) {
            Some("picture_size_check_failed")
        } else if facts.milli_frames_per_second.is_some_and(|it| !(23_000..=60_000).contains(&it)) {
            Some("frame_rate_check_failed")
        } else {
            facts.duration_ms.filter(|it| max_seconds * 1_000 < *it).map(|_| "duration_check_failed")
        }
    }

    /// Whether the post has an id: if it is public, after moderation.
    fn has_id(&self, now: DateTime<Utc>) -> bool {
        let level = &self.request["post_info"]["privacy_level"];
        let is_public = level.is_null() || level == "PUBLIC_TO_EVERYONE";
        is_public && self.posted_at.is_some_and(|it| it + MODERATION <= now)
    }

    fn status(&self, now: DateTime<Utc>) -> Value {
        let [waiting, counted] = match self.upload {
            Some(_) => ["PROCESSING_UPLOAD", "uploaded_bytes"],
            None => ["PROCESSING_DOWNLOAD", "downloaded_bytes"],
        };
        let bytes: usize = self.files.iter().map(Vec::len).sum();
        let mut status = json!({ "status": waiting, "publicaly_available_post_id": [], counted: bytes });
        if self.received_at.is_none_or(|it| now < it + PROCESSING) {
            return status;
        }
        status["status"] = match &self.fail_reason {
            Some(_) => "FAILED",
            None if self.posted_at.is_some_and(|it| it <= now) => "PUBLISH_COMPLETE",
            None => "SEND_TO_USER_INBOX",
        }
        .into();
        status["fail_reason"] = self.fail_reason.clone().unwrap_or_default().into();
        status["publicaly_available_post_id"] = self.has_id(now).then_some(self.id).into_iter().collect();
        status
    }

    /// The documented maximum of both texts is 150 characters.
    fn listed(&self) -> Value {
        let text: String = self.text.chars().take(150).collect();
        let url = format!("https://www.tiktok.com/@{USERNAME}/video/{}", self.id);
        json!({ "id": self.id.to_string(), "title": text, "video_description": text, "share_url": url,
            "create_time": self.posted_at.map(|it| it.timestamp()), "duration": 10, "height": 1_920, "width": 1_080,
            "cover_image_url": url, "embed_html": "", "embed_link": url, "like_count": 0, "comment_count": 0,
            "share_count": 0, "view_count": 0, "is_aigc": false })
    }
}

impl Memory {
    /// Numbers a post. The ids of posts are larger than the integers of JavaScript.
    pub(super) fn add(&mut self, mut post: Post) -> &mut Post {
        let number = self.posts.len();
        post.id = 7_480_000_000_000_000_001 + i64::try_from(number).unwrap();
        if !post.publish_id.is_empty() {
            post.publish_id += &(123_456_789 + number).to_string();
        }
        self.posts.push(post);
        self.posts.last_mut().unwrap()
    }
}

/// `POST /v2/post/publish/status/fetch/`
pub(super) async fn status(State(fake): State<Arc<Fake>>, headers: HeaderMap, body: Bytes) -> ApiResult {
    fake.accept(&headers, STATUS, &["video.upload", "video.publish"])?;
    let body = fields::body(&headers, &body, "publish_id:string!")?;
    let (now, memory) = (fake.clock.now(), fake.memory());
    let post = memory.posts.iter().find(|it| body["publish_id"] == it.publish_id.as_str());
    let post = post.ok_or_else(|| refusal(400, "invalid_publish_id", "The publish_id does not exist."))?;
    Ok(success(&post.status(now)))
}

/// `POST /v2/video/list/`, newest first, without photos, which the documentation does not mention. The
/// cursor is a position. TikTok's is a time, which would skip posts of the same millisecond.
pub(super) async fn list(State(fake): State<Arc<Fake>>, query: Params, headers: HeaderMap, body: Bytes) -> ApiResult {
    fake.accept(&headers, "/v2/video/list/", &["video.list"])?;
    let body = fields::body(&headers, &body, "cursor:int max_count:int")?;
    let max = Some(body["max_count"].as_u64().unwrap_or(10)).filter(|it| (1..=20).contains(it));
    let max = usize::try_from(max.ok_or_else(|| invalid("max_count: 1 to 20"))?).unwrap();
    let start = usize::try_from(body["cursor"].as_u64().unwrap_or_default()).unwrap();
    fields::selected(&query, &Post::default().listed())?;
    let (now, memory) = (fake.clock.now(), fake.memory());
    let is_listed = |it: &&Post| it.has_id(now) && it.request["media_type"].is_null();
    let mut public: Vec<_> = memory.posts.iter().filter(is_listed).collect();
    public.sort_by_key(|it| it.posted_at);
    let page = public.iter().rev().skip(start).take(max).map(|it| fields::selected(&query, &it.listed()));
    let videos = page.collect::<Result<Vec<_>, _>>()?;
    let end = start + videos.len();
    Ok(success(&json!({ "videos": videos, "cursor": end, "has_more": end < public.len() })))
}
