use std::collections::BTreeMap;

use chrono::SecondsFormat;
use serde_json::{Map, Value, json};

use super::api_error::ApiError;
use super::{Fake, NEWSLETTER, Post, shown_post};

const VISIBILITIES: [&str; 3] = ["public", "members", "paid"];

pub(super) fn with_slug(fake: &Fake, slug: &str) -> Result<Value, ApiError> {
    let memory = fake.memory();
    memory.posts.iter().find(|it| it.slug == slug).map(|it| view(fake, it)).ok_or_else(ApiError::no_post)
}

pub(super) fn show(fake: &Fake, id: &str) -> Result<Value, ApiError> {
    fake.memory().posts.iter().find(|it| it.id == id).map(|it| view(fake, it)).ok_or_else(ApiError::no_post)
}

/// `POST posts/?source=html`
pub(super) fn create(fake: &Fake, query: &BTreeMap<String, String>, body: &Value) -> Result<Value, ApiError> {
    let now = fake.clock.now();
    let mut memory = fake.memory();
    let id = format!("{:024x}", memory.next_id());
    let (status, visibility) = ("draft".to_owned(), "public".to_owned());
    let mut post = Post { id, status, visibility, updated_at: now, ..Post::default() };
    let mut fields = fields(body)?;
    if query.get("source").is_none_or(|it| it != "html") {
        // As on a real site: without an error.
        fields.remove("html");
    }
    apply(&mut post, fields)?;
    while memory.posts.iter().any(|it| it.slug == post.slug) {
        post.slug.push_str("-2");
    }
    let view = view(fake, &post);
    memory.posts.push(post);
    Ok(view)
}

/// `PUT posts/{id}/`
pub(super) fn update(fake: &Fake, id: &str, query: &BTreeMap<String, String>, body: &Value) -> Result<Value, ApiError> {
    let now = fake.clock.now();
    let mut memory = fake.memory();
    let at = memory.posts.iter().position(|it| it.id == id).ok_or_else(ApiError::no_post)?;
    let mut post = memory.posts[at].clone();
    let mut fields = fields(body)?;
    let read_at = fields.remove("updated_at").ok_or_else(ApiError::collision)?;
    apply(&mut post, fields)?;
    let is_published = post.status == "published" && memory.posts[at].status != "published";
    let is_changed = is_published || post.slug != memory.posts[at].slug;
    if is_changed && read_at != json!(timestamp(&memory.posts[at])) {
        return Err(ApiError::collision());
    }
    if let Some(newsletter) = query.get("newsletter").filter(|_| is_published) {
        if newsletter != NEWSLETTER {
            return Err(ApiError::no_newsletter());
        }
        post.newsletter = Some(newsletter.clone());
    }
    if is_published {
        post.published_at = Some(now);
    }
    if is_changed {
        post.updated_at = now;
    }
    memory.posts[at] = post;
    Ok(view(fake, &memory.posts[at]))
}

/// The fields of the only post.
fn fields(body: &Value) -> Result<Map<String, Value>, ApiError> {
    match body["posts"].as_array().map(Vec::as_slice) {
        Some([Value::Object(fields)]) => Ok(fields.clone()),
        _ => Err(ApiError::new(400, "BadRequestError", "No root key ('posts') provided.")),
    }
}

fn apply(post: &mut Post, fields: Map<String, Value>) -> Result<(), ApiError> {
    for (name, value) in fields {
        let invalid = || ApiError::invalid(&name);
        let text =
            |max: usize| value.as_str().filter(|it| it.chars().count() <= max).map(str::to_owned).ok_or_else(invalid);
        let one_of = |values: &[&str]| text(20).ok().filter(|it| values.contains(&it.as_str())).ok_or_else(invalid);
        match name.as_str() {
            "title" => post.title = text(255)?,
            "html" => {
                post.html = text(usize::MAX)?;
                shown_post::parse(&post.html).ok_or_else(invalid)?;
            }
            // An empty slug is derived from the title.
            "slug" => post.slug = text(191).map(|it| if it.is_empty() { slug_of(post) } else { it })?,
            "status" => post.status = one_of(&["draft", "published"])?,
            "visibility" => post.visibility = one_of(&VISIBILITIES)?,
            "custom_excerpt" => post.custom_excerpt = text(300)?,
            "canonical_url" => post.canonical_url = text(2_000)?,
            "feature_image" => post.feature_image = text(2_000)?,
            "feature_image_alt" => post.feature_image_alt = text(191)?,
            "tags" => {
                let names = value.as_array().and_then(|it| it.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
                let names = names.filter(|it| it.iter().all(|it| it.chars().count() <= 191)).ok_or_else(invalid)?;
                post.tags = names.into_iter().map(str::to_owned).collect();
            }
            _ => return Err(invalid()),
        }
    }
    Ok(())
}

/// Without the transliteration of a real site.
fn slug_of(post: &Post) -> String {
    let letters = post.title.chars().map(|it| if it.is_ascii_alphanumeric() { it.to_ascii_lowercase() } else { '-' });
    let words = letters.collect::<String>();
    let words: Vec<_> = words.split('-').filter(|it| !it.is_empty()).collect();
    format!("{}-{}", words.join("-").chars().take(150).collect::<String>(), &post.id[20..])
}

/// In whole seconds: a change within the same second is not noticed.
fn timestamp(post: &Post) -> String {
    post.updated_at.format("%Y-%m-%dT%H:%M:%S.000Z").to_string()
}

fn view(fake: &Fake, post: &Post) -> Value {
    let home = fake.base_url();
    let url = if post.status == "draft" { format!("{home}/p/{}/", post.id) } else { format!("{home}/{}/", post.slug) };
    json!({
        "posts": [{
            "id": post.id,
            "slug": post.slug,
            "status": post.status,
            "title": post.title,
            "visibility": post.visibility,
            "excerpt": post.custom_excerpt,
            "featured": false,
            "tags": post.tags.iter().map(|it| json!({ "name": it })).collect::<Vec<_>>(),
            "email_segment": "all",
            "url": url,
            "published_at": post.published_at.map(|it| it.to_rfc3339_opts(SecondsFormat::Millis, true)),
            "updated_at": timestamp(post),
        }]
    })
}
