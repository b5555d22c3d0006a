//! The media library.

use axum::body::Body;
use axum::extract::{DefaultBodyLimit, FromRequest, Multipart, Request};
use bytes::Bytes;
use domain::media::{FileType, MimeType};
use http::header;
use serde_json::{Value, json};

use super::Fake;
use super::api_error::ApiError;
use super::request::{Member, RestRequest};
use super::site::{Medium, sanitize_title};
use crate::fake::params::essence;

/// The fields of an upload form.
#[derive(Default)]
struct Form {
    file: Option<(String, Bytes)>,
    post: Option<u64>,
    slug: String,
    alt_text: String,
}

/// `GET /wp/v2/media`: callers also see the files of their drafts.
pub(super) fn list(fake: &Fake, asked: &RestRequest, by: Option<&Member>) -> Result<Value, ApiError> {
    if asked.parameter("status").is_some_and(|it| it != "inherit") {
        return Err(ApiError::invalid("status", "Status is forbidden."));
    }
    let memory = fake.memory();
    let is_asked = |it: &&Medium| {
        asked.parameter("slug").is_none_or(|slug| slug == it.slug) && (by.is_some() || memory.is_seen(it.parent))
    };
    Ok(memory.media.iter().filter(is_asked).map(view).collect())
}

/// `POST /wp/v2/media`
pub(super) async fn upload(fake: &Fake, asked: &RestRequest, by: Option<&Member>) -> Result<Value, ApiError> {
    if !by.is_some_and(|it| it.role.can("upload_files")) {
        let message = "Sorry, you are not allowed to upload media on this site.";
        return Err(ApiError::forbidden(by.is_some(), "rest_cannot_create", message));
    }
    let form = Form::read(asked).await?;
    let Some((name, bytes)) = form.file else {
        return Err(ApiError::new(400, "rest_upload_no_data", "No data supplied."));
    };
    let mut memory = fake.memory();
    if form.post.is_some_and(|id| memory.posts.iter().all(|it| it.id != id)) {
        let message = "Sorry, you are not allowed to upload media to this post.";
        return Err(ApiError::new(403, "rest_cannot_edit", message));
    }
    if memory.max_file < bytes.len() {
        let message = "The uploaded file exceeds the upload_max_filesize directive in php.ini.";
        return Err(ApiError::upload_error(message));
    }
    // Type by extension and by content.
    let (stem, extension) = name.rsplit_once('.').unwrap_or((&name, ""));
    let mime_type = MimeType::ALL.into_iter().find(|it| it.extension() == extension && it.matches(&bytes));
    let Some(mime_type) = mime_type else {
        return Err(ApiError::upload_error("Sorry, you are not allowed to upload this file type."));
    };
    let id = memory.next_id();
    let wanted = if form.slug.is_empty() { sanitize_title(stem) } else { form.slug };
    let slug = memory.unique_slug(&wanted, id);
    let source_url = format!("{}/wp-content/uploads/2026/11/{id}-{name}", fake.home());
    let dies = mime_type.file_type() == FileType::Image && std::mem::take(&mut memory.dies_making_sizes);
    let alt_text = form.alt_text;
    let medium = Medium { id, slug, parent: form.post, mime_type, bytes, alt_text, source_url, has_sizes: !dies };
    let view = view(&medium);
    memory.media.push(medium);
    if dies { Err(ApiError::critical_error().with_header("x-wp-upload-attachment-id", id)) } else { Ok(view) }
}

/// `POST /wp/v2/media/{id}/post-process`: creates the missing sizes.
pub(super) fn post_process(fake: &Fake, asked: &RestRequest, id: u64, by: Option<&Member>) -> Result<Value, ApiError> {
    if by.is_none() {
        return Err(ApiError::forbidden(false, "rest_cannot_edit", "Sorry, you are not allowed to edit this post."));
    }
    let fields = asked.fields(&["action"])?;
    if fields.get("action") != Some(&json!("create-image-subsizes")) {
        return Err(ApiError::invalid("action", "action is not one of create-image-subsizes."));
    }
    let mut memory = fake.memory();
    let medium = memory.media.iter_mut().find(|it| it.id == id).ok_or_else(ApiError::no_post)?;
    medium.has_sizes = true;
    Ok(view(medium))
}

/// `DELETE /wp/v2/media/{id}`
pub(super) fn delete(fake: &Fake, asked: &RestRequest, id: u64, by: Option<&Member>) -> Result<Value, ApiError> {
    by.ok_or_else(ApiError::not_logged_in)?;
    let mut memory = fake.memory();
    let at = memory.media.iter().position(|it| it.id == id).ok_or_else(ApiError::no_post)?;
    if asked.parameter("force") != Some("true") {
        let message = "The post does not support trashing. Set 'force=true' to delete.";
        return Err(ApiError::new(501, "rest_trash_not_supported", message));
    }
    memory.media.remove(at);
    Ok(json!({ "deleted": true }))
}

impl Form {
    async fn read(asked: &RestRequest) -> Result<Self, ApiError> {
        let mut form = Self::default();
        if essence(&asked.headers) != "multipart/form-data" {
            return Ok(form);
        }
        if !asked.headers.contains_key(header::CONTENT_LENGTH) {
            return Err(ApiError::new(400, "rest_upload_no_data", "No data supplied."));
        }
        let broken = |_| ApiError::new(400, "rest_upload_no_data", "No data supplied.");
        let mut request = Request::new(Body::from(asked.body.clone()));
        request.headers_mut().clone_from(&asked.headers);
        // The site's own limit applies instead.
        DefaultBodyLimit::disable().apply(&mut request);
        let mut parts = Multipart::from_request(request, &()).await.expect("it says that it is a form");
        while let Some(part) = parts.next_field().await.map_err(broken)? {
            let name = part.name().unwrap_or_default().to_owned();
            if name == "file" {
                let file_name = part.file_name().unwrap_or_default().to_owned();
                form.file = Some((file_name, part.bytes().await.map_err(broken)?));
                continue;
            }
            let text = part.text().await.map_err(broken)?;
            match name.as_str() {
                "post" => form.post = Some(text.parse().map_err(|_| ApiError::invalid("post", "is no number"))?),
                "slug" => form.slug = sanitize_title(&text),
                // `sanitize_text_field`
                "alt_text" => form.alt_text = text.split_whitespace().collect::<Vec<_>>().join(" "),
                "title" | "caption" | "description" => {}
                other => return Err(ApiError::invalid(other, "there is no such field")),
            }
        }
        Ok(form)
    }
}

fn view(medium: &Medium) -> Value {
    json!({
        "id": medium.id,
        "slug": medium.slug,
        "status": "inherit",
        "post": medium.parent,
        "alt_text": medium.alt_text,
        "mime_type": medium.mime_type.as_str(),
        "source_url": medium.source_url,
    })
}
