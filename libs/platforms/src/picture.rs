//! Pictures for platforms that accept only small ones.
//!
//! They are not decoded here: a malicious file can crash the decoder, and this process has other
//! users' posts and all credentials. The media service is asked to fit the picture, and polled
//! until it is ready. A file that fits and has no metadata is sent as it is.

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::AttemptError;
use domain::media::{Attachment, HEADER_BYTES, MimeType, PictureBounds, Pixels};
use futures::{StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};

use crate::publish_request::{FittedPicture, MediaReadError, Picture, PublishRequest};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PendingPicture {
    #[serde(with = "chrono::serde::ts_milliseconds")]
    since: DateTime<Utc>,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    asked_at: DateTime<Utc>,
}

pub(crate) type SizedPicture = (Picture, (u32, u32));

pub(crate) enum PictureState<T = SizedPicture> {
    Ready(T),
    /// Not ready; when to look again.
    Again(PendingPicture, DateTime<Utc>),
}

/// Most pictures are ready sooner.
const FIRST_WAIT: TimeDelta = TimeDelta::seconds(1);

const LONGEST_WAIT: TimeDelta = TimeDelta::seconds(30);

/// A picture is requested again after this time, because a request is lost when the bucket fails.
/// Not sooner, because each request for a file that crashes its decoder may crash it three times.
const ASK_AGAIN: TimeDelta = TimeDelta::minutes(5);

enum PictureFile {
    AsItIs(SizedPicture),
    Made(SizedPicture),
}

pub(crate) async fn fitted(
    request: &PublishRequest<'_>,
    file: &Attachment,
    bounds: PictureBounds,
    pending: Option<PendingPicture>,
) -> Result<PictureState, AttemptError> {
    Ok(match check(request, file, bounds, pending).await? {
        PictureState::Ready(PictureFile::AsItIs(picture) | PictureFile::Made(picture)) => PictureState::Ready(picture),
        PictureState::Again(pending, at) => PictureState::Again(pending, at),
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Source {
    Original,
    Fitted(MimeType),
}

/// For platforms that fetch pictures themselves: the file that is within these bounds.
pub(crate) async fn source(
    request: &PublishRequest<'_>,
    file: &Attachment,
    bounds: PictureBounds,
    pending: Option<PendingPicture>,
) -> Result<PictureState<Source>, AttemptError> {
    Ok(match check(request, file, bounds, pending).await? {
        PictureState::Ready(PictureFile::AsItIs(_)) => PictureState::Ready(Source::Original),
        PictureState::Ready(PictureFile::Made((made, _))) => PictureState::Ready(Source::Fitted(made.mime_type)),
        PictureState::Again(pending, at) => PictureState::Again(pending, at),
    })
}

/// A URL at which any client can read a picture for at least an hour.
pub(crate) async fn public_url(
    request: &PublishRequest<'_>,
    file: &Attachment,
    bounds: PictureBounds,
    source: Source,
) -> Result<String, AttemptError> {
    let url = match source {
        Source::Original => request.files.public_url(file).await,
        Source::Fitted(made) => request.files.public_picture(file, bounds, made).await,
    };
    url.map_err(unreadable)
}

pub(crate) async fn public(
    request: &PublishRequest<'_>,
    file: &Attachment,
    bounds: PictureBounds,
    pending: Option<PendingPicture>,
) -> Result<PictureState<String>, AttemptError> {
    Ok(match source(request, file, bounds, pending).await? {
        PictureState::Ready(ready) => PictureState::Ready(public_url(request, file, bounds, ready).await?),
        PictureState::Again(pending, at) => PictureState::Again(pending, at),
    })
}

async fn check(
    request: &PublishRequest<'_>,
    file: &Attachment,
    bounds: PictureBounds,
    pending: Option<PendingPicture>,
) -> Result<PictureState<PictureFile>, AttemptError> {
    if pending.is_none()
        && let Some(seen) = original_if_fitting(request, file, bounds).await?
    {
        return Ok(PictureState::Ready(PictureFile::AsItIs(seen)));
    }
    match request.files.fitted(file, bounds).await.map_err(unreadable)? {
        Some(FittedPicture::Picture(picture)) => {
            let size = picture.mime_type.picture_size(&picture.bytes);
            let size = size.ok_or_else(|| retry_later("the fitted picture has no size".to_owned()))?;
            return Ok(PictureState::Ready(PictureFile::Made((picture, size))));
        }
        Some(FittedPicture::Refused(reason)) => {
            return Err(AttemptError::Refused { reason: format!("{}: {reason}", request.place(file)) });
        }
        None => {}
    }
    let pending = match pending {
        Some(pending) if request.now < pending.asked_at + ASK_AGAIN => pending,
        earlier => {
            request.files.ask_to_fit(file, bounds).await.map_err(unreadable)?;
            PendingPicture { since: earlier.map_or(request.now, |it| it.since), asked_at: request.now }
        }
    };
    let wait = ((request.now - pending.since) / 2).clamp(FIRST_WAIT, LONGEST_WAIT);
    Ok(PictureState::Again(pending, request.now + wait))
}

/// Whether a picture states a longer side than the platform accepts. False if it states no size.
pub(crate) async fn is_longer(
    request: &PublishRequest<'_>,
    file: &Attachment,
    max_side: u32,
) -> Result<bool, AttemptError> {
    if let Some(pixels) = file.facts.and_then(|it| it.pixels) {
        return Ok(max_side < pixels.width.max(pixels.height));
    }
    // For posts that were written before the size of files was recorded.
    let pieces = request.files.open_range(file, 0..HEADER_BYTES as u64).await.map_err(unreadable)?;
    let bytes: Vec<_> = pieces.try_collect().await.map_err(unreadable)?;
    let bytes = bytes.concat();
    Ok(file.mime_type.picture_size(&bytes).is_some_and(|(width, height)| max_side < width.max(height)))
}

/// The file itself, with its width and height, if it fits and has no metadata.
async fn original_if_fitting(
    request: &PublishRequest<'_>,
    file: &Attachment,
    bounds: PictureBounds,
) -> Result<Option<SizedPicture>, AttemptError> {
    // An unknown size is checked below.
    let smallest = Pixels { width: 1, height: 1 };
    let is_of_types = PictureBounds { borders: None, ..bounds }.are_met_by(file.mime_type, smallest);
    if !is_of_types || bounds.max_bytes < file.size_bytes {
        return Ok(None);
    }
    let mut pieces = request.files.open(file).await.map_err(unreadable)?;
    let mut bytes = Vec::new();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(unreadable)?;
        if bounds.max_bytes < (bytes.len() + piece.len()) as u64 {
            return Ok(None);
        }
        bytes.extend_from_slice(&piece);
    }
    let meets = |&(width, height): &_| bounds.are_met_by(file.mime_type, Pixels { width, height });
    let size = file.mime_type.picture_size(&bytes).filter(meets);
    let size = size.filter(|_| file.mime_type.is_bare_picture(&bytes));
    Ok(size.map(|size| (Picture { mime_type: file.mime_type, bytes: bytes.into() }, size)))
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn unreadable(error: MediaReadError) -> AttemptError {
    retry_later(error.to_string())
}

fn retry_later(reason: String) -> AttemptError {
    AttemptError::RetryLater { retry_at: None, reason }
}

#[cfg(test)]
mod tests;
