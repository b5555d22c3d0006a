//! Publishing containers, and listing posts.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use chrono::{DateTime, TimeDelta, Utc};
use http::HeaderMap;
use serde_json::{Value, json};

use super::access::{BASIC, PUBLISH, READ_REPLIES, profile};
use super::making::{Content, no_media};
use super::{Fake, ID, Memory, USERNAME};
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
    at: DateTime<Utc>,
}

const CONTAINER: Node = Node { kind: "ThreadsContainer", fields: &["status", "error_message"], unasked: &[] };

const MEDIA: Node = Node {
    kind: "ThreadsMedia",
    fields: &[
        "media_product_type",
        "media_type",
        "permalink",
        "owner",
        "username",
        "text",
        "timestamp",
        "shortcode",
        "is_quote_post",
        "is_reply",
        "is_reply_owned_by_me",
        "replied_to",
        "topic_tag",
        "link_attachment_url",
        "poll_attachment",
    ],
    unasked: &[],
};

const LIMITS: Node = Node { kind: "ThreadsPublishingLimit", fields: &["quota_usage", "config"], unasked: &[] };

/// The most posts of a day.
const QUOTA: usize = 250;

/// `POST /{threads-user-id}/threads_publish`
pub(super) async fn publish(
    State(fake): State<Arc<Fake>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    mut fields: Fields,
) -> Result<Json<Value>, GraphError> {
    fake.authorize_for_profile(&headers, &mut fields, (&id, "threads_publish"), PUBLISH)?;
    let container = fields.want("creation_id")?;
    fields.end()?;
    let (mut memory, now) = (fake.memory(), fake.clock.now());
    let is_reply = memory.containers.get(&container).is_some_and(|it| it.content.reply_to.is_some());
    if !is_reply && QUOTA <= memory.count_published_today(now) {
        let message = "You reached maximum number of posts that is allowed to be published by Content Publishing API.";
        return Err(GraphError::new(9, "Application request limit reached")
            .subcode(2_207_042)
            .for_people("Maximum posts reached", message));
    }
    // Fails if the container is not processed, has failed, has expired, or is already public.
    let content = memory.containers.publish(&container, now).ok_or_else(no_media)?.map_err(|_| no_media())?;
    let content = content.clone();
    let id = memory.add(content, now);
    Ok(Json(json!({ "id": id })))
}

/// `GET /me`, `GET /{threads-container-id}` and `GET /{threads-media-id}`
pub(super) async fn show(
    State(fake): State<Arc<Fake>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    mut fields: Fields,
) -> Result<Json<Value>, GraphError> {
    fake.accept(&headers, &mut fields, if id == "me" { "me" } else { "id" }, BASIC)?;
    if [ID, "me"].contains(&id.as_str()) {
        return profile(fields).map(Json);
    }
    let asked = fields.text("fields");
    fields.end()?;
    let (memory, now) = (fake.memory(), fake.clock.now());
    if let Some(container) = memory.containers.get(&id) {
        let state = container.state(now);
        let error_message =
            if let LimitUsage::Failed(error_message) = &state { Some(error_message.as_str()) } else { None };
        let object = json!({ "id": id, "status": state.name(), "error_message": error_message });
        return CONTAINER.select(&object, asked.as_deref()).map(Json);
    }
    let post = memory.posts.iter().find(|it| it.id == id).ok_or_else(|| GraphError::object_not_found(&id))?;
    MEDIA.select(&post_json(post), asked.as_deref()).map(Json)
}

/// `GET /{threads-user-id}/threads`: newest first.
pub(super) async fn list(
    State(fake): State<Arc<Fake>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    mut fields: Fields,
) -> Result<Json<Value>, GraphError> {
    fake.authorize_for_profile(&headers, &mut fields, (&id, "threads"), BASIC)?;
    let (page, asked) = (Page::asked(&mut fields)?, fields.text("fields"));
    let since = fields.number("since", 0, i64::MAX)?.unwrap_or_default();
    let until = fields.number("until", 0, i64::MAX)?.unwrap_or(i64::MAX);
    fields.end()?;
    let memory = fake.memory();
    let is_listed = |it: &&Post| it.content.reply_to.is_none() && (since..=until).contains(&it.at.timestamp());
    let listed = memory.posts.iter().rev().filter(is_listed);
    let entries: Result<Vec<_>, _> = listed.map(|it| MEDIA.select(&post_json(it), asked.as_deref())).collect();
    Ok(Json(page.respond(entries?, "https://graph.threads.net/v1.0/me/threads")))
}

/// `GET /{threads-media-id}/replies`: the direct replies to a post of the profile, newest first
/// unless `reverse` is false.
pub(super) async fn replies(
    State(fake): State<Arc<Fake>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    mut fields: Fields,
) -> Result<Json<Value>, GraphError> {
    fake.accept(&headers, &mut fields, "replies", READ_REPLIES)?;
    let (page, asked) = (Page::asked(&mut fields)?, fields.text("fields"));
    let is_reverse = fields.flag("reverse")?.unwrap_or(true);
    fields.end()?;
    let memory = fake.memory();
    if !memory.posts.iter().any(|it| it.id == id && !it.content.is_by_visitor) {
        return Err(GraphError::object_not_found(&id));
    }
    let is_listed = |it: &&Post| it.content.reply_to.as_ref() == Some(&id);
    let mut listed: Vec<_> = memory.posts.iter().filter(is_listed).collect();
    if is_reverse {
        listed.reverse();
    }
    let entries: Result<Vec<_>, _> =
        listed.into_iter().map(|it| MEDIA.select(&post_json(it), asked.as_deref())).collect();
    Ok(Json(page.respond(entries?, &format!("https://graph.threads.net/v1.0/{id}/replies"))))
}

/// `GET /{threads-user-id}/threads_publishing_limit`
pub(super) async fn limit(
    State(fake): State<Arc<Fake>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    mut fields: Fields,
) -> Result<Json<Value>, GraphError> {
    fake.authorize_for_profile(&headers, &mut fields, (&id, "threads_publishing_limit"), PUBLISH)?;
    let asked = fields.text("fields");
    fields.end()?;
    let (memory, now) = (fake.memory(), fake.clock.now());
    let used = memory.count_published_today(now);
    let object = json!({ "quota_usage": used, "config": { "quota_total": QUOTA, "quota_duration": 86_400 } });
    Ok(Json(json!({ "data": [LIMITS.select(&object, asked.as_deref())?] })))
}

fn post_json(Post { id, content, at }: &Post) -> Value {
    let media_type = match content.files.as_slice() {
        [] => "TEXT_POST",
        [one] if one.file.mime_type.as_str().starts_with("image/") => "IMAGE",
        [_] => "VIDEO",
        _ => "CAROUSEL_ALBUM",
    };
    let shortcode = format!("D{:x}", id.parse::<u64>().unwrap_or_default());
    json!({
        "id": id,
        "media_product_type": "THREADS",
        "media_type": media_type,
        "permalink": format!("https://www.threads.com/@{USERNAME}/post/{shortcode}"),
        "owner": { "id": ID },
        "username": USERNAME,
        // It is not documented whether Threads keeps surrounding white space.
        "text": Some(content.text.trim()).filter(|it| !it.is_empty()),
        "timestamp": time(*at),
        "shortcode": shortcode,
        "is_quote_post": false,
        "is_reply": content.reply_to.is_some(),
        "is_reply_owned_by_me": content.reply_to.as_ref().map(|_| !content.is_by_visitor),
        "replied_to": content.reply_to.as_ref().map(|it| json!({ "id": it })),
        "topic_tag": content.said["topic_tag"],
        "link_attachment_url": content.said["link_attachment"],
        "poll_attachment": content.said["poll_attachment"],
    })
}

impl Memory {
    /// Returns the id.
    pub(super) fn add(&mut self, content: Content, at: DateTime<Utc>) -> String {
        let id = self.ids.fresh();
        self.posts.push(Post { id: id.clone(), content, at });
        id
    }

    fn count_published_today(&self, now: DateTime<Utc>) -> usize {
        let is_counted = |it: &&Post| it.content.reply_to.is_none() && now - TimeDelta::days(1) < it.at;
        self.posts.iter().filter(is_counted).count()
    }
}
