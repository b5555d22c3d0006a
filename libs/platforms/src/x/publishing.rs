//! Files, the publish call, and the look-up.
//!
//! Facts: pictures are sent with one call. Other files are announced with their size, sent in
//! numbered parts, at most a thousand, and finalized; X then processes them, and returns when to
//! check again. A part may be sent again. A file that no post shows is forgotten after a day.
//! Source: fact sheet, "Media".

#[cfg(any(test, feature = "testing"))]
pub(crate) mod recordings;

use std::time::Duration;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use domain::delivery::Published;
use domain::media::{AltText, Attachment, FileType, MimeType, PictureBounds};
use http::StatusCode;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::errors::timed;
use super::listed_text::{Entities, is_same_text};
use super::post::Media;
use super::{Data, MAX_SECONDS, TITLE, X, is_id, post};
use crate::kit::{
    Auth, Call, CallError, Effect, ErrorKind, File, ListedPost, LookUpMethod, MediaSource, Part, PostPage, Prepared,
    PublishAdapter, UploadState, UploadStep,
};
use crate::multipart::Form;
use crate::publish_request::PublishRequest;
use crate::recognition::PostMatch;
use crate::response;

pub(super) const BOUNDS: PictureBounds = PictureBounds::new(5_000_000, 8_192);

/// The largest file has 489 parts. X's guide and the most used clients use this size; 5 MB were
/// refused with 413.
const PART_BYTES: u64 = 1 << 20;

/// For a picture, or a part.
const FILE_TIMEOUT: Duration = Duration::from_secs(15);

/// Long, because finding out the outcome costs money.
const PUBLISH_TIMEOUT: Duration = Duration::from_secs(30);

/// The longest pause between two status calls of a file, in seconds.
const LONGEST_PAUSE: u32 = 60;

/// Enough for a page of 100 long posts.
const PAGE_BYTES: usize = 4 << 20;

/// Fields of posts by their two names: since July 2026 X's description says "post", its guides say "tweet". The
/// description has no field with the parent of a reply.
const FIELDS: [(&str, &str); 2] = [
    ("tweet.fields", "created_at,text,attachments,entities,note_tweet,conversation_id,referenced_tweets"),
    ("post.fields", "created_at,text,attachments,entities,note_post,conversation_id"),
];

#[derive(Deserialize)]
struct MediaResponse {
    id: String,
    media_key: Option<String>,
    expires_after_secs: Option<u32>,
    processing_info: Option<ProcessingInfo>,
}

#[derive(Deserialize)]
struct ProcessingInfo {
    state: String,
    check_after_secs: Option<u32>,
    error: Option<ProcessingError>,
}

#[derive(Deserialize)]
struct ProcessingError {
    message: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize)]
struct CreatedPost {
    id: String,
}

#[derive(Deserialize)]
struct Posts {
    /// Absent if there are none.
    #[serde(default)]
    data: Vec<AccountPost>,
    meta: Meta,
    /// The posts that are missing in `data`.
    #[serde(default)]
    errors: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
struct Meta {
    result_count: usize,
    next_token: Option<String>,
}

#[derive(Deserialize)]
struct AccountPost {
    id: String,
    text: String,
    created_at: DateTime<Utc>,
    #[serde(default)]
    attachments: Attachments,
    #[serde(default)]
    entities: Entities,
    conversation_id: Option<String>,
    #[serde(default)]
    referenced_tweets: Vec<Reference>,
    /// The full text of a long post.
    note_tweet: Option<LongText>,
    note_post: Option<LongText>,
}

#[derive(Deserialize)]
struct Reference {
    #[serde(rename = "type")]
    kind: String,
    id: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Attachments {
    media_keys: Vec<String>,
}

#[derive(Deserialize)]
struct LongText {
    text: String,
    #[serde(default)]
    entities: Entities,
}

/// The part of a post that [`PublishAdapter::compare`] needs.
#[derive(Serialize, Deserialize)]
struct Content {
    /// In the place of ours: after the same post, or as no reply.
    has_our_text: bool,
    media_keys: Vec<String>,
}

impl PublishAdapter for X {
    const TITLE: &'static str = TITLE;
    const LOOK_UPS_ARE_BILLED: bool = true;

    type Uploaded = Media;

    fn media_source(&self, _: &PublishRequest<'_>, file: &Attachment) -> MediaSource {
        if is_picture(file) { MediaSource::FittedIfLarger(BOUNDS) } else { MediaSource::Original }
    }

    async fn upload(&self, request: &PublishRequest<'_>, file: &File<'_>) -> Result<UploadStep<Media>, CallError> {
        if is_picture(file.attachment) {
            let form = Form::new().text("media_category", "tweet_image");
            let form = form.file(("media", "media"), file.mime_type(), file.size_bytes(), file.open(request).await?);
            let media =
                self.media(request, self.upload_call(request, &[]).timeout(FILE_TIMEOUT).multipart(form)).await?;
            let state = UploadState::new(media.id).with_extra(json!({ "key": media.media_key }));
            return Ok(match alt_text(file) {
                Some(_) => UploadStep::Processing(state, Some(TimeDelta::zero())),
                None => UploadStep::Uploaded(uploaded(&state)),
            });
        }
        let body = json!({
            "media_type": file.mime_type().as_str(),
            "total_bytes": file.size_bytes(),
            "media_category": category(file),
        });
        let media = self.media(request, self.upload_call(request, &["initialize"]).json(&body)).await?;
        let expires_at = media.expires_after_secs.map(|it| request.now + TimeDelta::seconds(it.into()));
        let state = UploadState::in_parts(media.id, PART_BYTES).with_extra(json!({ "key": media.media_key }));
        Ok(UploadStep::Parts(state.expires_at(expires_at)))
    }

    async fn send_part(
        &self,
        request: &PublishRequest<'_>,
        file: &File<'_>,
        state: &UploadState,
        Part { index, range, bytes }: Part,
    ) -> Result<String, CallError> {
        let form = Form::new().text("segment_index", &index.to_string());
        let form = form.file(("media", "media"), file.mime_type(), range.end - range.start, bytes);
        let call = self.upload_call(request, &[&state.id, "append"]).timeout(FILE_TIMEOUT).multipart(form);
        // The description has a response body, X's own playground has none.
        call.expect_success().await.map_err(|it| upload_error(it, request)).map(|()| String::new())
    }

    async fn finish_upload(
        &self,
        request: &PublishRequest<'_>,
        file: &File<'_>,
        state: &UploadState,
    ) -> Result<UploadStep<Media>, CallError> {
        // X requires a JSON object, although its description names no body.
        let call = self.upload_call(request, &[&state.id, "finalize"]).json(&json!({}));
        let media = self.media(request, call).await?;
        let mut state = state.clone();
        state.extra["is_finalized"] = true.into();
        Ok(match (processed(&state, media.processing_info), alt_text(file)) {
            (UploadStep::Uploaded(_), Some(_)) => UploadStep::Processing(state, Some(TimeDelta::zero())),
            (step, _) => step,
        })
    }

    async fn upload_status(
        &self,
        request: &PublishRequest<'_>,
        file: &File<'_>,
        state: &UploadState,
    ) -> Result<UploadStep<Media>, CallError> {
        let step = if is_picture(file.attachment) {
            UploadStep::Uploaded(uploaded(state))
        } else {
            let status = [("command", "STATUS"), ("media_id", &state.id)];
            // An error means the same as an error of an upload.
            let call = self
                .api(request.credentials)
                .get(Auth::post(request), &["2", "media", "upload"])
                .effect(Effect::Private);
            let media = self.media(request, call.query(&status)).await?;
            // The status of an upload that was never finalized looks like that of a ready one.
            if media.processing_info.is_none() && state.extra["is_finalized"] != true {
                let message = "X did not report whether the upload is complete";
                return Err(CallError::new(ErrorKind::PreparationExpired, Effect::Private, message));
            }
            processed(state, media.processing_info)
        };
        if let (UploadStep::Uploaded(media), Some(text)) = (&step, alt_text(file)) {
            let body = json!({ "id": media.id, "metadata": { "alt_text": { "text": text.as_str() } } });
            let call = self.api(request.credentials).post(Auth::post(request), &["2", "media", "metadata"]);
            call.effect(Effect::Private).json(&body).expect_success().await.map_err(|it| upload_error(it, request))?;
        }
        Ok(step)
    }

    async fn create_post(
        &self,
        request: &PublishRequest<'_>,
        prepared: &Prepared<'_, Media>,
    ) -> Result<Published, CallError> {
        let post = post::new_post(request, prepared)?;
        let call = self.api(request.credentials).post(Auth::post(request), &["2", "tweets"]).effect(Effect::Public);
        let created: Result<Data<CreatedPost>, _> = call.json(&post).timeout(PUBLISH_TIMEOUT).read().await;
        let Data { data: CreatedPost { id } } = created.map_err(|it| timed(it, request))?;
        if !is_id(&id) {
            return Err(self.api(request.credentials).unreadable(Effect::Public));
        }
        let url = match &request.profile.username {
            Some(name) => format!("https://x.com/{name}/status/{id}"),
            None => post_url(&id),
        };
        Ok(Published::new(id, request.now).with_url(Some(url)))
    }

    fn look_up_method(&self, _: &PublishRequest<'_>) -> LookUpMethod {
        LookUpMethod::List { snapshot: false }
    }

    async fn list_posts(
        &self,
        request: &PublishRequest<'_>,
        since: Option<DateTime<Utc>>,
        page: Option<&str>,
    ) -> Result<PostPage, CallError> {
        let [tweet, post] = FIELDS;
        let listed = match self.posts(request, since, page, tweet).await {
            Err(error) if error.is_status(StatusCode::BAD_REQUEST) && error.message.contains(tweet.0) => {
                self.posts(request, since, page, post).await
            }
            listed => listed,
        };
        let Posts { data, meta, errors } = listed?;
        if !errors.is_empty() || meta.result_count != data.len() {
            return Err(self.api(request.credentials).unreadable(Effect::Read));
        }
        let posts = data.into_iter().map(|post| {
            let (text, entities) = match post.note_post.or(post.note_tweet) {
                Some(note) => (note.text, note.entities),
                None => (post.text, post.entities),
            };
            let is_in_place = is_in_place(request, post.conversation_id.as_deref(), &post.referenced_tweets);
            let has_our_text = is_in_place && is_same_text(request.text, &text, &entities);
            let content = json!(Content { has_our_text, media_keys: post.attachments.media_keys });
            let (url, at) = (Some(post_url(&post.id)), Some(post.created_at));
            ListedPost { id: post.id, at, url, content, ..ListedPost::default() }
        });
        Ok(PostPage { posts: posts.collect(), next: meta.next_token, is_sorted: true })
    }

    /// No other post has a file that we uploaded. X does not accept the text of a post without
    /// files twice within a short time. So a listed post with our text is ours, or the owner of the
    /// account published the same text and X refused ours.
    fn compare(&self, _: &PublishRequest<'_>, prepared: &Prepared<'_, Media>, listed: &ListedPost) -> PostMatch {
        let Ok(Content { has_our_text, media_keys }) = Content::deserialize(&listed.content) else {
            return PostMatch::Possible;
        };
        let ours: Vec<&str> = prepared.files.iter().filter_map(|it| it.uploaded.key.as_deref()).collect();
        if !ours.is_empty() && media_keys == ours {
            return PostMatch::Exact;
        }
        match (has_our_text && media_keys.len() == prepared.files.len(), prepared.files.is_empty()) {
            (true, true) => PostMatch::Exact,
            // In case X gives files new names.
            (true, false) => PostMatch::Possible,
            (false, _) => PostMatch::Different,
        }
    }
}

impl X {
    /// A call about files: nothing becomes public, and it may be repeated.
    fn upload_call(&self, request: &PublishRequest<'_>, path: &[&str]) -> Call {
        let path = [&["2", "media", "upload"], path].concat();
        self.api(request.credentials).post(Auth::post(request), &path).effect(Effect::Private)
    }

    async fn media(&self, request: &PublishRequest<'_>, call: Call) -> Result<MediaResponse, CallError> {
        let Data { data: media } = call.read::<Data<MediaResponse>>().await.map_err(|it| upload_error(it, request))?;
        if is_id(&media.id) { Ok(media) } else { Err(CallError::unreadable(TITLE, Effect::Private)) }
    }

    /// A page of the account's posts. With replies, also for a post: X counts a text that begins
    /// with a mention as one.
    async fn posts(
        &self,
        request: &PublishRequest<'_>,
        since: Option<DateTime<Utc>>,
        page: Option<&str>,
        fields: (&str, &str),
    ) -> Result<Posts, CallError> {
        let call = self
            .api(request.credentials)
            .get(Auth::post(request), &["2", "users", &request.profile.account_id, "tweets"]);
        let call = call.query(&[("max_results", "100"), ("exclude", "retweets"), fields]);
        let since = since.map(|it| ("start_time", it.to_rfc3339_opts(SecondsFormat::Secs, true)));
        let page = page.map(|it| ("pagination_token", it.to_owned()));
        call.query(&since.into_iter().chain(page).collect::<Vec<_>>()).max_bytes(PAGE_BYTES).read().await
    }
}

fn is_in_place(request: &PublishRequest<'_>, conversation: Option<&str>, references: &[Reference]) -> bool {
    let parent = references.iter().find(|it| it.kind == "replied_to").map(|it| it.id.as_str());
    match request.reply_to {
        None => parent.is_none(),
        Some(ours) => {
            conversation == Some(ours.root.platform_post_id.as_str())
                && parent.is_none_or(|it| it == ours.parent.platform_post_id)
        }
    }
}

/// GIFs are processed like videos.
fn is_picture(file: &Attachment) -> bool {
    file.mime_type != MimeType::Gif && file.mime_type.file_type() == FileType::Image
}

/// Videos have no alternative text.
fn alt_text<'a>(file: &'a File<'_>) -> Option<&'a AltText> {
    file.alt_text().filter(|_| !file.is_video())
}

fn category(file: &File<'_>) -> &'static str {
    let duration_ms = file.attachment.facts.and_then(|it| it.duration_ms).unwrap_or_default();
    if !file.is_video() {
        "tweet_gif"
    } else if u64::from(MAX_SECONDS) * 1_000 < duration_ms {
        // Only accounts that pay X have such videos.
        "amplify_video"
    } else {
        "tweet_video"
    }
}

fn uploaded(state: &UploadState) -> Media {
    Media { id: state.id.clone(), key: state.extra["key"].as_str().map(str::to_owned) }
}

/// Without `processing_info` a file is ready.
fn processed(state: &UploadState, info: Option<ProcessingInfo>) -> UploadStep<Media> {
    let Some(ProcessingInfo { state: progress, check_after_secs, error }) = info else {
        return UploadStep::Uploaded(uploaded(state));
    };
    match progress.as_str() {
        "succeeded" => UploadStep::Uploaded(uploaded(state)),
        "failed" => {
            let why = error.and_then(|it| it.message.or(it.name)).unwrap_or_else(|| "no reason given".to_owned());
            UploadStep::Refused(format!("X could not process the file: {}", response::shown(&why)))
        }
        _ => {
            let pause = check_after_secs.unwrap_or(5).clamp(1, LONGEST_PAUSE);
            UploadStep::Processing(state.clone(), Some(TimeDelta::seconds(pause.into())))
        }
    }
}

/// With 404, X no longer knows the upload, so the file is uploaded again.
fn upload_error(error: CallError, request: &PublishRequest<'_>) -> CallError {
    let mut error = timed(error, request);
    if error.is_status(StatusCode::NOT_FOUND) {
        error.kind = ErrorKind::PreparationExpired;
    }
    error
}

fn post_url(id: &str) -> String {
    format!("https://x.com/i/web/status/{id}")
}
