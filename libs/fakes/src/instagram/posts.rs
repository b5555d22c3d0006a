//! Publishes containers; lists posts and stories; comments.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use chrono::{DateTime, TimeDelta, Utc};
use http::HeaderMap;
use serde_json::{Value, json};

use super::making::{Content, Kind, no_media, not_ready};
use super::{Fake, HANDLE, ID, Memory};
use crate::meta::containers::State as LimitUsage;
use crate::meta::error::GraphError;
use crate::meta::fields::Fields;
use crate::meta::lists::Page;
use crate::meta::select::Node;
use crate::meta::time;

#[derive(Clone, Debug)]
pub(super) struct Post {
    pub(super) id: String,
    pub(super) content: Content,
    pub(super) comments: Vec<Comment>,
    at: DateTime<Utc>,
}

#[derive(Clone, Debug)]
pub(super) struct Comment {
    pub(super) id: String,
    username: String,
    pub(super) text: String,
    at: DateTime<Utc>,
}

const COMMENT: Node =
    Node { kind: "IGComment", fields: &["text", "timestamp", "username", "like_count", "hidden"], unasked: &[] };

const CONTAINER: Node = Node {
    kind: "IGContainer",
    fields: &["status", "status_code", "copyright_check_status", "video_status"],
    unasked: &[],
};

const MEDIA: Node = Node {
    kind: "IGMedia",
    fields: &[
        "alt_text",
        "caption",
        "comments_count",
        "is_shared_to_feed",
        "media_product_type",
        "media_type",
        "owner",
        "permalink",
        "shortcode",
        "timestamp",
        "username",
    ],
    unasked: &[],
};

const LIMITS: Node =
    Node { kind: "IGContentPublishingLimit", fields: &["quota_usage", "config"], unasked: &["quota_usage"] };

const STORY_LIVES: TimeDelta = TimeDelta::hours(24);

/// `POST /{ig-user-id}/media_publish`
pub(super) async fn publish(
    State(fake): State<Arc<Fake>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    mut fields: Fields,
) -> Result<Json<Value>, GraphError> {
    fake.authorize_for_account(&headers, &mut fields, (&id, "media_publish"), fake.scopes().publish)?;
    let container = fields.want("creation_id")?;
    fields.end()?;
    let (mut memory, now) = (fake.memory(), fake.clock.now());
    if memory.quota <= memory.count_published_today(now) {
        let message = "You reached maximum number of posts that is allowed to be published by Content Publishing API.";
        return Err(GraphError::new(9, "Application request limit reached")
            .subcode(2_207_042)
            .for_people("Maximum posts reached", message));
    }
    let is_item = memory.containers.get(&container).is_some_and(|it| it.content.kind == Kind::Item);
    if is_item {
        return Err(GraphError::param("A carousel item cannot be published alone"));
    }
    let content = match memory.containers.publish(&container, now) {
        Some(Err(LimitUsage::Working)) => return Err(not_ready()),
        // The container is missing, failed, expired, or published already.
        None | Some(Err(_)) => return Err(no_media()),
        Some(Ok(content)) => content.clone(),
    };
    let id = memory.add(content, now);
    Ok(Json(json!({ "id": id })))
}

/// `GET /me`, `GET /{ig-user-id}`, `GET /{ig-container-id}` and `GET /{ig-media-id}`
pub(super) async fn show(
    State(fake): State<Arc<Fake>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    mut fields: Fields,
) -> Result<Json<Value>, GraphError> {
    fake.accept(&headers, &mut fields, if id == "me" { "me" } else { "id" }, fake.scopes().read)?;
    if id == ID && fake.memory().is_hidden {
        return Err(GraphError::object_not_found(&id));
    }
    if [ID, "me"].contains(&id.as_str()) {
        return fake.account(&id, fields).map(Json);
    }
    let asked = fields.text("fields");
    fields.end()?;
    let (memory, now) = (fake.memory(), fake.clock.now());
    if let Some(container) = memory.containers.get(&id) {
        let state = container.state(now);
        let status_text = match &state {
            LimitUsage::Failed(status_text) => status_text.clone(),
            LimitUsage::Working => "In Progress: Media is still being processed.".to_owned(),
            LimitUsage::Ready => "Finished: Media has been uploaded and it is ready to be published.".to_owned(),
            LimitUsage::Public => "Published: Media has been published.".to_owned(),
            LimitUsage::Expired => "Expired: Media was not published within 24 hours.".to_owned(),
        };
        let video_status = container.upload().map(|it| {
            let status = if it.is_complete { "complete" } else { "in_progress" };
            json!({ "uploading_phase": { "status": status, "bytes_transferred": it.bytes.len() } })
        });
        let object =
            json!({ "id": id, "status_code": state.name(), "status": status_text, "video_status": video_status });
        return CONTAINER.select(&object, asked.as_deref()).map(Json);
    }
    let post = memory.posts.iter().find(|it| it.id == id).ok_or_else(|| GraphError::object_not_found(&id))?;
    MEDIA.select(&post_json(post), asked.as_deref()).map(Json)
}

/// `GET /{ig-user-id}/media`: newest first, without stories.
pub(super) async fn list(
    State(fake): State<Arc<Fake>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    fields: Fields,
) -> Result<Json<Value>, GraphError> {
    list_page(&fake, (&id, "media"), &headers, fields, |it, _| it.content.kind != Kind::Story)
}

/// `GET /{ig-user-id}/stories`: the stories of the last 24 hours.
pub(super) async fn stories(
    State(fake): State<Arc<Fake>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    fields: Fields,
) -> Result<Json<Value>, GraphError> {
    list_page(&fake, (&id, "stories"), &headers, fields, |it, now| {
        it.content.kind == Kind::Story && now < it.at + STORY_LIVES
    })
}

fn list_page(
    fake: &Fake,
    (id, edge): (&str, &'static str),
    headers: &HeaderMap,
    mut fields: Fields,
    is_wanted: impl Fn(&Post, DateTime<Utc>) -> bool,
) -> Result<Json<Value>, GraphError> {
    fake.authorize_for_account(headers, &mut fields, (id, edge), fake.scopes().read)?;
    let (page, asked) = (Page::asked(&mut fields)?, fields.text("fields"));
    let since = fields.number("since", 0, i64::MAX)?.unwrap_or_default();
    let until = fields.number("until", 0, i64::MAX)?.unwrap_or(i64::MAX);
    fields.end()?;
    let (memory, now) = (fake.memory(), fake.clock.now());
    let is_listed = |it: &&Post| {
        is_wanted(it, now) && it.at + memory.listed_after <= now && (since..=until).contains(&it.at.timestamp())
    };
    let entries: Result<Vec<_>, _> =
        memory.posts.iter().rev().filter(is_listed).map(|it| MEDIA.select(&post_json(it), asked.as_deref())).collect();
    Ok(Json(page.respond(entries?, &format!("https://graph.instagram.com/v26.0/{ID}/{edge}"))))
}

/// `GET /{ig-user-id}/content_publishing_limit`
pub(super) async fn limit(
    State(fake): State<Arc<Fake>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    mut fields: Fields,
) -> Result<Json<Value>, GraphError> {
    fake.authorize_for_account(&headers, &mut fields, (&id, "content_publishing_limit"), fake.scopes().publish)?;
    let asked = fields.text("fields");
    fields.end()?;
    let (memory, now) = (fake.memory(), fake.clock.now());
    let (total, used) = (memory.quota, memory.count_published_today(now));
    let object = json!({ "quota_usage": used, "config": { "quota_total": total, "quota_duration": 86_400 } });
    Ok(Json(json!({ "data": [LIMITS.select(&object, asked.as_deref())?] })))
}

/// `POST /{ig-media-id}/comments`
pub(super) async fn comment(
    State(fake): State<Arc<Fake>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    mut fields: Fields,
) -> Result<Json<Value>, GraphError> {
    fake.accept(&headers, &mut fields, "comments", fake.scopes().comment)?;
    let text = fields.want("message")?;
    fields.end()?;
    let (mut memory, now) = (fake.memory(), fake.clock.now());
    let comment = memory.ids.fresh();
    let post = memory.posts.iter_mut().find(|it| it.id == id).ok_or_else(|| GraphError::object_not_found(&id))?;
    if post.content.kind == Kind::Story {
        return Err(GraphError::param("Stories have no comments"));
    }
    post.comments.push(Comment { id: comment.clone(), username: HANDLE.to_owned(), text, at: now });
    Ok(Json(json!({ "id": comment })))
}

/// `GET /{ig-media-id}/comments`: newest first, 50 at most.
pub(super) async fn comments(
    State(fake): State<Arc<Fake>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    mut fields: Fields,
) -> Result<Json<Value>, GraphError> {
    fake.accept(&headers, &mut fields, "comments", fake.scopes().comment)?;
    let (page, asked) = (Page::asked(&mut fields)?, fields.text("fields"));
    fields.end()?;
    let memory = fake.memory();
    let post = memory.posts.iter().find(|it| it.id == id).ok_or_else(|| GraphError::object_not_found(&id))?;
    let comments = post.comments.iter().rev();
    let entries: Result<Vec<_>, _> = comments.map(|it| COMMENT.select(&it.to_json(), asked.as_deref())).collect();
    Ok(Json(page.respond(entries?, &format!("https://graph.instagram.com/v26.0/{id}/comments"))))
}

impl Comment {
    fn to_json(&self) -> Value {
        json!({
            "id": self.id, "text": self.text, "timestamp": time(self.at), "username": self.username,
            "like_count": 0, "hidden": false,
        })
    }
}

fn post_json(Post { id, content, comments, at }: &Post) -> Value {
    let is_image = |it: &str| it.starts_with("image/");
    let media_type = match content.files.as_slice() {
        [one] if is_image(one.fetched.mime_type.as_str()) => "IMAGE",
        [_] => "VIDEO",
        _ => "CAROUSEL_ALBUM",
    };
    let shortcode = format!("D{:x}", id.parse::<u64>().unwrap_or_default());
    let (product, permalink) = match content.kind {
        Kind::Reel => ("REELS", format!("https://www.instagram.com/reel/{shortcode}/")),
        Kind::Story => ("STORY", format!("https://www.instagram.com/stories/{HANDLE}/{id}")),
        Kind::Post | Kind::Item => ("FEED", format!("https://www.instagram.com/p/{shortcode}/")),
    };
    json!({
        "id": id,
        "alt_text": content.files.first().and_then(|it| it.words.clone()),
        "caption": Some(&content.caption).filter(|it| !it.is_empty()),
        "comments_count": comments.len(),
        "is_shared_to_feed": content.said["share_to_feed"],
        "media_product_type": product,
        "media_type": media_type,
        "owner": { "id": ID },
        "permalink": permalink,
        "shortcode": shortcode,
        "timestamp": time(*at),
        "username": HANDLE,
    })
}

impl Memory {
    pub(super) fn add_comment_of_visitor(&mut self, text: &str, at: DateTime<Utc>) {
        let id = self.ids.fresh();
        if let Some(post) = self.posts.last_mut() {
            post.comments.push(Comment { id, username: "visitor".to_owned(), text: text.to_owned(), at });
        }
    }

    /// Returns the id.
    pub(super) fn add(&mut self, content: Content, at: DateTime<Utc>) -> String {
        let id = self.ids.fresh();
        self.posts.push(Post { id: id.clone(), content, comments: Vec::new(), at });
        id
    }

    fn count_published_today(&self, now: DateTime<Utc>) -> usize {
        self.posts.iter().filter(|it| now - TimeDelta::days(1) < it.at).count()
    }
}
