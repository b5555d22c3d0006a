//! Preparation: pictures are uploaded one by one without being public, or a video is.
//!
//! Facts: a picture uploaded with `published=false` is shown by the one post that names it, and
//! deleted after about a day. Source: `graph-api/reference/page/photos`.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::AttemptError;
use domain::media::{Attachment, MimeType};
use futures::{StreamExt, stream};
use http::Method;
use serde::{Deserialize, Serialize};

use super::Facebook;
use super::kind::{BOUNDS, Form};
use super::video::{self, Video};
use crate::caller::Caller;
use crate::kit::{CallError, Effect, ErrorKind};
use crate::meta::GraphId;
use crate::multipart;
use crate::picture::{self, PendingPicture, PictureState};
use crate::platform::Step;
use crate::publish_request::{MediaBytes, PublishRequest};

/// Facebook keeps an unpublished upload for about a day.
const GOOD_FOR: TimeDelta = TimeDelta::hours(22);

const UPLOAD: Duration = Duration::from_secs(30);

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Progress {
    /// In the order of the post.
    pub(super) photos: Vec<Photo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<PendingPicture>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) video: Option<Video>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Photo {
    pub(super) id: GraphId,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub(super) at: DateTime<Utc>,
}

#[derive(Deserialize)]
struct Uploaded {
    id: GraphId,
}

impl Progress {
    pub(super) fn stored(request: &PublishRequest<'_>) -> Self {
        request.progress()
    }

    pub(super) fn load_unexpired(request: &PublishRequest<'_>) -> Self {
        let progress = Self::stored(request);
        let times = progress.photos.iter().map(|it| it.at).chain(progress.video.as_ref().map(|it| it.begun_at));
        if times.min().is_some_and(|it| it + GOOD_FOR < request.now) { Self::default() } else { progress }
    }

    pub(super) fn is_whole(&self, form: Form<'_>) -> bool {
        let has_ready_video = || self.video.as_ref().is_some_and(Video::is_ready);
        self.photos.len() == form.pictures().len() && (form.video().is_none() || has_ready_video())
    }

    fn store(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

pub(super) async fn step(facebook: &Facebook, request: &PublishRequest<'_>) -> Result<Step, AttemptError> {
    let (mut progress, form) = (Progress::load_unexpired(request), Form::from_request(request)?);
    if progress.is_whole(form) {
        return Ok(Step::Ready { progress: Some(progress.store()) });
    }
    let at = match (form.video(), form.pictures().get(progress.photos.len())) {
        (Some(file), _) => {
            let stepped = video::step(facebook, request, (form, file), &mut progress.video).await;
            stepped.map_err(|it| with_file_position(request, file, it))?
        }
        (None, Some(file)) => {
            photo(facebook, request, file, &mut progress).await.map_err(|it| with_file_position(request, file, it))?
        }
        (None, None) => request.now,
    };
    Ok(Step::Again { progress: progress.store(), at })
}

fn with_file_position(request: &PublishRequest<'_>, file: &Attachment, attempt_error: AttemptError) -> AttemptError {
    let place = request.place(file);
    attempt_error.map_reason(|it| if it.starts_with(&place) { it.clone() } else { format!("{place}: {it}") })
}

/// Fits a picture if necessary, and uploads it. Returns when the next step is due.
async fn photo(
    facebook: &Facebook,
    request: &PublishRequest<'_>,
    file: &Attachment,
    progress: &mut Progress,
) -> Result<DateTime<Utc>, AttemptError> {
    let is_to_fit =
        progress.picture.is_some() || file.mime_type == MimeType::Webp || BOUNDS.max_bytes < file.size_bytes;
    let (mime_type, length, bytes) = if is_to_fit {
        match picture::fitted(request, file, BOUNDS, progress.picture).await? {
            PictureState::Again(awaited, at) => {
                progress.picture = Some(awaited);
                return Ok(at);
            }
            PictureState::Ready((picture, _)) => {
                let length = picture.bytes.len() as u64;
                (picture.mime_type, length, stream::iter([Ok(picture.bytes)]).boxed())
            }
        }
    } else {
        let bytes = request.files.open(file).await.map_err(CallError::from)?;
        (file.mime_type, file.size_bytes, bytes)
    };
    let id = match upload(facebook, request, file, (mime_type, length, bytes)).await {
        Ok(id) => id,
        Err(error) => return Err(facebook.graph.confirmed(request, error).await.into()),
    };
    progress.photos.push(Photo { id, at: request.now });
    progress.picture = None;
    Ok(request.now)
}

async fn upload(
    facebook: &Facebook,
    request: &PublishRequest<'_>,
    file: &Attachment,
    (mime_type, length, bytes): (MimeType, u64, MediaBytes),
) -> Result<GraphId, CallError> {
    let caller = Caller::for_request(request);
    let mut form = multipart::Form::new().text("published", "false");
    if let Some(alt_text) = &file.alt_text {
        form = form.text("alt_text_custom", alt_text.as_str());
    }
    let form = form.file(("source", "photo"), mime_type, length, bytes);
    let path = format!("/{}/photos", request.profile.account_id);
    let (call, unread) = form.onto(facebook.graph.request(caller, Method::POST, &path).await?.timeout(UPLOAD));
    match facebook.graph.json::<Uploaded>(call, caller, Effect::Private).await {
        Err(_) if unread.is_set() => {
            Err(CallError::new(ErrorKind::NotSent, Effect::Private, "the file could not be read"))
        }
        uploaded => Ok(uploaded?.body.id),
    }
}
