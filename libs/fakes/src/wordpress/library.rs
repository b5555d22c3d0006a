use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Request};
use domain::media::MimeType;
use http::header;
use serde_json::{Value, json};

use super::Fake;
use super::api_error::ApiError;
use super::request::RestRequest;
use super::site::Medium;
use crate::fake::params::parts;

/// `GET /wp/v2/media`
pub(super) fn list(fake: &Fake, asked: &RestRequest) -> Value {
    let memory = fake.memory();
    memory.media.iter().filter(|it| asked.parameter("slug") == Some(&it.slug)).map(view).collect()
}

/// `POST /wp/v2/media`
pub(super) async fn upload(fake: &Fake, asked: &RestRequest) -> Result<Value, ApiError> {
    let no_data = || ApiError::new(400, "rest_upload_no_data", "No data supplied.");
    if !asked.headers.contains_key(header::CONTENT_LENGTH) {
        return Err(no_data());
    }
    let mut request = Request::new(Body::from(asked.body.clone()));
    request.headers_mut().clone_from(&asked.headers);
    DefaultBodyLimit::disable().apply(&mut request);
    let (mut file, mut parent, mut slug, mut alt_text) = (None, None, String::new(), String::new());
    for part in parts(request).await.map_err(|_| no_data())? {
        match part.name.as_str() {
            "file" => file = part.file_name.map(|name| (name, part.bytes)),
            "post" => parent = part.text().parse().ok(),
            "slug" => slug = part.text(),
            // `sanitize_text_field`
            "alt_text" => alt_text = part.text().split_whitespace().collect::<Vec<_>>().join(" "),
            "title" => {}
            other => return Err(ApiError::invalid(other)),
        }
    }
    let (name, bytes) = file.ok_or_else(no_data)?;
    let mut memory = fake.memory();
    if parent.is_none_or(|id| memory.posts.iter().all(|it| it.id != id)) {
        let message = "Sorry, you are not allowed to upload media to this post.";
        return Err(ApiError::new(403, "rest_cannot_edit", message));
    }
    // Type by extension and by content.
    let extension = name.rsplit_once('.').map_or("", |it| it.1);
    let mime_type = MimeType::ALL.into_iter().find(|it| it.extension() == extension && it.matches(&bytes));
    let mime_type = mime_type.ok_or_else(ApiError::refused_file)?;
    let id = memory.next_id();
    let source_url = format!("{}/wp-content/uploads/2026/11/{id}-{name}", fake.home());
    let medium = Medium { id, slug, parent, mime_type, bytes, alt_text, source_url };
    let view = view(&medium);
    memory.media.push(medium);
    Ok(view)
}

/// `POST /wp/v2/media/{id}/post-process`: creates the missing sizes.
pub(super) fn post_process(fake: &Fake, asked: &RestRequest, id: u64) -> Result<Value, ApiError> {
    if asked.fields(&["action"])?.get("action") != Some(&json!("create-image-subsizes")) {
        return Err(ApiError::invalid("action"));
    }
    fake.memory().media.iter().find(|it| it.id == id).map(view).ok_or_else(ApiError::no_post)
}

/// `DELETE /wp/v2/media/{id}`
pub(super) fn delete(fake: &Fake, asked: &RestRequest, id: u64) -> Result<Value, ApiError> {
    let mut memory = fake.memory();
    let at = memory.media.iter().position(|it| it.id == id).ok_or_else(ApiError::no_post)?;
    asked.require_force()?;
    memory.media.remove(at);
    Ok(json!({ "deleted": true }))
}

fn view(medium: &Medium) -> Value {
    json!({ "id": medium.id, "source_url": medium.source_url })
}
