//! The publish call.
//!
//! Facts: there is no idempotency key. A picture is shown by one post, once; a video is published
//! by its id, once; the same text as in the previous post is refused (506).

use std::time::Duration;

use chrono::TimeDelta;
use domain::delivery::{AttemptError, Published};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

use super::kind::Form;
use super::preparation::Progress;
use super::status::Status;
use super::video::{self, Video};
use super::{Facebook, LINK, VIDEO_TITLE, look_up};
use crate::caller::Caller;
use crate::kit::{CallError, Effect, ErrorKind};
use crate::meta::GraphId;
use crate::publish_request::PublishRequest;

/// Long, because the outcome of a call that is cut off has to be looked up.
const PUBLISH: Duration = Duration::from_secs(28);

/// For the permalink, which is optional.
const ASK: Duration = Duration::from_secs(8);

/// If older pictures are refused, Facebook may have deleted them.
const FORGOTTEN: TimeDelta = TimeDelta::hours(1);

#[derive(Deserialize)]
struct CreatedPost {
    id: GraphId,
}

#[derive(Deserialize)]
struct CreatedStory {
    post_id: GraphId,
}

#[derive(Deserialize)]
struct Permalink {
    permalink_url: Option<String>,
}

pub(super) async fn publish(facebook: &Facebook, request: &PublishRequest<'_>) -> Result<Published, AttemptError> {
    let (form, progress) = (Form::from_request(request)?, Progress::load_unexpired(request));
    if !progress.is_whole(form) {
        return Err(AttemptError::PreparationExpired { reason: "not every file is uploaded".to_owned() });
    }
    match (form, &progress.video) {
        (Form::Post(_), _) => post(facebook, request, &progress).await,
        (Form::PhotoStory(_), _) => photo_story(facebook, request, &progress).await,
        (_, Some(video)) => publish_video(facebook, request, form, video).await,
        (_, None) => Err(AttemptError::PreparationExpired { reason: "the video is not uploaded".to_owned() }),
    }
}

async fn post(
    facebook: &Facebook,
    request: &PublishRequest<'_>,
    progress: &Progress,
) -> Result<Published, AttemptError> {
    let mut fields = Vec::new();
    if !request.text.is_empty() {
        fields.push(("message".to_owned(), request.text.to_owned()));
    }
    if let Some(link) = request.options.text(LINK).filter(|_| request.media.is_empty()) {
        fields.push(("link".to_owned(), link.to_owned()));
    }
    for (at, photo) in progress.photos.iter().enumerate() {
        fields.push((format!("attached_media[{at}]"), json!({ "media_fbid": photo.id.as_str() }).to_string()));
    }
    let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let path = format!("/{}/feed", request.profile.account_id);
    match facebook
        .graph
        .post::<CreatedPost>(Effect::Public, Caller::for_request(request), &path, &fields, PUBLISH)
        .await
    {
        Ok(answered) => {
            let id = answered.body.id;
            let url = permalink(facebook, request, id.as_str()).await;
            Ok(Published::new(id, request.now).with_url(Some(url)))
        }
        Err(error) => Err(post_error(facebook, request, progress, error).await),
    }
}

async fn post_error(
    facebook: &Facebook,
    request: &PublishRequest<'_>,
    progress: &Progress,
    error: CallError,
) -> AttemptError {
    let error = facebook.graph.confirmed(request, error).await;
    let has_old_photos = progress.photos.iter().any(|it| it.at + FORGOTTEN < request.now);
    let may_be_about_a_photo = error.kind == ErrorKind::InvalidPost || error.is_missing();
    if has_old_photos && may_be_about_a_photo && error.kind != ErrorKind::Unauthorized {
        return AttemptError::PreparationExpired { reason: error.message };
    }
    // Only our post can show our pictures already (1366051). The same text may be another post's, unless an earlier call
    // arrived.
    let may_be_ours = request.may_have_published || error.has_code(&["1366051"]);
    if error.kind == ErrorKind::Duplicate && !may_be_ours {
        return AttemptError::Refused {
            reason: format!(
                "the Page's latest post has the same text, and Facebook refuses the same text twice in a row ({}); change the text",
                error.message
            ),
        };
    }
    error.may_have_published(may_be_ours).into()
}

/// The URL of a post. An error is ignored.
async fn permalink(facebook: &Facebook, request: &PublishRequest<'_>, id: &str) -> String {
    let path = format!("/{id}");
    let call = facebook.graph.get::<Permalink>(Caller::for_request(request), &path, &[("fields", "permalink_url")]);
    let permalink =
        tokio::time::timeout(ASK, call).await.ok().and_then(Result::ok).and_then(|it| it.body.permalink_url);
    permalink.map_or_else(|| look_up::address(id), |it| look_up::whole(&it))
}

async fn photo_story(
    facebook: &Facebook,
    request: &PublishRequest<'_>,
    progress: &Progress,
) -> Result<Published, AttemptError> {
    let fields: Vec<_> = progress.photos.iter().map(|it| ("photo_id", it.id.as_str())).collect();
    let path = format!("/{}/photo_stories", request.profile.account_id);
    match facebook
        .graph
        .post::<CreatedStory>(Effect::Public, Caller::for_request(request), &path, &fields, PUBLISH)
        .await
    {
        Ok(answered) => Ok(Published::new(answered.body.post_id, request.now)),
        // A picture of ours is in no other story.
        Err(error)
            if request.may_have_published && matches!(error.kind, ErrorKind::Duplicate | ErrorKind::InvalidPost) =>
        {
            match look_up::story(facebook, request, progress).await {
                Ok(Some(published)) => Ok(published),
                Ok(None) | Err(_) => Err(post_error(facebook, request, progress, error).await),
            }
        }
        Err(error) => Err(post_error(facebook, request, progress, error).await),
    }
}

async fn publish_video(
    facebook: &Facebook,
    request: &PublishRequest<'_>,
    form: Form<'_>,
    video: &Video,
) -> Result<Published, AttemptError> {
    let (graph, path) = video::edge(facebook, request, form);
    let mut fields = vec![("upload_phase", "finish"), video.name()];
    if matches!(form, Form::Reel(_)) {
        fields.push(("video_state", "PUBLISHED"));
    }
    if !matches!(form, Form::VideoStory(_)) {
        fields.extend(Some(request.text).filter(|it| !it.is_empty()).map(|it| ("description", it)));
        fields.extend(request.options.text(VIDEO_TITLE).map(|it| ("title", it)));
    }
    match graph.post::<IgnoredAny>(Effect::Public, Caller::for_request(request), &path, &fields, PUBLISH).await {
        Ok(_) => Ok(look_up::published(request, form, video, request.now)),
        Err(error) => Err(video_error(facebook, request, video, error).await),
    }
}

/// The consequence of a refused video. Facebook refuses one that was published before.
async fn video_error(
    facebook: &Facebook,
    request: &PublishRequest<'_>,
    video: &Video,
    error: CallError,
) -> AttemptError {
    if error.kind != ErrorKind::Duplicate && !error.is_expired_object() {
        return error.into();
    }
    match Status::fetch(facebook, Caller::for_request(request), video.id.as_str()).await {
        Ok(status) if status.body.is_expired() => AttemptError::PreparationExpired { reason: error.message },
        Ok(status) if status.body.is_public() || status.body.is_publishing() => {
            AttemptError::Unknown { may_still_run: false, retry_at: None, reason: error.message }
        }
        Err(_) if request.may_have_published => {
            AttemptError::Unknown { may_still_run: false, retry_at: None, reason: error.message }
        }
        Ok(_) | Err(_) => facebook.graph.confirmed(request, error).await.into(),
    }
}
