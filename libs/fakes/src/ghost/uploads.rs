use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Request};
use bytes::Bytes;
use domain::media::{FileType, MimeType};
use http::HeaderMap;
use serde_json::{Value, json};

use super::Fake;
use super::api_error::ApiError;
use crate::fake::params::parts;

/// `POST images/upload/` and `POST media/upload/`
pub(super) async fn upload(fake: &Fake, collection: &str, headers: &HeaderMap, body: Bytes) -> Result<Value, ApiError> {
    let missing = || ApiError::new(422, "ValidationError", "Please select an image.");
    let mut request = Request::new(Body::from(body));
    request.headers_mut().clone_from(headers);
    DefaultBodyLimit::disable().apply(&mut request);
    let file = parts(request).await.map_err(|_| missing())?.into_iter().find(|it| it.name == "file");
    let file = file.ok_or_else(missing)?;
    let name = file.file_name.ok_or_else(missing)?;
    let extension = name.rsplit_once('.').map_or("", |it| it.1);
    let wanted = if collection == "images" { FileType::Image } else { FileType::Video };
    // By extension and by declared type.
    let fits = |it: &MimeType| it.extension() == extension && it.as_str() == file.mime_type && it.file_type() == wanted;
    if !MimeType::ALL.iter().any(fits) {
        return Err(ApiError::new(415, "UnsupportedMediaTypeError", "Please select a valid file."));
    }
    let mut memory = fake.memory();
    let path = format!("/content/{collection}/2026/11/{}-{name}", memory.next_id());
    memory.files.insert(path.clone(), file.bytes);
    Ok(json!({ collection: [{ "url": format!("{}{path}", fake.base_url()), "ref": null }] }))
}
