//! The upload, the publish call and its look-up.

use std::ops::Range;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::{Published, Resolution};
use domain::media::{Attachment, FileType, MAX_FETCHED_PICTURE_BYTES, PictureBounds, Pixels};
use http::header::CONTENT_RANGE;
use http::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;

use super::errors::{PHOTO_ERRORS, UPLOAD_ERRORS, UPLOAD_EXPIRED};
use super::status::{self, Status};
use super::{DIRECT, KIND, PHOTO_TITLE, PUBLIC, Response, TITLE, TikTok, VISIBILITY, is_id};
use crate::kit::{
    Auth, CallError, Effect, ErrorKind, File, LookUpMethod, MediaSource, Part, Prepared, PreparedFile, PublishAdapter,
    UploadState, UploadStep,
};
use crate::publish_request::{MediaBytes, PublishRequest};

/// A larger video has to be sent in several chunks, of at least 5 and at most 64 MB each.
const MAX_SINGLE_CHUNK_BYTES: u64 = 64_000_000;

/// The last chunk has up to twice as many.
const CHUNK_BYTES: u64 = 10_000_000;

/// With a status call after it, less than a step may take.
const CHUNK_TIMEOUT: Duration = Duration::from_secs(27);

const PHOTO_TIMEOUT: Duration = Duration::from_secs(20);

const URL_LIFE: TimeDelta = TimeDelta::hours(1);

/// How long the id of a public post is awaited. TikTok names it after moderation, usually within a minute.
const MODERATION: TimeDelta = TimeDelta::minutes(5);

/// In pixels. TikTok refuses photos that are wider (`picture_size_check_failed`), and documents "1080p".
const MAX_WIDTH: u32 = 1_080;
pub(super) const MAX_HEIGHT: u32 = 1_920;

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Uploaded {
    /// TikTok fetches it after the publish call.
    Photo,
    /// All but the last chunk.
    Video {
        publish_id: String,
        upload_url: String,
        sent_bytes: u64,
        #[serde(with = "chrono::serde::ts_milliseconds")]
        expires_at: DateTime<Utc>,
    },
}

#[derive(Deserialize)]
struct Begun {
    publish_id: String,
    upload_url: Option<String>,
}

impl PublishAdapter for TikTok {
    const TITLE: &'static str = TITLE;
    const FETCHES_FILES: bool = true;
    /// The `publish_id` identifies a post.
    const RECOGNIZES: bool = false;

    type Uploaded = Uploaded;

    fn media_source(&self, _: &PublishRequest<'_>, file: &Attachment) -> MediaSource {
        let is_image = file.mime_type.file_type() == FileType::Image;
        if is_image { MediaSource::PublicUrl(photo_bounds(file)) } else { MediaSource::Original }
    }

    async fn upload(&self, request: &PublishRequest<'_>, file: &File<'_>) -> Result<UploadStep<Uploaded>, CallError> {
        if !file.is_video() {
            return Ok(UploadStep::Uploaded(Uploaded::Photo));
        }
        let (auth, (chunk_bytes, chunks)) = (Auth::post(request), chunks(file.size_bytes()));
        let source = json!({
            "source": "FILE_UPLOAD",
            "video_size": file.size_bytes(),
            "chunk_size": chunk_bytes,
            "total_chunk_count": chunks,
        });
        let call = if self.is_direct(request) {
            let creator = self.creator(auth, Effect::Private).await?;
            let mut info = creator.post_info(request.options, Some(file.attachment))?;
            info["title"] = request.text.into();
            self.post(auth, "v2/post/publish/video/init/").json(&json!({ "post_info": info, "source_info": source }))
        } else {
            self.post(auth, "v2/post/publish/inbox/video/init/").json(&json!({ "source_info": source }))
        };
        let Response { data: Begun { publish_id, upload_url } } = call.effect(Effect::Private).read().await?;
        let upload_url = upload_url.filter(|it| is_id(&publish_id) && Url::parse(it).is_ok());
        let upload_url = upload_url.ok_or_else(|| self.api.unreadable(Effect::Private))?;
        let expires_at = request.now + URL_LIFE;
        if chunks == 1 {
            return Ok(UploadStep::Uploaded(Uploaded::Video { publish_id, upload_url, sent_bytes: 0, expires_at }));
        }
        let state = UploadState::in_first_parts(publish_id, chunk_bytes, chunks - 1).with_extra(upload_url.into());
        Ok(UploadStep::Parts(state.expires_at(Some(expires_at))))
    }

    async fn send_part(
        &self,
        request: &PublishRequest<'_>,
        file: &File<'_>,
        state: &UploadState,
        part: Part,
    ) -> Result<String, CallError> {
        let (url, end) = (state.extra.as_str().unwrap_or_default(), part.range.end);
        match self.send_chunk(request, file.attachment, url, (part.range, part.bytes), Effect::Private).await {
            Ok(StatusCode::PARTIAL_CONTENT) => Ok(String::new()),
            Ok(_) => Err(self.api.unreadable(Effect::Private)),
            Err(error) if error.kind == ErrorKind::PreparationExpired => {
                let has_arrived = Some(end) <= self.status(request, &state.id).await?.uploaded_bytes;
                if has_arrived { Ok(String::new()) } else { Err(error) }
            }
            Err(error) => Err(error),
        }
    }

    async fn finish_upload(
        &self,
        request: &PublishRequest<'_>,
        file: &File<'_>,
        state: &UploadState,
    ) -> Result<UploadStep<Uploaded>, CallError> {
        let (chunk_bytes, chunks) = chunks(file.size_bytes());
        Ok(UploadStep::Uploaded(Uploaded::Video {
            publish_id: state.id.clone(),
            upload_url: state.extra.as_str().unwrap_or_default().to_owned(),
            sent_bytes: chunk_bytes * (chunks - 1),
            expires_at: state.expires_at.unwrap_or(request.now),
        }))
    }

    async fn create_post(
        &self,
        request: &PublishRequest<'_>,
        prepared: &Prepared<'_, Uploaded>,
    ) -> Result<Published, CallError> {
        let [PreparedFile { attachment, uploaded, .. }] = prepared.files.as_slice() else {
            return self.post_photos(request, prepared).await;
        };
        let Uploaded::Video { publish_id, upload_url, sent_bytes, expires_at } = uploaded else {
            return self.post_photos(request, prepared).await;
        };
        let sent = if *expires_at <= request.now {
            Err(CallError::new(ErrorKind::PreparationExpired, Effect::Public, UPLOAD_EXPIRED))
        } else {
            let range = *sent_bytes..attachment.size_bytes;
            let bytes = request.files.open_range(attachment, range.clone()).await?;
            self.send_chunk(request, attachment, upload_url, (range, bytes), Effect::Public).await
        };
        match sent {
            Ok(StatusCode::CREATED) => Err(processing(publish_id)),
            Ok(_) => Err(self.api.unreadable(Effect::Public)),
            Err(error) if error.kind == ErrorKind::PreparationExpired => {
                let status = self.status(request, publish_id).await?;
                Err(match status.resolution(publish_id, Some(attachment.size_bytes), request.now) {
                    Resolution::NotPublished => error,
                    // An earlier chunk may have arrived.
                    Resolution::NotFound if !request.may_have_published => error,
                    _ => processing(publish_id),
                })
            }
            Err(error) => Err(error),
        }
    }

    fn look_up_method(&self, request: &PublishRequest<'_>) -> LookUpMethod {
        if has_video(request) {
            return LookUpMethod::Reference;
        }
        LookUpMethod::None { advice: "look at the profile, and at the inbox in TikTok's app".to_owned() }
    }

    async fn find_post(
        &self,
        request: &PublishRequest<'_>,
        prepared: &Prepared<'_, Uploaded>,
    ) -> Result<Resolution, CallError> {
        match prepared.files.as_slice() {
            [PreparedFile { attachment, uploaded: Uploaded::Video { publish_id, .. }, .. }] => {
                self.resolve(request, publish_id, Some(attachment.size_bytes)).await
            }
            _ => Ok(request.never_made()),
        }
    }

    async fn find_accepted(&self, request: &PublishRequest<'_>, publish_id: &Value) -> Result<Resolution, CallError> {
        self.resolve(request, publish_id.as_str().unwrap_or_default(), None).await
    }
}

impl TikTok {
    fn is_direct(&self, request: &PublishRequest<'_>) -> bool {
        request.options.text(KIND).map_or(self.has_direct, |it| it == DIRECT)
    }

    async fn send_chunk(
        &self,
        request: &PublishRequest<'_>,
        file: &Attachment,
        url: &str,
        (range, bytes): (Range<u64>, MediaBytes),
        effect: Effect,
    ) -> Result<StatusCode, CallError> {
        let url = Url::parse(url).map_err(|_| self.api.unreadable(Effect::Private))?;
        // The URL itself authorizes the upload.
        let call = self.api.upload_to(Auth::post(request).without_token(), Method::PUT, url).errors(&UPLOAD_ERRORS);
        let content_range = format!("bytes {}-{}/{}", range.start, range.end - 1, file.size_bytes);
        let call = call.effect(effect).timeout(CHUNK_TIMEOUT).header(CONTENT_RANGE, content_range);
        Ok(call.file(file.mime_type, range.end - range.start, bytes).response().await?.status)
    }

    async fn post_photos(
        &self,
        request: &PublishRequest<'_>,
        prepared: &Prepared<'_, Uploaded>,
    ) -> Result<Published, CallError> {
        let (auth, is_direct) = (Auth::post(request), self.is_direct(request));
        let mut info = if is_direct {
            self.creator(auth, Effect::Private).await?.post_info(request.options, None)?
        } else {
            json!({})
        };
        info["description"] = request.text.into();
        if let Some(title) = request.options.text(PHOTO_TITLE) {
            info["title"] = title.into();
        }
        let urls: Vec<&str> = prepared.files.iter().filter_map(|it| it.url.as_deref()).collect();
        let body = json!({
            "post_info": info,
            "source_info": { "source": "PULL_FROM_URL", "photo_cover_index": 0, "photo_images": urls },
            "post_mode": if is_direct { "DIRECT_POST" } else { "MEDIA_UPLOAD" },
            "media_type": "PHOTO",
        });
        let call = self.post(auth, "v2/post/publish/content/init/").errors(&PHOTO_ERRORS).json(&body);
        let Response { data: Begun { publish_id, .. } } = call.timeout(PHOTO_TIMEOUT).read().await?;
        Err(if is_id(&publish_id) { processing(&publish_id) } else { self.api.unreadable(Effect::Public) })
    }

    async fn status(&self, request: &PublishRequest<'_>, publish_id: &str) -> Result<Status, CallError> {
        let call = self.post(Auth::post(request), "v2/post/publish/status/fetch/").effect(Effect::Private);
        let Response { data } = call.json(&json!({ "publish_id": publish_id })).read().await?;
        Ok(data)
    }

    /// `awaited_bytes` as in [`Status::resolution`].
    async fn resolve(
        &self,
        request: &PublishRequest<'_>,
        publish_id: &str,
        awaited_bytes: Option<u64>,
    ) -> Result<Resolution, CallError> {
        let status = self.status(request, publish_id).await?;
        Ok(match status.resolution(publish_id, awaited_bytes, request.called_at) {
            Resolution::Found(Published { platform_post_id: id, handed_over: false, .. })
                if id == publish_id && is_public(request) && request.now < request.called_at + MODERATION =>
            {
                Resolution::Pending { reason: "TikTok has posted it, and is moderating it".to_owned() }
            }
            Resolution::Found(published) => {
                let folder = if has_video(request) { "video" } else { "photo" };
                let url = status::url(&published, request.profile, folder);
                Resolution::Found(published.with_url(url))
            }
            // The video may have been uploaded again since the backup.
            Resolution::NotPublished | Resolution::NotFound if request.was_due_in_lost_window() => request.never_made(),
            resolution => resolution,
        })
    }
}

fn is_public(request: &PublishRequest<'_>) -> bool {
    request.options.text(VISIBILITY) == Some(PUBLIC)
}

fn has_video(request: &PublishRequest<'_>) -> bool {
    request.media.iter().any(|it| it.mime_type.file_type() == FileType::Video)
}

fn processing(publish_id: &str) -> CallError {
    CallError::accepted(publish_id.into(), "TikTok is processing it")
}

/// The size of all chunks but the last, and their number. TikTok rounds the number down, so the last one has the rest.
fn chunks(size_bytes: u64) -> (u64, u64) {
    if size_bytes <= MAX_SINGLE_CHUNK_BYTES { (size_bytes, 1) } else { (CHUNK_BYTES, size_bytes / CHUNK_BYTES) }
}

fn photo_bounds(file: &Attachment) -> PictureBounds {
    let max_side = match file.facts.and_then(|it| it.pixels) {
        Some(Pixels { width, height }) if width < height => {
            let side = u64::from(height) * u64::from(MAX_WIDTH) / u64::from(width);
            u32::try_from(side).unwrap_or(MAX_HEIGHT).min(MAX_HEIGHT)
        }
        _ => MAX_WIDTH,
    };
    PictureBounds::new(MAX_FETCHED_PICTURE_BYTES, max_side).jpeg()
}

#[cfg(test)]
mod tests {
    use domain::media::Facts;
    use domain::testing::an_attachment;

    use super::*;

    #[test]
    fn last_chunk_has_the_rest() {
        for (size_bytes, expected) in [
            (1, (1, 1)),
            (64_000_000, (64_000_000, 1)),
            (64_000_001, (10_000_000, 6)),
            (69_999_999, (10_000_000, 6)),
            (70_000_000, (10_000_000, 7)),
            (4_000_000_000, (10_000_000, 400)),
        ] {
            assert_eq!(chunks(size_bytes), expected, "{size_bytes}");
        }
    }

    #[test]
    fn photo_is_at_most_1080_pixels_wide() {
        for (width, height, max_side) in
            [(3_000, 4_000, 1_440), (1_254, 1_254, 1_080), (1_080, 1_920, 1_920), (4_000, 3_000, 1_080), (1, 9, 1_920)]
        {
            let facts = Some(Facts { pixels: Pixels::new(width, height), ..Facts::default() });
            assert_eq!(photo_bounds(&Attachment { facts, ..an_attachment(1) }).max_side, max_side, "{width}×{height}");
        }
        assert_eq!(photo_bounds(&an_attachment(1)).max_side, 1_080);
    }
}
