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

/// The response of a publish call.
#[derive(Deserialize)]
struct Posted {
    id: GraphId,
}

#[derive(Deserialize)]
struct Told {
    post_id: GraphId,
}

#[derive(Deserialize)]
struct Permalink {
    permalink_url: Option<String>,
}

pub(super) async fn publish(of: &Facebook, job: &PublishRequest<'_>) -> Result<Published, AttemptError> {
    let (form, progress) = (Form::of(job)?, Progress::of(job));
    if !progress.is_whole(form) {
        return Err(AttemptError::PreparationExpired { reason: "not every file is uploaded".to_owned() });
    }
    match (form, &progress.video) {
        (Form::Post(_), _) => post(of, job, &progress).await,
        (Form::PhotoStory(_), _) => photo_story(of, job, &progress).await,
        (_, Some(video)) => publish_video(of, job, form, video).await,
        (_, None) => Err(AttemptError::PreparationExpired { reason: "the video is not uploaded".to_owned() }),
    }
}

/// Publishes a text with its link or pictures.
async fn post(of: &Facebook, job: &PublishRequest<'_>, progress: &Progress) -> Result<Published, AttemptError> {
    let mut fields = vec![("message".to_owned(), job.text.to_owned())];
    if let Some(link) = job.options.text(LINK).filter(|_| job.media.is_empty()) {
        fields.push(("link".to_owned(), link.to_owned()));
    }
    for (at, photo) in progress.photos.iter().enumerate() {
        fields.push((format!("attached_media[{at}]"), json!({ "media_fbid": photo.id.as_str() }).to_string()));
    }
    let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let path = format!("/{}/feed", job.profile.account_id);
    match of.graph.post::<Posted>(Effect::Public, Caller::of(job), &path, &fields, PUBLISH).await {
        Ok(answered) => {
            let id = answered.body.id;
            let url = permalink(of, job, id.as_str()).await;
            Ok(Published::new(id, job.now).with_url(Some(url)))
        }
        Err(error) => Err(of_a_post(of, job, progress, error).await),
    }
}

/// The consequence of a refused post.
async fn of_a_post(of: &Facebook, job: &PublishRequest<'_>, progress: &Progress, error: CallError) -> AttemptError {
    let error = of.graph.confirmed(job, error).await;
    let is_old = progress.photos.iter().any(|it| it.at + FORGOTTEN < job.now);
    let is_of_a_photo = error.kind == ErrorKind::InvalidPost || error.is_missing();
    if is_old && is_of_a_photo && error.kind != ErrorKind::Unauthorized {
        return AttemptError::PreparationExpired { reason: error.message };
    }
    // Only our post can show our pictures already (1366051). The same text may be another post's, unless an earlier call
    // arrived.
    let may_be_ours = job.may_have_published || error.has_code(&["1366051"]);
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
async fn permalink(of: &Facebook, job: &PublishRequest<'_>, id: &str) -> String {
    let path = format!("/{id}");
    let asked = of.graph.get::<Permalink>(Caller::of(job), &path, &[("fields", "permalink_url")]);
    let told = tokio::time::timeout(ASK, asked).await.ok().and_then(Result::ok).and_then(|it| it.body.permalink_url);
    told.map_or_else(|| look_up::address(id), |it| look_up::whole(&it))
}

async fn photo_story(of: &Facebook, job: &PublishRequest<'_>, progress: &Progress) -> Result<Published, AttemptError> {
    let fields: Vec<_> = progress.photos.iter().map(|it| ("photo_id", it.id.as_str())).collect();
    let path = format!("/{}/photo_stories", job.profile.account_id);
    match of.graph.post::<Told>(Effect::Public, Caller::of(job), &path, &fields, PUBLISH).await {
        Ok(answered) => Ok(Published::new(answered.body.post_id, job.now)),
        // A picture of ours is in no other story.
        Err(error) if job.may_have_published && matches!(error.kind, ErrorKind::Duplicate | ErrorKind::InvalidPost) => {
            match look_up::story(of, job, progress).await {
                Ok(Some(published)) => Ok(published),
                Ok(None) | Err(_) => Err(of_a_post(of, job, progress, error).await),
            }
        }
        Err(error) => Err(of_a_post(of, job, progress, error).await),
    }
}

async fn publish_video(
    of: &Facebook,
    job: &PublishRequest<'_>,
    form: Form<'_>,
    video: &Video,
) -> Result<Published, AttemptError> {
    let (graph, path) = video::edge(of, job, form);
    let mut fields = vec![("upload_phase", "finish"), video.name()];
    if matches!(form, Form::Reel(_)) {
        fields.push(("video_state", "PUBLISHED"));
    }
    if !matches!(form, Form::VideoStory(_)) {
        fields.push(("description", job.text));
        fields.extend(job.options.text(VIDEO_TITLE).map(|it| ("title", it)));
    }
    match graph.post::<IgnoredAny>(Effect::Public, Caller::of(job), &path, &fields, PUBLISH).await {
        Ok(_) => Ok(look_up::published(job, form, video, job.now)),
        Err(error) => Err(of_video_failed(of, job, video, error).await),
    }
}

/// The consequence of a refused video. Facebook refuses one that was published before.
async fn of_video_failed(of: &Facebook, job: &PublishRequest<'_>, video: &Video, error: CallError) -> AttemptError {
    if error.kind != ErrorKind::Duplicate && !error.is_of_what_is_gone() {
        return error.into();
    }
    match Status::of(of, Caller::of(job), video.id.as_str()).await {
        Ok(asked) if asked.body.is_too_old() => AttemptError::PreparationExpired { reason: error.message },
        Ok(asked) if asked.body.is_public() || asked.body.is_on_its_way() => {
            AttemptError::Unknown { may_still_run: false, retry_at: None, reason: error.message }
        }
        Err(_) if job.may_have_published => {
            AttemptError::Unknown { may_still_run: false, retry_at: None, reason: error.message }
        }
        Ok(_) | Err(_) => of.graph.confirmed(job, error).await.into(),
    }
}
