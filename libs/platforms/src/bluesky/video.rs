//! The video service, which transcodes a video and stores the result on the account's server.
//!
//! Facts: each of its calls needs a token that the account's server issues for one method; an
//! upload returns a job; a job is finished when it has a blob, even if it also has an error
//! (`already_exists`, whose response names the job of the same file). The status is at the top
//! level of a response, or within `jobStatus`. The service accepts MP4, `QuickTime`, MPEG, `WebM`
//! and GIF, and converts all of them to MP4.

mod job;
mod limits;
mod parts;
#[cfg(any(test, feature = "testing"))]
pub(super) mod recordings;
mod service;

use domain::delivery::AttemptError;
use domain::media::Attachment;
use http::{Method, StatusCode};
use secrecy::SecretString;

pub(super) use self::job::{Progress, VideoJob};
pub(super) use self::parts::{Sent, Upload};
pub(super) use self::service::VideoService;
use self::service::with;
use super::errors::VIDEO;
use super::reply::Reply;
use super::upload::{open, with_file};
use crate::kit::Effect;
use crate::publish_request::PublishRequest;

pub(super) enum UploadStart {
    Whole(VideoJob),
    InParts(Upload),
}

pub(super) async fn begin(
    service: &VideoService<'_>,
    request: &PublishRequest<'_>,
    file: &Attachment,
) -> Result<UploadStart, AttemptError> {
    limits::check(service, file.size_bytes).await?;
    let token = service.upload_token().await?;
    let name = format!("{}.{}", request.reference, file.mime_type.extension());
    match Upload::start(service, &token, file, &name).await? {
        Some(upload) => Ok(UploadStart::InParts(upload)),
        None => whole(service, request, file, &token, &name).await.map(UploadStart::Whole),
    }
}

async fn whole(
    service: &VideoService<'_>,
    request: &PublishRequest<'_>,
    file: &Attachment,
    token: &SecretString,
    name: &str,
) -> Result<VideoJob, AttemptError> {
    let call = service.call(Method::POST, "app.bsky.video.uploadVideo")?;
    let call = call.query(&[("did", service.pds.session.did.as_str()), ("name", name)]);
    let body = reqwest::Body::wrap_stream(open(request, file).await?);
    let reply = Reply::to(with_file(with(call, token), file).body(body)).await?;
    match VideoJob::from_reply(&reply, request.now) {
        Some(begun) if reply.status.is_success() || reply.status == StatusCode::CONFLICT => Ok(begun),
        _ => Err(reply.failure(&VIDEO, Effect::Private, request.now).into()),
    }
}
