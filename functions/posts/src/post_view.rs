//! The response with a post.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

use axum::Json;
use axum::response::{IntoResponse, Response};
use cloud::bucket::Bucket;
use domain::id::{MediaId, UserId};
use domain::media::{Attachment, MediaPath};
use domain::options::Options;
use domain::post::{Post, Target};
use domain::schedule::show;
use http::StatusCode;
use http::header::ETAG;
use serde::Serialize;
use utoipa::ToSchema;

use crate::App;

/// How long a link to a file is valid: the hour that clients are promised, and another one as a
/// margin.
const LINK_LASTS: Duration = Duration::from_hours(2);

/// A post.
#[derive(Serialize, ToSchema)]
#[schema(as = Post)]
pub(crate) struct PostView {
    /// The id of the post.
    #[schema(example = 1_234_567_890)]
    id: u64,
    /// Increases with each change by the user. In quotation marks, it is the `etag` of the post.
    #[schema(example = 1)]
    revision: u64,
    /// The text for every account without a text of its own.
    #[schema(example = "Hello from the harbour")]
    content: String,
    /// `draft`, `scheduled`, `publishing`, `published` or `failed`.
    #[schema(example = "scheduled")]
    status: &'static str,
    /// When the post is published; null for drafts.
    #[schema(format = DateTime, example = "2026-11-21T09:30:00.000Z")]
    scheduled_at: Option<String>,
    /// When the post was created.
    #[schema(format = DateTime, example = "2026-11-21T09:00:00.000Z")]
    created_at: String,
    /// When the post or its status last changed.
    #[schema(format = DateTime, example = "2026-11-21T09:00:00.000Z")]
    updated_at: String,
    /// The user who wrote the post.
    creator: CreatorView,
    /// The accounts that the post is for, with its status on each.
    platforms: Vec<TargetView>,
    /// The images and videos for every account without files of its own.
    media: Vec<MediumView>,
}

/// The user who wrote a post.
#[derive(Serialize, ToSchema)]
#[schema(as = Creator)]
struct CreatorView {
    /// The id of the user.
    #[schema(example = 1_234_567_000)]
    id: u64,
    /// The name of the user when the post was created.
    #[schema(example = "Demo User")]
    name: String,
}

/// One account that a post is for.
#[derive(Serialize, ToSchema)]
#[schema(as = PostPlatform)]
struct TargetView {
    /// The id of this entry. It does not change with the post.
    #[schema(example = 1_234_567_891)]
    id: u64,
    /// The id of the connection.
    #[schema(example = 1_234_567_001)]
    connected_account_id: u64,
    /// The platform of the account.
    #[schema(example = "sandbox")]
    provider: String,
    /// The username of the account; null if its platform has none.
    #[schema(example = "harbour")]
    username: Option<String>,
    /// The text that this account uses.
    #[schema(example = "Hello from the harbour")]
    content: String,
    /// The files for this account, instead of those of the post; absent if it uses those of the post.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    media: Option<Vec<MediumView>>,
    /// Options of the account's platform.
    #[schema(value_type = BTreeMap<String, Value>, example = json!({ "language": "en" }))]
    options: Options,
    /// `pending`, `publishing`, `published` or `failed`.
    #[schema(example = "pending")]
    status: &'static str,
    /// When the post became public on this account; null if it is not.
    #[schema(format = DateTime)]
    published_at: Option<String>,
    /// The id that the platform gave the post; null until it is public.
    platform_post_id: Option<String>,
    /// The URL of the public post; null if it is unknown.
    #[schema(example = "https://mastodon.example/@harbour/112233")]
    platform_post_url: Option<String>,
    /// Why the post is not public on this account, and what to do; null if there is nothing to report.
    error_message: Option<String>,
}

/// An image or video of a post.
#[derive(Serialize, ToSchema)]
#[schema(as = PostMedia)]
struct MediumView {
    /// The id of the file.
    #[schema(example = 1_234_567_002)]
    id: u64,
    /// A link to the file, valid for at least an hour.
    url: String,
    /// `image` or `video`.
    #[schema(example = "image")]
    file_type: &'static str,
    /// The MIME type of the file.
    #[schema(example = "image/jpeg")]
    mime_type: &'static str,
    /// The alt text of the file in this post; null if it has none.
    #[schema(example = "A boat at the pier")]
    alt_text: Option<String>,
}

impl PostView {
    /// Links to the files are signed here, without a call.
    pub(crate) async fn load(app: &App, post: &Post) -> Self {
        let links = links(app.publishing.bucket.clone(), post.user_id, post.files().cloned().collect()).await;
        let media = |files: &[Attachment]| files.iter().map(|it| MediumView::new(it, &links)).collect::<Vec<_>>();
        Self {
            id: post.post_id.get(),
            revision: post.revision,
            content: post.text.as_str().to_owned(),
            status: post.status.as_str(),
            scheduled_at: post.scheduled_at.map(show),
            created_at: show(post.created_at),
            updated_at: show(post.updated_at),
            creator: CreatorView { id: post.user_id.get(), name: post.creator_name.clone() },
            platforms: post
                .targets
                .iter()
                .map(|it| TargetView::new(post, it, it.media.as_deref().map(media)))
                .collect(),
            media: media(&post.media),
        }
    }
}

/// A response with one post, and its revision as `etag`.
pub(crate) async fn respond(app: &App, status: StatusCode, post: &Post) -> Response {
    (status, [(ETAG, post.entity_tag())], Json(PostView::load(app, post).await)).into_response()
}

/// A link to each of these files, which may contain duplicates.
pub(crate) async fn links(bucket: Bucket, user: UserId, files: Vec<Attachment>) -> BTreeMap<MediaId, String> {
    let mut links = BTreeMap::new();
    for file in files {
        let Entry::Vacant(entry) = links.entry(file.media_id) else { continue };
        let path = MediaPath::new(user, file.media_id, file.mime_type).to_string();
        let link = bucket.presigned_get(&path, LINK_LASTS).await;
        entry.insert(link.unwrap_or_else(|error| {
            tracing::error!(%error, "link to a file could not be signed");
            String::new()
        }));
    }
    links
}

impl TargetView {
    fn new(post: &Post, target: &Target, media: Option<Vec<MediumView>>) -> Self {
        Self {
            id: target.target_id.get(),
            connected_account_id: target.connection_id.get(),
            provider: target.provider.clone(),
            username: target.username.clone(),
            content: post.text_of(target).as_str().to_owned(),
            media,
            options: target.options.clone(),
            status: target.status.as_str(),
            published_at: target.published_at.map(show),
            platform_post_id: target.platform_post_id.clone(),
            platform_post_url: target.platform_post_url.clone(),
            error_message: target.error_message.clone(),
        }
    }
}

impl MediumView {
    fn new(attachment: &Attachment, links: &BTreeMap<MediaId, String>) -> Self {
        Self {
            id: attachment.media_id.get(),
            url: links.get(&attachment.media_id).cloned().unwrap_or_default(),
            file_type: attachment.mime_type.file_type().as_str(),
            mime_type: attachment.mime_type.as_str(),
            alt_text: attachment.alt_text.as_ref().map(|it| it.as_str().to_owned()),
        }
    }
}
