//! A video, uploaded in parts.
//!
//! Facts: an upload is announced with the exact size, and LinkedIn returns the URL of each range of
//! bytes: 4 MiB per URL, the rest to the last. Each part returns a tag; once all are uploaded, a
//! call with the tags in order creates the video, which is then processed. A part may be sent
//! again. The URLs need no token. Source: `shares/videos-api`.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;

use super::api::{Action, Api};
use super::errors::for_file;
use crate::kit::{Auth, CallError, Effect, ErrorKind, File, Part, UploadState, UploadStep};
use crate::publish_request::PublishRequest;
use crate::response;

/// The most bytes of the URLs of all parts together: they are stored between the steps. A video of
/// 500 MB has 120 parts.
const MAX_URL_BYTES: usize = 200_000;

/// How long LinkedIn may report that a finalized video waits for its parts. The reported status may
/// lag behind.
const STATUS_LAG: TimeDelta = TimeDelta::seconds(150);

/// The status of a video that is not finalized, or whose status lags behind.
const WAITING_UPLOAD: &str = "WAITING_UPLOAD";

#[derive(Default, Serialize, Deserialize)]
struct Upload {
    token: String,
    urls: Vec<Url>,
    #[serde(default, with = "chrono::serde::ts_milliseconds_option")]
    finalized_at: Option<DateTime<Utc>>,
}

impl Upload {
    fn load(state: &UploadState) -> Self {
        serde_json::from_value(state.extra.clone()).unwrap_or_default()
    }

    fn stored(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Announced {
    video: String,
    #[serde(default)]
    upload_token: String,
    #[serde(default, with = "chrono::serde::ts_milliseconds_option")]
    upload_urls_expire_at: Option<DateTime<Utc>>,
    upload_instructions: Vec<Instruction>,
}

/// The URL of a range of bytes, both ends included.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Instruction {
    upload_url: Url,
    first_byte: u64,
    last_byte: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    status: String,
    processing_failure_reason: Option<String>,
}

pub(super) async fn begin(
    api: &Api,
    request: &PublishRequest<'_>,
    file: &File<'_>,
) -> Result<UploadStep<String>, CallError> {
    let body = json!({ "initializeUploadRequest": {
        "owner": request.profile.account_id,
        "fileSizeBytes": file.size_bytes(),
        "uploadCaptions": false,
        "uploadThumbnail": false,
    } });
    let call =
        api.private(Auth::post(request), &request.profile.account_id, "videos?action=initializeUpload").json(&body);
    let Action { value: announced } = call.read::<Action<Announced>>().await?;
    let Announced { video, upload_token: token, upload_urls_expire_at, upload_instructions } = announced;
    let part_bytes = part_bytes(&upload_instructions, file.size_bytes());
    let part_bytes = part_bytes.ok_or_else(|| api.unreadable(Effect::Private))?;
    let urls = upload_instructions.into_iter().map(|it| it.upload_url).collect();
    let upload = Upload { token, urls, finalized_at: None };
    let state = UploadState::in_parts(api.urn(video)?, part_bytes);
    Ok(UploadStep::Parts(state.with_extra(upload.stored()).expires_at(upload_urls_expire_at)))
}

/// Returns the part's tag.
pub(super) async fn send(
    api: &Api,
    request: &PublishRequest<'_>,
    state: &UploadState,
    part: Part,
) -> Result<String, CallError> {
    let url = usize::try_from(part.index).ok().and_then(|it| Upload::load(state).urls.into_iter().nth(it));
    let url = url.ok_or_else(|| expired("the upload URL of a part is no longer stored"))?;
    api.upload_part(Auth::post(request), url, (part.range.end - part.range.start, part.bytes)).await
}

/// Assembles the parts. LinkedIn refuses a repeated call, and documents no code for that: the
/// status of the video shows whether an earlier call, whose worker died, was accepted.
pub(super) async fn finish(
    api: &Api,
    request: &PublishRequest<'_>,
    state: &UploadState,
) -> Result<UploadStep<String>, CallError> {
    let upload = Upload::load(state);
    let body = json!({ "finalizeUploadRequest": {
        "video": state.id,
        "uploadToken": upload.token,
        "uploadedPartIds": state.part_tags,
    } });
    let call =
        api.private(Auth::post(request), &request.profile.account_id, "videos?action=finalizeUpload").json(&body);
    if let Err(error) = call.expect_success().await.map_err(for_file)
        && (error.kind != ErrorKind::InvalidPost || read(api, request, state).await?.status == WAITING_UPLOAD)
    {
        return Err(error);
    }
    let finalized = Upload { finalized_at: Some(request.now), ..upload };
    Ok(UploadStep::Processing(state.clone().with_extra(finalized.stored()), None))
}

pub(super) async fn status(
    api: &Api,
    request: &PublishRequest<'_>,
    state: &UploadState,
) -> Result<UploadStep<String>, CallError> {
    let status = read(api, request, state).await?;
    // If a repeated call was refused, the time of the first one is not stored.
    let mut upload = Upload::load(state);
    let finalized_at = *upload.finalized_at.get_or_insert(request.now);
    let is_late = finalized_at + STATUS_LAG <= request.now;
    Ok(match status.status.as_str() {
        "AVAILABLE" => UploadStep::Uploaded(state.id.clone()),
        "PROCESSING_FAILED" => {
            let why = status.processing_failure_reason.unwrap_or_else(|| "no reason given".to_owned());
            UploadStep::Refused(format!("LinkedIn could not process the video: {}", response::shown(&why)))
        }
        WAITING_UPLOAD if is_late => return Err(expired("LinkedIn did not assemble the parts of the video")),
        _ => UploadStep::Processing(state.clone().with_extra(upload.stored()), None),
    })
}

async fn read(api: &Api, request: &PublishRequest<'_>, state: &UploadState) -> Result<Status, CallError> {
    api.file(Auth::post(request), &request.profile.account_id, "videos", &state.id).read().await.map_err(for_file)
}

fn expired(reason: &str) -> CallError {
    CallError::new(ErrorKind::PreparationExpired, Effect::Private, reason)
}

/// `None` if the parts are not as documented.
fn part_bytes(parts: &[Instruction], size_bytes: u64) -> Option<u64> {
    let part_bytes = parts.first()?.last_byte.checked_add(1)?;
    let is_part = |(index, it): (u64, &Instruction)| {
        let first_byte = index.checked_mul(part_bytes);
        let end = first_byte.and_then(|it| it.checked_add(part_bytes)).map(|it| it.min(size_bytes));
        first_byte == Some(it.first_byte) && end == it.last_byte.checked_add(1)
    };
    let url_bytes: usize = parts.iter().map(|it| it.upload_url.as_str().len()).sum();
    let is_whole = size_bytes.div_ceil(part_bytes) == parts.len() as u64 && (0..).zip(parts).all(is_part);
    (is_whole && url_bytes <= MAX_URL_BYTES).then_some(part_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_exactly_the_file() {
        let part_bytes = |parts: &[(u64, u64)], size| {
            let upload_url = Url::parse("https://www.linkedin.com/dms-uploads/1").unwrap();
            let part = |&(first_byte, last_byte): &(u64, u64)| Instruction {
                upload_url: upload_url.clone(),
                first_byte,
                last_byte,
            };
            super::part_bytes(&parts.iter().map(part).collect::<Vec<_>>(), size)
        };
        assert_eq!((part_bytes(&[(0, 3), (4, 5)], 6), part_bytes(&[(0, 0)], 1)), (Some(4), Some(1)));
        let bytes = |count: u64| (0..count).map(|it| (it, it)).collect::<Vec<_>>();
        assert_eq!(part_bytes(&bytes(2_000), 2_000), Some(1));
        assert_eq!(part_bytes(&bytes(20_000), 20_000), None, "more than can be kept");
        for (parts, size) in [
            (&[(0, 3)][..], 6),
            (&[(0, 3), (5, 5)], 6),
            (&[(0, 3), (4, 6)], 6),
            (&[(0, 1), (2, 5)], 6),
            (&[(1, 5)], 6),
            (&[(0, 9)], 6),
            (&[], 6),
            (&[(0, u64::MAX)], 6),
        ] {
            assert_eq!(part_bytes(parts, size), None, "{parts:?}");
        }
    }
}
