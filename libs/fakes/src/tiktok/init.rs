//! The init calls: what a post will be, and how its files arrive.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use chrono::TimeDelta;
use http::HeaderMap;
use serde_json::{Value, json};
use url::Url;

use super::posts::Post;
use super::upload::{self, Upload};
use super::{ApiError, ApiResult, Fake, Memory, fields, invalid, refusal, success};
use crate::fake::oauth::Grant;
use crate::meta::fetched::{NotFetched, fetch};

pub(super) const DIRECT_VIDEO: &str = "/v2/post/publish/video/init/";
pub(super) const INBOX_VIDEO: &str = "/v2/post/publish/inbox/video/init/";
pub(super) const PHOTOS: &str = "/v2/post/publish/content/init/";

const MAX_PHOTOS: usize = 35;

/// How long the creator's info counts as recent.
const RECENT: TimeDelta = TimeDelta::minutes(5);

/// `POST /v2/post/publish/video/init/`
pub(super) async fn direct_video(State(fake): State<Arc<Fake>>, headers: HeaderMap, body: Bytes) -> ApiResult {
    let grant = fake.accept(&headers, DIRECT_VIDEO, &["video.publish"])?;
    let request = fields::body(&headers, &body, "post_info:object! source_info:object!")?;
    let known = "privacy_level:string title:string disable_duet:bool disable_stitch:bool disable_comment:bool \
                 video_cover_timestamp_ms:int brand_content_toggle:bool! brand_organic_toggle:bool! is_aigc:bool";
    fields::check(&request["post_info"], known)?;
    let text = text(&request, "title", 2_200)?;
    let publish_id = "v_pub_file~v2-1.".to_owned();
    fake.begin_video(&grant, Post { publish_id, request, text, is_direct: true, ..Post::default() })
}

/// `POST /v2/post/publish/inbox/video/init/`
pub(super) async fn inbox_video(State(fake): State<Arc<Fake>>, headers: HeaderMap, body: Bytes) -> ApiResult {
    let grant = fake.accept(&headers, INBOX_VIDEO, &["video.upload"])?;
    let request = fields::body(&headers, &body, "source_info:object!")?;
    let publish_id = "v_inbox_file~v2.".to_owned();
    fake.begin_video(&grant, Post { publish_id, request, ..Post::default() })
}

/// `POST /v2/post/publish/content/init/`
pub(super) async fn photos(State(fake): State<Arc<Fake>>, headers: HeaderMap, body: Bytes) -> ApiResult {
    // The scope depends on a field of the body.
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let is_direct = request["post_mode"] == "DIRECT_POST";
    let scope = if is_direct { "video.publish" } else { "video.upload" };
    let grant = fake.accept(&headers, PHOTOS, &[scope])?;
    let known = "media_type:string! post_mode:string! post_info:object! source_info:object!";
    fields::body(&headers, &body, known)?;
    let direct = "title:string description:string privacy_level:string disable_comment:bool auto_add_music:bool \
                  brand_content_toggle:bool! brand_organic_toggle:bool!";
    fields::check(&request["post_info"], if is_direct { direct } else { "title:string description:string" })?;
    let source = &request["source_info"];
    fields::check(source, "source:string! photo_images:strings! photo_cover_index:int!")?;
    let urls = source["photo_images"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let urls: Vec<_> = urls.map(str::to_owned).collect();
    let has_mode = is_direct || request["post_mode"] == "MEDIA_UPLOAD";
    if request["media_type"] != "PHOTO" || source["source"] != "PULL_FROM_URL" || !has_mode {
        return Err(invalid("media_type, post_mode or source is invalid"));
    }
    let has_cover = source["photo_cover_index"].as_u64().is_some_and(|it| it < urls.len() as u64);
    if MAX_PHOTOS < urls.len() || !has_cover {
        return Err(invalid("photo_images: 1 to 35, photo_cover_index: one of them"));
    }
    text(&request, "title", 90)?;
    let text = text(&request, "description", 4_000)?;
    let post = Post { publish_id: "p_pub_url~v2.".to_owned(), request, text, is_direct, ..Post::default() };
    let post = fake.memory().check(&grant, &urls, Post { begun_at: fake.clock.now(), ..post })?;

    let (files, reason) = fetch_all(&urls).await;
    let mut memory = fake.memory();
    let reason = memory.fail_reason.take().or_else(|| reason.map(str::to_owned));
    memory.fetched_urls.extend(urls);
    let post = memory.add(Post { files, ..post });
    post.receive(reason, post.begun_at);
    Ok(success(&json!({ "publish_id": post.publish_id })))
}

/// TikTok fetches after its response, with an outcome that only the status shows. The fake fetches before,
/// so that tests need not wait.
async fn fetch_all(urls: &[String]) -> (Vec<Vec<u8>>, Option<&'static str>) {
    let (mut files, mut reason) = (Vec::new(), None);
    for url in urls {
        match fetch(url, &[]).await {
            Ok(file) => files.push(file.bytes),
            Err(NotFetched::NoMedium) => reason = Some("file_format_check_failed"),
            Err(_) => reason = Some("photo_pull_failed"),
        }
    }
    (files, reason)
}

/// A text of at most `max` UTF-16 code units.
fn text(request: &Value, name: &str, max: usize) -> Result<String, ApiError> {
    let text = request["post_info"][name].as_str().unwrap_or_default();
    let is_short = text.encode_utf16().count() <= max;
    is_short.then(|| text.to_owned()).ok_or_else(|| invalid(&format!("{name}: at most {max} characters")))
}

impl Fake {
    fn begin_video(&self, grant: &Grant, post: Post) -> ApiResult {
        let upload = Upload::plan(&post.request["source_info"])?;
        let upload_url = format!("{}{}?{}", self.base_url(), upload::PATH, upload.query);
        let post = Post { upload: Some(upload), begun_at: self.clock.now(), ..post };
        let mut memory = self.memory();
        let post = memory.check(grant, &[], post)?;
        let publish_id = &memory.add(post).publish_id;
        Ok(success(&json!({ "publish_id": publish_id, "upload_url": upload_url })))
    }
}

impl Memory {
    /// Accepts a post whose fields are valid.
    fn check(&mut self, grant: &Grant, urls: &[String], post: Post) -> Result<Post, ApiError> {
        let (now, info) = (post.begun_at, &post.request["post_info"]);
        if !urls.iter().all(|it| self.owns(it)) {
            return Err(refusal(403, "url_ownership_unverified", "Verify the ownership of the URL prefix or domain."));
        }
        if !post.is_direct {
            return Ok(post);
        }
        let level = info["privacy_level"].as_str().unwrap_or_default();
        if !self.privacy_levels().contains(&level) {
            return Err(refusal(403, "privacy_level_option_mismatch", "The privacy_level is not among the options."));
        }
        if self.is_unaudited && !(self.is_private && level == "SELF_ONLY") {
            let code = "unaudited_client_can_only_post_to_private_accounts";
            return Err(refusal(403, code, "Unaudited clients can only post to a private account."));
        }
        if info["brand_content_toggle"] == true && level == "SELF_ONLY" {
            return Err(invalid("Branded content visibility cannot be set to private."));
        }
        let query = self.creator_info_query.as_ref();
        self.had_creator_info = query.is_some_and(|(token, at)| *token == grant.access_token && now - *at <= RECENT);
        Ok(post)
    }

    fn owns(&self, url: &str) -> bool {
        let Some(domains) = &self.verified_domains else { return true };
        let url = Url::parse(url).ok();
        let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
        domains.iter().any(|it| host.strip_suffix(it.as_str()).is_some_and(|it| it.is_empty() || it.ends_with('.')))
    }
}
