use serde_json::{Value, json};

use super::api_error::ApiError;
use super::request::RestRequest;
use super::site::{Memory, Post};
use super::{Fake, html};

const FIELDS: &[&str] = &["status", "slug", "title", "content", "excerpt", "categories", "tags", "featured_media"];

const STATUSES: [&str; 4] = ["publish", "private", "pending", "draft"];

/// `GET /wp/v2/posts`
pub(super) fn list(fake: &Fake, asked: &RestRequest) -> Value {
    let memory = fake.memory();
    let (status, slug) = (asked.parameter("status").unwrap_or("publish"), asked.parameter("slug"));
    let found = memory.posts.iter().filter(|it| it.status == status && slug.is_none_or(|slug| slug == it.slug));
    found.map(|it| view(fake, it)).collect()
}

/// `GET /wp/v2/posts/{id}`
pub(super) fn show(fake: &Fake, id: u64) -> Result<Value, ApiError> {
    fake.memory().posts.iter().find(|it| it.id == id).map(|it| view(fake, it)).ok_or_else(ApiError::no_post)
}

/// `POST /wp/v2/posts`
pub(super) fn create(fake: &Fake, asked: &RestRequest) -> Result<Value, ApiError> {
    let mut memory = fake.memory();
    let id = memory.next_id();
    let mut post = Post { id, status: "draft".to_owned(), date: fake.clock.now(), ..Post::default() };
    apply_fields(&memory, &mut post, asked)?;
    if [&post.title, &post.content, &post.excerpt].iter().all(|it| it.is_empty()) {
        return Err(ApiError::new(400, "empty_content", "Content, title, and excerpt are empty."));
    }
    let view = view(fake, &post);
    memory.posts.push(post);
    Ok(view)
}

/// `POST /wp/v2/posts/{id}`
pub(super) fn update(fake: &Fake, asked: &RestRequest, id: u64) -> Result<Value, ApiError> {
    let mut memory = fake.memory();
    let at = memory.posts.iter().position(|it| it.id == id).ok_or_else(ApiError::no_post)?;
    let mut post = memory.posts[at].clone();
    apply_fields(&memory, &mut post, asked)?;
    if post.status == "publish" && memory.posts[at].status != "publish" {
        post.date = fake.clock.now();
    }
    memory.posts[at] = post;
    Ok(view(fake, &memory.posts[at]))
}

/// `DELETE /wp/v2/posts/{id}`: the files stay, without a post.
pub(super) fn delete(fake: &Fake, asked: &RestRequest, id: u64) -> Result<Value, ApiError> {
    let mut memory = fake.memory();
    let at = memory.posts.iter().position(|it| it.id == id).ok_or_else(ApiError::no_post)?;
    asked.require_force()?;
    memory.posts.remove(at);
    memory.media.iter_mut().filter(|it| it.parent == Some(id)).for_each(|it| it.parent = None);
    Ok(json!({ "deleted": true }))
}

fn apply_fields(memory: &Memory, post: &mut Post, asked: &RestRequest) -> Result<(), ApiError> {
    for (name, value) in asked.fields(FIELDS)? {
        let invalid = || ApiError::invalid(&name);
        let text = || value.as_str().map(str::to_owned).ok_or_else(invalid);
        match name.as_str() {
            "status" => post.status = text().ok().filter(|it| STATUSES.contains(&it.as_str())).ok_or_else(invalid)?,
            "slug" => post.slug = text()?,
            "title" => post.title = text()?,
            "excerpt" => post.excerpt = text()?,
            "content" => {
                post.content = text()?;
                html::read(&post.content).map_err(|why| ApiError::invalid(&why))?;
            }
            "featured_media" => {
                let id = value.as_u64().filter(|id| memory.media.iter().any(|it| it.id == *id));
                post.featured_media = id.ok_or_else(invalid)?;
            }
            taxonomy => {
                let is_term = |id: &u64| memory.terms.iter().any(|it| it.id == *id && it.taxonomy == taxonomy);
                let ids = value.as_array().and_then(|it| it.iter().map(Value::as_u64).collect::<Option<Vec<_>>>());
                let ids = ids.filter(|it| it.iter().all(is_term)).ok_or_else(invalid)?;
                post.terms[usize::from(taxonomy == "tags")] = ids;
            }
        }
    }
    Ok(())
}

fn view(fake: &Fake, post: &Post) -> Value {
    json!({
        "id": post.id,
        "slug": post.slug,
        "status": post.status,
        "link": format!("{}/?p={}", fake.home(), post.id),
        "date_gmt": post.date.format("%Y-%m-%dT%H:%M:%S").to_string(),
    })
}
