use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

use axum::Json;
use axum::response::{IntoResponse, Response};
use cloud::bucket::Bucket;
use contract::Timestamp;
use domain::attempt::Attempt;
use domain::id::MediaId;
use domain::media::{Attachment, MediaPath};
use domain::options::{OptionValue, Options};
use domain::post::{Post, PostStatus, SegmentContent, SegmentView, Target, TargetStatus};
use http::StatusCode;
use http::header::ETAG;
use scheduling::Warning;
use serde_json::{Map, Value};

use crate::App;

/// The hour that clients are promised, and another one as a margin.
const LINK_LASTS: Duration = Duration::from_hours(2);

/// Links to the files are signed here, without a call.
pub(crate) async fn view(app: &App, post: &Post) -> contract::Post {
    let paths = post.files().map(|it| MediaPath::new(post.user_id, it.media_id, it.mime_type));
    let links = links(&app.scheduling.bucket, paths).await;
    contract::Post {
        id: post.post_id.get(),
        revision: post.revision,
        content: content(post.text.as_str()),
        status: status_view(post.status),
        scheduled_at: post.scheduled_at.map(Timestamp),
        created_at: Timestamp(post.created_at),
        updated_at: Timestamp(post.updated_at),
        profile_id: post.of_profile.as_ref().map(|it| it.profile_id.get()),
        creator: contract::Creator { id: post.user_id.get(), name: post.creator_name.clone() },
        platforms: post.targets.iter().map(|it| target_view(post, it, &links)).collect(),
        media: media_views(&post.media, &links),
        thread: thread_view(&post.thread, &links),
        external_id: post.external_id.as_ref().map(|it| it.as_str().to_owned()),
        labels: post.labels.iter().map(|it| it.as_str().to_owned()).collect(),
    }
}

/// The revision is the `etag`.
pub(crate) async fn respond(app: &App, status: StatusCode, post: &Post) -> Response {
    (status, [(ETAG, post.entity_tag())], Json(view(app, post).await)).into_response()
}

/// The paths may contain duplicates.
pub(crate) async fn links(bucket: &Bucket, paths: impl Iterator<Item = MediaPath>) -> Links {
    let mut links = BTreeMap::new();
    for path in paths {
        let Entry::Vacant(entry) = links.entry(path.media()) else { continue };
        let link = bucket.presigned_get(&path.to_string(), LINK_LASTS).await;
        entry.insert(link.unwrap_or_else(|error| {
            tracing::error!(%error, "link to a file could not be signed");
            String::new()
        }));
    }
    links
}

pub(crate) type Links = BTreeMap<MediaId, String>;

fn target_view(post: &Post, target: &Target, links: &Links) -> contract::PostPlatform {
    let published = target.published();
    contract::PostPlatform {
        id: target.target_id.get(),
        connected_account_id: target.connection_id.get(),
        provider: target.provider.clone(),
        username: target.username.clone(),
        content: content(post.text_of(target).as_str()),
        media: target.media.as_deref().map(|it| media_views(it, links)),
        thread: target.thread.as_deref().map(|it| thread_view(it, links)),
        options: options_view(&target.options),
        consented_at: target.consented_at.map(Timestamp),
        status: target_status_view(target.status),
        published_at: published.map(|it| Timestamp(it.at)),
        platform_post_id: published.map(|it| it.platform_post_id.clone()),
        platform_post_url: published.and_then(|it| it.url.clone()),
        handed_over: published.is_some_and(|it| it.handed_over),
        error_message: target.error_message.clone(),
        segments: post.segment_views(target).iter().map(|it| segment_view(it, links)).collect(),
    }
}

/// `None` where there are files alone.
fn content(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|it| !it.is_empty())
}

fn thread_view(thread: &[SegmentContent], links: &Links) -> Vec<contract::ThreadEntry> {
    let entry = |it: &SegmentContent| contract::ThreadEntry {
        content: content(it.text.as_str()),
        media: media_views(&it.media, links),
    };
    thread.iter().map(entry).collect()
}

fn segment_view(view: &SegmentView<'_>, links: &Links) -> contract::PostSegment {
    let SegmentView { segment, published, .. } = view;
    contract::PostSegment {
        kind: segment.kind.as_str().to_owned(),
        content: content(segment.text),
        media: media_views(segment.media, links),
        status: target_status_view(view.status),
        published_at: published.map(|it| Timestamp(it.at)),
        platform_post_id: published.map(|it| it.platform_post_id.clone()),
        platform_post_url: published.and_then(|it| it.url.clone()),
        error_message: view.error_message.map(str::to_owned),
    }
}

fn media_views(files: &[Attachment], links: &Links) -> Vec<contract::PostMedia> {
    files.iter().map(|it| media_view(it, links)).collect()
}

fn media_view(attachment: &Attachment, links: &Links) -> contract::PostMedia {
    contract::PostMedia {
        id: attachment.media_id.get(),
        url: links.get(&attachment.media_id).cloned().unwrap_or_default(),
        file_type: attachment.mime_type.file_type().as_str().to_owned(),
        mime_type: attachment.mime_type.as_str().to_owned(),
        alt_text: attachment.alt_text.as_ref().map(|it| it.as_str().to_owned()),
    }
}

const fn status_view(status: PostStatus) -> contract::PostStatus {
    match status {
        PostStatus::Draft => contract::PostStatus::Draft,
        PostStatus::Scheduled => contract::PostStatus::Scheduled,
        PostStatus::Publishing => contract::PostStatus::Publishing,
        PostStatus::Published => contract::PostStatus::Published,
        PostStatus::Failed => contract::PostStatus::Failed,
    }
}

const fn target_status_view(status: TargetStatus) -> contract::TargetStatus {
    match status {
        TargetStatus::Pending => contract::TargetStatus::Pending,
        TargetStatus::Publishing => contract::TargetStatus::Publishing,
        TargetStatus::Published => contract::TargetStatus::Published,
        TargetStatus::Failed => contract::TargetStatus::Failed,
    }
}

fn options_view(options: &Options) -> Map<String, Value> {
    options.iter().map(|(name, value)| (name.to_owned(), option_view(value))).collect()
}

fn option_view(value: &OptionValue) -> Value {
    match value {
        OptionValue::Flag(flag) => (*flag).into(),
        OptionValue::Number(number) => (*number).into(),
        OptionValue::Text(text) => text.as_str().into(),
        OptionValue::List(texts) => texts.as_slice().into(),
    }
}

pub(crate) fn attempt_view(attempt: &Attempt) -> contract::Attempt {
    contract::Attempt {
        at: Timestamp(attempt.at),
        connected_account_id: attempt.connection_id.get(),
        provider: attempt.provider.clone(),
        segment: attempt.segment,
        step: attempt.step.as_str().to_owned(),
        outcome: attempt.outcome.as_str().to_owned(),
        http_status: attempt.http_status,
        message: attempt.message.clone(),
        duration_ms: attempt.duration_ms,
    }
}

pub(crate) fn warning_view(Warning { field, message }: Warning) -> contract::Warning {
    let message = format!("{field} {message}");
    contract::Warning { field, message }
}
