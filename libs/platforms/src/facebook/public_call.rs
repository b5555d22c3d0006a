//! The one call that makes a post public.
//!
//! Facts: there is no key. A picture is shown by one post, once; a video is published by
//! its id, once; the same words as those of the post before are refused (506).

use std::time::Duration;

use chrono::TimeDelta;
use domain::delivery::{Published, Setback};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

use super::kind::Form;
use super::preparation::Progress;
use super::status::Status;
use super::video::{self, Video};
use super::{Facebook, LINK, VIDEO_TITLE, look_up};
use crate::caller::Caller;
use crate::job::Job;
use crate::meta::{Blame, Failure};

/// For the public call. Long, because what it did has to be found out otherwise.
const PUBLISH: Duration = Duration::from_secs(28);

/// For the question where people see a post, which may stay without an answer.
const ASK: Duration = Duration::from_secs(8);

/// Pictures that are refused when they are older than this may have been forgotten.
const FORGOTTEN: TimeDelta = TimeDelta::hours(1);

/// What the calls answer.
#[derive(Deserialize)]
struct Posted {
    id: String,
}

#[derive(Deserialize)]
struct Told {
    post_id: String,
}

#[derive(Deserialize)]
struct Permalink {
    permalink_url: Option<String>,
}

/// Makes a post public.
pub(super) async fn publish(of: &Facebook, job: &Job<'_>) -> Result<Published, Setback> {
    let (form, progress) = (Form::of(job)?, Progress::of(job));
    if !progress.is_whole(form) {
        return Err(Setback::Stale { reason: "not every file is uploaded".to_owned() });
    }
    match (form, &progress.video) {
        (Form::Post(_), _) => post(of, job, &progress).await,
        (Form::PhotoStory(_), _) => photo_story(of, job, &progress).await,
        (_, Some(video)) => publish_video(of, job, form, video).await,
        (_, None) => Err(Setback::Stale { reason: "the video is not uploaded".to_owned() }),
    }
}

/// A text with what it shows.
async fn post(of: &Facebook, job: &Job<'_>, progress: &Progress) -> Result<Published, Setback> {
    let mut fields = vec![("message".to_owned(), job.text.to_owned())];
    if let Some(link) = job.options.text(LINK).filter(|_| job.media.is_empty()) {
        fields.push(("link".to_owned(), link.to_owned()));
    }
    for (at, photo) in progress.photos.iter().enumerate() {
        fields.push((format!("attached_media[{at}]"), json!({ "media_fbid": photo.id }).to_string()));
    }
    let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let path = format!("/{}/feed", job.profile.account_id);
    match of.graph.post::<Posted>(Caller::of(job), &path, &fields, PUBLISH).await {
        Ok(answered) => {
            let id = answered.body.id;
            let url = permalink(of, job, &id).await;
            Ok(Published::new(id, job.now).seen_at(Some(url)))
        }
        Err(failure) => Err(of_a_post(job, progress, failure)),
    }
}

/// What follows when a post is not taken.
fn of_a_post(job: &Job<'_>, progress: &Progress, failure: Failure) -> Setback {
    let has_photos = !progress.photos.is_empty();
    let is_old = progress.photos.iter().any(|it| it.at + FORGOTTEN < job.now);
    match failure.blame() {
        // Pictures that a post shows already can only be shown by ours; words can be
        // somebody else's, unless a call of ours may have arrived.
        Some(Blame::Duplicate) if has_photos || job.doubted => Setback::Duplicate { reason: failure.into_words() },
        Some(Blame::Duplicate) => {
            let said = failure.into_words();
            let reason = format!(
                "the Page's latest post says the same, which Facebook does not take twice in a row ({said}); change the words"
            );
            Setback::Refused { reason }
        }
        Some(Blame::Post) if is_old => Setback::Stale { reason: failure.into_words() },
        _ => failure.of_the_public_call(job.now),
    }
}

/// Where people see a post. That this is not told stops nothing.
async fn permalink(of: &Facebook, job: &Job<'_>, id: &str) -> String {
    let path = format!("/{id}");
    let asked = of.graph.get::<Permalink>(Caller::of(job), &path, &[("fields", "permalink_url")]);
    let told = tokio::time::timeout(ASK, asked).await.ok().and_then(Result::ok).and_then(|it| it.body.permalink_url);
    told.map_or_else(|| look_up::address(id), |it| look_up::whole(&it))
}

/// A story of a picture.
async fn photo_story(of: &Facebook, job: &Job<'_>, progress: &Progress) -> Result<Published, Setback> {
    let fields: Vec<_> = progress.photos.iter().map(|it| ("photo_id", it.id.as_str())).collect();
    let path = format!("/{}/photo_stories", job.profile.account_id);
    match of.graph.post::<Told>(Caller::of(job), &path, &fields, PUBLISH).await {
        Ok(answered) => Ok(Published::new(answered.body.post_id, job.now)),
        // A picture of ours is in no other story.
        Err(failure) if job.doubted && matches!(failure.blame(), Some(Blame::Duplicate | Blame::Post)) => {
            let found = look_up::story(of, job, progress).await;
            found.ok().flatten().ok_or_else(|| of_a_post(job, progress, failure))
        }
        Err(failure) => Err(of_a_post(job, progress, failure)),
    }
}

/// A video that is there.
async fn publish_video(of: &Facebook, job: &Job<'_>, form: Form<'_>, video: &Video) -> Result<Published, Setback> {
    let (graph, path) = video::edge(of, job, form);
    let mut fields = vec![("upload_phase", "finish"), video.name()];
    if matches!(form, Form::Reel(_)) {
        fields.push(("video_state", "PUBLISHED"));
    }
    if !matches!(form, Form::VideoStory(_)) {
        fields.push(("description", job.text));
        fields.extend(job.options.text(VIDEO_TITLE).map(|it| ("title", it)));
    }
    match graph.post::<IgnoredAny>(Caller::of(job), &path, &fields, PUBLISH).await {
        Ok(_) => Ok(look_up::published(job, form, video, job.now)),
        Err(failure) => Err(of_video_failed(of, job, video, failure).await),
    }
}

/// What follows when a video is not published. What was published before is refused.
async fn of_video_failed(of: &Facebook, job: &Job<'_>, video: &Video, failure: Failure) -> Setback {
    if !matches!(failure.blame(), Some(Blame::Duplicate | Blame::Post | Blame::Gone)) {
        return failure.of_the_public_call(job.now);
    }
    match Status::of(of, Caller::of(job), &video.id).await {
        Ok(asked) if asked.body.is_too_old() => Setback::Stale { reason: failure.into_words() },
        Ok(asked) if asked.body.is_public() || asked.body.is_on_its_way() => {
            Setback::Unknown { may_still_run: false, reason: failure.into_words() }
        }
        Err(_) if job.doubted => Setback::Unknown { may_still_run: false, reason: failure.into_words() },
        Ok(_) | Err(_) => failure.of_the_public_call(job.now),
    }
}
