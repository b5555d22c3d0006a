//! Uploads of files to the account's own server.
//!
//! Facts: a file is identified by the hash of its bytes, so uploading it again is harmless; its
//! type and size are checked when a record shows it; until then it is kept for at least an hour.

use std::time::Duration;

use bytes::Bytes;
use domain::delivery::AttemptError;
use domain::media::{Attachment, MimeType};
use http::Method;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use serde::Deserialize;

use super::blob::Blob;
use super::errors::PDS;
use super::pds::Pds;
use super::reply::Reply;
use crate::kit::{CallError, Effect};
use crate::publish_request::PublishRequest;

pub(super) const UPLOAD: Duration = crate::platform::STEP_LIMIT;

#[derive(Deserialize)]
pub(super) struct Uploaded {
    pub(super) blob: Blob,
}

pub(super) async fn bytes(pds: &Pds<'_>, mime: MimeType, bytes: &Bytes) -> Result<Blob, AttemptError> {
    let shape = |request: reqwest::RequestBuilder| {
        Some(request.header(CONTENT_TYPE, mime.as_str()).body(bytes.clone()).timeout(UPLOAD))
    };
    uploaded(pds, &pds.send(Method::POST, METHOD, shape).await?)
}

pub(super) async fn upload_file(
    pds: &Pds<'_>,
    job: &PublishRequest<'_>,
    file: &Attachment,
) -> Result<Blob, AttemptError> {
    // A stream can be sent only once. The call before it fetches the current nonce, so that the
    // upload is not refused for an old one.
    let session = pds.query("com.atproto.server.getSession", &[]).await?;
    if !session.status.is_success() {
        return Err(session.failure(&PDS, Effect::Private, pds.now).into());
    }
    let mut body = Some(reqwest::Body::wrap_stream(open(job, file).await?));
    let shape = move |request: reqwest::RequestBuilder| Some(with_file(request, file).body(body.take()?));
    uploaded(pds, &pds.send(Method::POST, METHOD, shape).await?)
}

const METHOD: &str = "com.atproto.repo.uploadBlob";

fn uploaded(pds: &Pds<'_>, reply: &Reply) -> Result<Blob, AttemptError> {
    if !reply.status.is_success() {
        return Err(reply.failure(&PDS, Effect::Private, pds.now).into());
    }
    let uploaded = reply.json::<Uploaded>().map(|it| it.blob);
    uploaded.ok_or_else(|| CallError::unreadable(PDS.title, Effect::Private).into())
}

pub(super) async fn open(
    request: &PublishRequest<'_>,
    file: &Attachment,
) -> Result<crate::publish_request::MediaBytes, AttemptError> {
    request
        .files
        .open(file)
        .await
        .map_err(|error| AttemptError::RetryLater { retry_at: None, reason: error.to_string() })
}

pub(super) fn with_file(request: reqwest::RequestBuilder, file: &Attachment) -> reqwest::RequestBuilder {
    request
        .header(CONTENT_TYPE, file.mime_type.as_str())
        // With a length, a stream that ends early is not mistaken for the whole file.
        .header(CONTENT_LENGTH, file.size_bytes)
        .timeout(UPLOAD)
}
