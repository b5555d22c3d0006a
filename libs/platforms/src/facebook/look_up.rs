//! Finds the outcome of a publish call whose response was lost.
//!
//! Facts: the published posts of a Page are listed, newest first, with the ids of the pictures that
//! each shows; its stories with the id of the picture or video; a video has a status of its own.
//! Sources: `page/published_posts`, `page-stories-api`, `VideoStatus`.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::{Published, Resolution};
use serde::Deserialize;
use serde_json::Value;

use super::Facebook;
use super::comment;
use super::kind::Form;
use super::preparation::Progress;
use super::status::Status;
use super::video::Video;
use crate::caller::Caller;
use crate::kit::CallError;
use crate::meta::{GraphId, List, time};
use crate::publish_request::PublishRequest;
use crate::recognition::{self, Listed, PostMatch, Timeline};

const CLOCK_SKEW: TimeDelta = TimeDelta::minutes(1);

const OF_A_POST: &str = "id,message,created_time,permalink_url,attachments{media_type,target,subattachments}";

const PAGE: &str = "50";

const SITE: &str = "https://www.facebook.com";

#[derive(Deserialize)]
pub(super) struct Post {
    id: GraphId,
    #[serde(default)]
    message: String,
    created_time: Option<String>,
    permalink_url: Option<String>,
    #[serde(default)]
    attachments: Value,
}

#[derive(Deserialize)]
struct ListedStory {
    post_id: GraphId,
    media_id: Option<String>,
    url: Option<String>,
}

impl Listed for Post {
    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn at(&self) -> Option<DateTime<Utc>> {
        time::read(self.created_time.as_deref()?)
    }

    fn url(&self) -> Option<String> {
        Some(self.permalink_url.as_deref().map_or_else(|| address(self.id.as_str()), whole))
    }
}

impl Post {
    fn shows(&self) -> BTreeSet<&str> {
        let attachments = self.attachments["data"].as_array().into_iter().flatten();
        attachments
            .flat_map(|it| [it].into_iter().chain(it["subattachments"]["data"].as_array().into_iter().flatten()))
            .filter_map(|it| it["target"]["id"].as_str())
            .collect()
    }

    fn has_files(&self) -> bool {
        let is_file = |it: &Value| matches!(it["media_type"].as_str(), Some("photo" | "album" | "video"));
        self.attachments["data"].as_array().is_some_and(|it| it.iter().any(is_file))
    }
}

struct Posts<'a> {
    facebook: &'a Facebook,
    request: &'a PublishRequest<'a>,
    progress: &'a Progress,
    since: DateTime<Utc>,
    next: Mutex<Option<String>>,
}

#[async_trait::async_trait]
impl Timeline for Posts<'_> {
    type Post = Post;
    type Error = CallError;

    async fn page(&self, after: Option<&str>) -> Result<Vec<Post>, CallError> {
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner).take();
        if after.is_some() && next.is_none() {
            return Ok(Vec::new());
        }
        let path = format!("/{}/published_posts", self.request.profile.account_id);
        let query = [("fields", OF_A_POST), ("limit", PAGE)];
        let list =
            List::<Post>::page(&self.facebook.graph, Caller::for_request(self.request), &path, &query, next.as_deref())
                .await;
        let list = match list {
            Ok(list) => list,
            Err(error) => return Err(self.facebook.graph.confirmed(self.request, error).await),
        };
        let next = list.next();
        let is_older = |it: &Post| it.at().is_some_and(|it| it < self.since);
        let has_older = list.data.iter().any(is_older);
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = next.filter(|_| !has_older);
        Ok(list.data.into_iter().filter(|it| !is_older(it)).collect())
    }

    /// A picture that we uploaded is in no other post.
    fn post_match(&self, post: &Post) -> Option<PostMatch> {
        let ours: BTreeSet<&str> = self.progress.photos.iter().map(|it| it.id.as_str()).collect();
        let post_files = post.shows();
        if !ours.is_disjoint(&post_files) {
            return Some(PostMatch::Exact);
        }
        let has_same_text = post.message.trim() == self.request.text.trim();
        Some(match (has_same_text, ours.is_empty(), post.has_files()) {
            (true, true, false) => PostMatch::Equal,
            // In case the list does not have the ids of pictures.
            (true, false, true) if post_files.is_empty() => PostMatch::Possible,
            _ => PostMatch::Different,
        })
    }
}

pub(super) async fn resolve(facebook: &Facebook, request: &PublishRequest<'_>, since: DateTime<Utc>) -> Resolution {
    let progress = Progress::stored(request);
    let form = match Form::from_request(request) {
        Ok(form) if progress.is_whole(form) => form,
        Ok(_) => return request.never_made(),
        Err(_) => return Resolution::NotPublished,
    };
    match (form, &progress.video) {
        (Form::Post(_), _) => {
            let posts =
                Posts { facebook, request, progress: &progress, since: since - CLOCK_SKEW, next: Mutex::default() };
            match recognition::look_for(&posts, &[], request.claims, request.now).await {
                Ok(found) => found.into(),
                Err(failure) => failure.resolution(),
            }
        }
        (Form::PhotoStory(_), _) => match story(facebook, request, &progress).await {
            Ok(Some(published)) => Resolution::Found(published),
            Ok(None) => Resolution::NotFound,
            Err(failure) => failure.resolution(),
        },
        (_, Some(video)) => resolve_video(facebook, request, form, video).await,
        (_, None) => request.never_made(),
    }
}

async fn resolve_video(facebook: &Facebook, request: &PublishRequest<'_>, form: Form<'_>, video: &Video) -> Resolution {
    let status = match Status::fetch(facebook, Caller::for_request(request), video.id.as_str()).await {
        Ok(answered) => answered.body,
        Err(failure) => return failure.resolution(),
    };
    if status.is_public() {
        return Resolution::Found(published(request, form, video, request.now));
    }
    if status.is_publishing() {
        return Resolution::Pending { reason: "Facebook is still publishing the video".to_owned() };
    }
    match status.failed() {
        Some(reason) => Resolution::Refused { reason },
        // Publishing this video again is safe: it is one object.
        None => request.never_made(),
    }
}

pub(super) async fn story(
    facebook: &Facebook,
    request: &PublishRequest<'_>,
    progress: &Progress,
) -> Result<Option<Published>, CallError> {
    let Some(photo) = progress.photos.first() else { return Ok(None) };
    let path = format!("/{}/stories", request.profile.account_id);
    let query = [("fields", "post_id,media_id,url"), ("limit", PAGE)];
    let stories: Vec<ListedStory> = List::all(&facebook.graph, Caller::for_request(request), &path, &query).await?;
    let ours = stories.into_iter().find(|it| it.media_id.as_deref() == Some(photo.id.as_str()));
    Ok(ours.map(|it| Published::new(it.post_id, request.now).with_url(it.url)))
}

/// A public video: it has its own id from the beginning.
pub(super) fn published(request: &PublishRequest<'_>, form: Form<'_>, video: &Video, at: DateTime<Utc>) -> Published {
    let (page, id) = (&request.profile.account_id, &video.id);
    let url = match form {
        Form::Reel(_) => Some(format!("{SITE}/reel/{id}")),
        Form::Video(_) => Some(format!("{SITE}/{page}/videos/{id}")),
        _ => None,
    };
    Published::new(id.clone(), at).with_url(url).with_handle(comment::VIDEO)
}

pub(super) fn address(id: &str) -> String {
    format!("{SITE}/{id}")
}

/// A complete URL: Facebook may return one without its host.
pub(super) fn whole(url: &str) -> String {
    if url.starts_with('/') { format!("{SITE}{url}") } else { url.to_owned() }
}
