//! The publish call: a video becomes visible, or a comment is added. Their look-ups.

use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::delivery::{AttemptError, Published, Resolution};
use domain::media::Attachment;
use domain::post::SegmentKind;
use http::Method;
use serde::Deserialize;
use serde_json::json;

use super::upload::{Uploaded, Video, VideoStatus, published_status};
use super::{PRIVATE, PUBLIC, Page, TITLE, VISIBILITY, YouTube, is_id};
use crate::kit::{
    Auth, CallError, Effect, File, ListedPost, LookUpMethod, MediaSource, Part, PostPage, Prepared, PublishAdapter,
    UploadState, UploadStep,
};
use crate::platform::{FollowUp, Followed};
use crate::publish_request::PublishRequest;
use crate::recognition::PostMatch;

const PUBLISH_TIMEOUT: Duration = Duration::from_secs(20);

const COMMENTS_PER_PAGE: &str = "100";
const COMMENT_PAGE_BYTES: usize = 2 << 20;

#[derive(Deserialize)]
struct CommentThread {
    id: String,
    snippet: ThreadSnippet,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ThreadSnippet {
    top_level_comment: Comment,
}

#[derive(Deserialize)]
struct Comment {
    snippet: CommentSnippet,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CommentSnippet {
    /// For the author only.
    text_original: Option<String>,
    text_display: Option<String>,
    published_at: Option<String>,
    author_channel_id: Option<ChannelId>,
}

#[derive(Deserialize)]
struct ChannelId {
    value: String,
}

impl PublishAdapter for YouTube {
    const TITLE: &'static str = TITLE;
    /// A video is found by its id. Comments on our own new video are distinguished by their author.
    const RECOGNIZES: bool = false;

    type Uploaded = Uploaded;

    fn media_source(&self, _: &PublishRequest<'_>, _: &Attachment) -> MediaSource {
        MediaSource::Original
    }

    async fn upload(&self, request: &PublishRequest<'_>, file: &File<'_>) -> Result<UploadStep<Uploaded>, CallError> {
        self.begin_upload(request, file).await
    }

    async fn send_part(
        &self,
        request: &PublishRequest<'_>,
        file: &File<'_>,
        state: &UploadState,
        part: Part,
    ) -> Result<String, CallError> {
        self.send_part_of_video(request, file, state, part).await
    }

    async fn finish_upload(
        &self,
        request: &PublishRequest<'_>,
        _: &File<'_>,
        state: &UploadState,
    ) -> Result<UploadStep<Uploaded>, CallError> {
        self.finish_video(request, state)
    }

    async fn upload_status(
        &self,
        request: &PublishRequest<'_>,
        _: &File<'_>,
        state: &UploadState,
    ) -> Result<UploadStep<Uploaded>, CallError> {
        self.processing_status(request, state).await
    }

    async fn create_post(
        &self,
        request: &PublishRequest<'_>,
        prepared: &Prepared<'_, Uploaded>,
    ) -> Result<Published, CallError> {
        if request.segment == SegmentKind::Comment {
            return self.comment(request).await;
        }
        let (id, visibility) = (video_id(prepared)?, visibility(request));
        let current = self.video(Auth::post(request), id, "status").await?.map(|it| it.status);
        if let Some(reason) = current.as_ref().and_then(VideoStatus::refusal) {
            return Err(CallError::invalid_post(reason));
        }
        if current.as_ref().is_some_and(|it| it.privacy_status == visibility) {
            return Ok(published_video(id, request.now));
        }
        let status = published_status(request, visibility, current.as_ref());
        let call = self.api.call(Auth::post(request), Method::PUT, &["youtube", "v3", "videos"]).effect(Effect::Public);
        let call = call.query(&[("part", "status")]).json(&json!({ "id": id, "status": status }));
        let video: Video = call.timeout(PUBLISH_TIMEOUT).read().await?;
        if video.id != id {
            return Err(self.api.unreadable(Effect::Public));
        }
        if video.status.privacy_status == PRIVATE && visibility != PRIVATE && self.is_audited {
            tracing::error!("YouTube kept a video private, as for a project that has not passed the audit");
        }
        Ok(published_video(id, request.now))
    }

    fn look_up_method(&self, request: &PublishRequest<'_>) -> LookUpMethod {
        match request.segment {
            SegmentKind::Comment => LookUpMethod::List { snapshot: false },
            SegmentKind::Post | SegmentKind::Reply => LookUpMethod::Reference,
        }
    }

    /// The publish call changes the visibility, so it is known whether it took effect, and a repetition is harmless.
    async fn find_post(
        &self,
        request: &PublishRequest<'_>,
        prepared: &Prepared<'_, Uploaded>,
    ) -> Result<Resolution, CallError> {
        let id = video_id(prepared)?;
        Ok(match self.video(Auth::post(request), id, "status").await? {
            Some(it) if it.status.privacy_status != PRIVATE || visibility(request) == PRIVATE => {
                Resolution::Found(published_video(id, request.called_at))
            }
            Some(_) => Resolution::NotPublished,
            None => Resolution::Undeterminable { advice: "the video was deleted from the channel".to_owned() },
        })
    }

    async fn list_posts(
        &self,
        request: &PublishRequest<'_>,
        _: Option<DateTime<Utc>>,
        page: Option<&str>,
    ) -> Result<PostPage, CallError> {
        let video = commented_video(request)?;
        let call = self.api.get(Auth::post(request), &["youtube", "v3", "commentThreads"]);
        let call = call.query(&[("part", "snippet"), ("videoId", video), ("order", "time")]);
        let call = call.query(&[("maxResults", COMMENTS_PER_PAGE), ("textFormat", "plainText")]);
        let call = call.query(&page.iter().map(|it| ("pageToken", it)).collect::<Vec<_>>());
        let page: Page<CommentThread> = call.max_bytes(COMMENT_PAGE_BYTES).read().await?;
        let listed = |thread: CommentThread| {
            let CommentSnippet { text_original, text_display, published_at, author_channel_id } =
                thread.snippet.top_level_comment.snippet;
            let at = published_at.and_then(|it| DateTime::parse_from_rfc3339(&it).ok());
            ListedPost {
                at: at.map(|it| it.to_utc()),
                url: Some(comment_url(video, &thread.id)),
                content: json!([author_channel_id.map(|it| it.value), text_original.or(text_display)]),
                id: thread.id,
                ..ListedPost::default()
            }
        };
        let posts = page.items.into_iter().filter(|it| is_id(&it.id)).map(listed).collect();
        Ok(PostPage { posts, next: page.next, is_sorted: true })
    }

    fn compare(&self, request: &PublishRequest<'_>, _: &Prepared<'_, Uploaded>, listed: &ListedPost) -> PostMatch {
        let is_ours = listed.content[0].as_str() == Some(&request.profile.account_id);
        let text = listed.content[1].as_str().unwrap_or_default();
        // YouTube may change the white space.
        let is_same = text.split_whitespace().eq(request.text.split_whitespace());
        if is_ours && is_same { PostMatch::Equal } else { PostMatch::Different }
    }

    fn follow_ups(&self, request: &PublishRequest<'_>) -> Vec<&'static str> {
        Self::follow_up_names(request)
    }

    async fn follow_up(
        &self,
        request: &PublishRequest<'_>,
        follow_up: &FollowUp<'_>,
    ) -> Result<Followed, AttemptError> {
        self.take_follow_up(request, follow_up).await
    }
}

impl YouTube {
    async fn comment(&self, request: &PublishRequest<'_>) -> Result<Published, CallError> {
        let video = commented_video(request)?;
        let comment = json!({ "snippet": { "textOriginal": request.text } });
        let channel = &request.profile.account_id;
        let body = json!({ "snippet": { "channelId": channel, "videoId": video, "topLevelComment": comment } });
        let call = self.api.post(Auth::post(request), &["youtube", "v3", "commentThreads"]).effect(Effect::Public);
        let call = call.query(&[("part", "snippet")]).json(&body).timeout(PUBLISH_TIMEOUT);
        let CommentThread { id, .. } = call.read().await?;
        if !is_id(&id) {
            return Err(self.api.unreadable(Effect::Public));
        }
        Ok(Published::new(id.clone(), request.now).with_url(Some(comment_url(video, &id))))
    }
}

fn visibility<'a>(request: &PublishRequest<'a>) -> &'a str {
    request.options.text(VISIBILITY).unwrap_or(PUBLIC)
}

fn video_id<'a>(prepared: &Prepared<'a, Uploaded>) -> Result<&'a str, CallError> {
    let id = prepared.files.iter().find_map(|it| match it.uploaded {
        Uploaded::Video { id } => Some(id.as_str()),
        Uploaded::Thumbnail => None,
    });
    id.ok_or_else(|| CallError::invalid_post("a post on YouTube needs a video"))
}

fn commented_video<'a>(request: &PublishRequest<'a>) -> Result<&'a str, CallError> {
    let video = request.commented_post().map(|it| it.platform_post_id.as_str());
    video.ok_or_else(|| CallError::invalid_post("a comment needs a published video"))
}

fn published_video(id: &str, at: DateTime<Utc>) -> Published {
    Published::new(id, at).with_url(Some(format!("https://www.youtube.com/watch?v={id}")))
}

fn comment_url(video: &str, comment: &str) -> String {
    format!("https://www.youtube.com/watch?v={video}&lc={comment}")
}
