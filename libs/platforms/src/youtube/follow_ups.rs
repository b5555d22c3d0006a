//! After the video is published: its thumbnail, and its entry in a playlist.

use std::time::Duration;

use domain::delivery::AttemptError;
use domain::media::{Attachment, FileType};
use futures::{StreamExt, stream};
use serde_json::json;

use super::{PLAYLIST, THUMBNAIL, YouTube};
use crate::kit::{Auth, Effect};
use crate::picture::{self, PictureState};
use crate::platform::{FollowUp, Followed};
use crate::publish_request::PublishRequest;

const SET_THUMBNAIL: &str = "thumbnail";
const ADD_TO_PLAYLIST: &str = "playlist";

const THUMBNAIL_TIMEOUT: Duration = Duration::from_secs(20);

impl YouTube {
    pub(super) fn follow_up_names(request: &PublishRequest<'_>) -> Vec<&'static str> {
        let thumbnail = image(request).map(|_| SET_THUMBNAIL);
        let playlist = request.options.text(PLAYLIST).map(|_| ADD_TO_PLAYLIST);
        thumbnail.into_iter().chain(playlist).collect()
    }

    pub(super) async fn take_follow_up(
        &self,
        request: &PublishRequest<'_>,
        follow_up: &FollowUp<'_>,
    ) -> Result<Followed, AttemptError> {
        let video = follow_up.published.platform_post_id.as_str();
        match (follow_up.name, image(request), request.options.text(PLAYLIST)) {
            (SET_THUMBNAIL, Some(image), _) => self.set_thumbnail(request, video, image, follow_up.progress).await,
            (ADD_TO_PLAYLIST, _, Some(playlist)) => self.add_to_playlist(request, video, playlist).await,
            _ => Ok(Followed::Done),
        }
    }

    async fn set_thumbnail(
        &self,
        request: &PublishRequest<'_>,
        video: &str,
        image: &Attachment,
        progress: Option<&str>,
    ) -> Result<Followed, AttemptError> {
        let pending = progress.and_then(|it| serde_json::from_str(it).ok());
        let picture = match picture::fitted(request, image, THUMBNAIL, pending).await? {
            PictureState::Ready((picture, _)) => picture,
            PictureState::Again(pending, at) => {
                return Ok(Followed::Again { progress: serde_json::to_string(&pending).unwrap_or_default(), at });
            }
        };
        let (size_bytes, bytes) = (picture.bytes.len() as u64, stream::once(async { Ok(picture.bytes) }).boxed());
        let call = self.api.post(Auth::post(request), &["upload", "youtube", "v3", "thumbnails", "set"]);
        let call = call.query(&[("videoId", video), ("uploadType", "media")]).effect(Effect::Private);
        call.file(picture.mime_type, size_bytes, bytes).timeout(THUMBNAIL_TIMEOUT).expect_success().await?;
        Ok(Followed::Done)
    }

    async fn add_to_playlist(
        &self,
        request: &PublishRequest<'_>,
        video: &str,
        playlist: &str,
    ) -> Result<Followed, AttemptError> {
        let entry = json!({ "playlistId": playlist, "resourceId": { "kind": "youtube#video", "videoId": video } });
        let call = self.api.post(Auth::post(request), &["youtube", "v3", "playlistItems"]).effect(Effect::Public);
        call.query(&[("part", "snippet")]).json(&json!({ "snippet": entry })).expect_success().await?;
        Ok(Followed::Done)
    }
}

fn image<'a>(request: &PublishRequest<'a>) -> Option<&'a Attachment> {
    request.media.iter().find(|it| it.mime_type.file_type() == FileType::Image)
}
