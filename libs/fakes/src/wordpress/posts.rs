//! Posts.

use serde_json::{Map, Value, json};

use super::api_error::ApiError;
use super::request::{Member, RestRequest};
use super::site::{Memory, Post, sanitize_title};
use super::{Fake, SiteQuirk, html};

const FIELDS: &[&str] = &["status", "slug", "title", "content", "excerpt", "categories", "tags", "featured_media"];

const STATUSES: [&str; 4] = ["publish", "private", "pending", "draft"];

/// `GET /wp/v2/posts`: drafts only of the caller.
pub(super) fn list(fake: &Fake, asked: &RestRequest, by: Option<&Member>) -> Result<Value, ApiError> {
    let status = asked.parameter("status").unwrap_or("publish");
    if status != "publish" && !by.is_some_and(|it| it.role.can("edit_posts")) {
        return Err(ApiError::forbidden_status(by.is_some()));
    }
    let is_asked = |it: &&Post| {
        status.split(',').any(|one| one == it.status) && asked.parameter("slug").is_none_or(|slug| slug == it.slug)
    };
    Ok(fake.memory().posts.iter().filter(is_asked).map(|it| view(fake, it)).collect())
}

/// `GET /wp/v2/posts/{id}`
pub(super) fn show(fake: &Fake, id: u64, by: Option<&Member>) -> Result<Value, ApiError> {
    let memory = fake.memory();
    let post = memory.posts.iter().find(|it| it.id == id).ok_or_else(ApiError::no_post)?;
    if by.is_none() {
        return Err(ApiError::forbidden(false, "rest_forbidden", "Sorry, you are not allowed to do that."));
    }
    Ok(view(fake, post))
}

/// `POST /wp/v2/posts`
pub(super) fn create(fake: &Fake, asked: &RestRequest, by: Option<&Member>) -> Result<Value, ApiError> {
    if !by.is_some_and(|it| it.role.can("edit_posts")) {
        let message = "Sorry, you are not allowed to create posts as this user.";
        return Err(ApiError::forbidden(by.is_some(), "rest_cannot_create", message));
    }
    let fields = asked.fields(FIELDS)?;
    let mut memory = fake.memory();
    let id = memory.next_id();
    let uncategorized = memory.terms.first().map(|it| it.id).into_iter().collect();
    let date = fake.clock.now();
    let mut post = Post { id, status: "draft".to_owned(), categories: uncategorized, date, ..Post::default() };
    apply_fields(&memory, &mut post, &fields, by)?;
    if [&post.title, &post.content, &post.excerpt].iter().all(|it| it.is_empty()) {
        return Err(ApiError::new(400, "empty_content", "Content, title, and excerpt are empty."));
    }
    set_slug_and_date(fake, &memory, &mut post, None);
    let view = view(fake, &post);
    memory.posts.push(post);
    Ok(view)
}

/// `POST /wp/v2/posts/{id}`
pub(super) fn update(fake: &Fake, asked: &RestRequest, id: u64, by: Option<&Member>) -> Result<Value, ApiError> {
    let mut memory = fake.memory();
    let at = memory.posts.iter().position(|it| it.id == id).ok_or_else(ApiError::no_post)?;
    if by.is_none() {
        return Err(ApiError::forbidden(false, "rest_cannot_edit", "Sorry, you are not allowed to edit this post."));
    }
    let fields = asked.fields(FIELDS)?;
    let mut post = memory.posts[at].clone();
    let before = post.status.clone();
    apply_fields(&memory, &mut post, &fields, by)?;
    if memory.is(SiteQuirk::ReviewsEverything) && post.status == "publish" {
        "pending".clone_into(&mut post.status);
    }
    set_slug_and_date(fake, &memory, &mut post, Some(&before));
    memory.posts[at] = post;
    Ok(view(fake, &memory.posts[at]))
}

/// `DELETE /wp/v2/posts/{id}`: the files stay, without a post.
pub(super) fn delete(fake: &Fake, asked: &RestRequest, id: u64, by: Option<&Member>) -> Result<Value, ApiError> {
    let mut memory = fake.memory();
    let at = memory.posts.iter().position(|it| it.id == id).ok_or_else(ApiError::no_post)?;
    if by.is_none() {
        return Err(ApiError::forbidden(
            false,
            "rest_cannot_delete",
            "Sorry, you are not allowed to delete this post.",
        ));
    }
    if memory.is(SiteQuirk::KeepsPosts) {
        let message = "Sorry, you are not allowed to delete this post.";
        return Err(ApiError::new(403, "rest_cannot_delete", message));
    }
    if asked.parameter("force") != Some("true") {
        "trash".clone_into(&mut memory.posts[at].status);
        return Ok(view(fake, &memory.posts[at]));
    }
    memory.posts.remove(at);
    memory.media.iter_mut().filter(|it| it.parent == Some(id)).for_each(|it| it.parent = None);
    Ok(json!({ "deleted": true }))
}

fn apply_fields(
    memory: &Memory,
    post: &mut Post,
    fields: &Map<String, Value>,
    by: Option<&Member>,
) -> Result<(), ApiError> {
    for (name, value) in fields {
        let text =
            || value.as_str().map(str::to_owned).ok_or_else(|| ApiError::invalid(name, "is not of type string."));
        match name.as_str() {
            "status" => post.status = text()?,
            "slug" => post.slug = sanitize_title(&text()?),
            "title" => post.title = text()?,
            "excerpt" => post.excerpt = text()?,
            "content" => {
                post.content = text()?;
                html::read(&post.content).map_err(|why| ApiError::invalid("content", &why))?;
            }
            "featured_media" => {
                let id = value.as_u64().filter(|id| memory.media.iter().any(|it| it.id == *id));
                post.featured_media = id.ok_or_else(|| ApiError::invalid(name, "Invalid featured media ID."))?;
            }
            _ => {
                let is_term = |id: &u64| memory.terms.iter().any(|it| it.id == *id && it.taxonomy == *name);
                let ids = value.as_array().and_then(|it| it.iter().map(Value::as_u64).collect::<Option<Vec<_>>>());
                let ids = ids.filter(|it| it.iter().all(is_term));
                let ids = ids.ok_or_else(|| ApiError::invalid(name, "is not a list of terms."))?;
                if name == "tags" { post.tags = ids } else { post.categories = ids }
            }
        }
    }
    if !STATUSES.contains(&post.status.as_str()) {
        return Err(ApiError::invalid("status", "status is not one of publish, draft, pending, private."));
    }
    let wants_to_publish = matches!(post.status.as_str(), "publish" | "private");
    if wants_to_publish && !by.is_some_and(|it| it.role.can("publish_posts")) {
        let message = "Sorry, you are not allowed to publish posts in this post type.";
        return Err(ApiError::new(403, "rest_cannot_publish", message));
    }
    Ok(())
}

/// Sets the unique slug and the date, which depend on the status.
fn set_slug_and_date(fake: &Fake, memory: &Memory, post: &mut Post, before: Option<&str>) {
    let has_page = matches!(post.status.as_str(), "publish" | "private");
    if post.slug.is_empty() && has_page {
        post.slug =
            Some(sanitize_title(&html::plain(&post.title))).filter(|it| !it.is_empty()).unwrap_or(post.id.to_string());
    }
    if !post.slug.is_empty() {
        post.slug = memory.unique_slug(&post.slug, post.id);
    }
    if post.status == "publish" && before != Some("publish") {
        post.date = fake.clock.now();
    }
}

fn view(fake: &Fake, post: &Post) -> Value {
    let has_page = post.status == "publish" && !fake.kind.is_plain;
    let page = if has_page { format!("{}/", post.slug) } else { format!("?p={}", post.id) };
    json!({
        "id": post.id,
        "slug": post.slug,
        "status": post.status,
        "link": format!("{}/{page}", fake.home()),
        "date_gmt": post.date.format("%Y-%m-%dT%H:%M:%S").to_string(),
        "title": { "raw": post.title },
        "content": { "raw": post.content },
    })
}
