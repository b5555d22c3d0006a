//! `POST /media`: returns where to upload a file, or fetches it.

use std::time::Duration;

use api::openapi::{BadBody, MEDIA, Refused};
use api::scope_guard::MediaWrite;
use api::{ApiError, ApiResult, Caller, RequestBody};
use axum::extract::State;
use contract::{FetchedMedium, MediumView, PresignedUpload};
use domain::id::UserId;
use domain::media::{LINK_LIFETIME, MediaPath, human_size};
use domain::owner::Owner;
use domain::profile::ProfileRef;
use http::HeaderMap;
use storage::{AddMediaOutcome, Medium, Room};
use tracing::Instrument;
use url::Position;

use crate::App;
use crate::error::MediaError;
use crate::request::CreateMedium;
use crate::response::ReplayableResponse;

pub(crate) const NOT_IN_PLAN: &str =
    "Your plan does not include images and videos (media). Post without them, or ask the operator for another plan.";

const TRIES: usize = 3;

/// How long an upload may count with its largest possible size: `libs/housekeeping` checks it
/// within a day.
const EXPECTED_FOR: Duration = Duration::from_hours(25);

/// Upload a file, or have one fetched from a URL
///
/// Without `source_url`, the response contains an `upload_url`: PUT the file there with the
/// `upload_headers`. With `size`, the file must have exactly that many bytes. With `source_url`,
/// the service fetches the file and responds when it is stored. In both cases, name the file in a
/// post by its `path`.
#[utoipa::path(
    post,
    path = "/api/v1/media",
    operation_id = "media.store",
    tag = MEDIA,
    request_body(content = contract::CreateMedium, content_type = "application/json"),
    params((
        "idempotency-key" = Option<String>, Header,
        description = "A repeated request with the same key and body within 24 hours returns the first response again, with the header `idempotent-replayed: true`. A key is 1 to 255 visible ASCII characters.",
        min_length = 1, max_length = 255, pattern = "^[!-~]+$",
    )),
    responses(
        (status = 201, description = "Where to upload the file, or the file that was fetched", body = MediumView,
            headers(("idempotent-replayed" = String, description = "`true` if this is the response of an earlier request"))),
        (status = 409, description = "The first request with this idempotency key is still in progress",
            body = api::ErrorBody, example = json!({ "message": crate::error::RUNNING })),
        BadBody,
        Refused,
    ),
    security(("token" = []))
)]
pub(crate) async fn create_medium(
    State(app): State<App>,
    caller: Caller<MediaWrite>,
    headers: HeaderMap,
    incoming: RequestBody,
) -> ApiResult<ReplayableResponse> {
    let bytes_of_profile = app.check_plan(&caller).await?;
    app.respond_to(caller.owner, caller.of_profile, bytes_of_profile, incoming, &headers).await
}

impl App {
    pub(crate) async fn respond_to(
        self,
        owner: Owner,
        of_profile: Option<ProfileRef>,
        bytes_of_profile: Option<u64>,
        incoming: RequestBody,
        headers: &HeaderMap,
    ) -> ApiResult<ReplayableResponse> {
        let (mut request, key) = CreateMedium::parse(incoming, headers, &self.limits)?;
        request.of_profile = of_profile;
        request.bytes_of_profile = bytes_of_profile;
        // A handler is dropped when its client disconnects, which would leave half a file and a
        // claimed idempotency key. So the work runs in a task of its own, to its end.
        let response = async move { self.create_once(owner, request, key).await };
        Ok(tokio::spawn(response.in_current_span()).await.map_err(MediaError::from)??)
    }

    async fn check_plan(&self, caller: &Caller<MediaWrite>) -> ApiResult<Option<u64>> {
        if self.plans.no_media_limits() {
            return Ok(None);
        }
        let user = self.api.store.user(caller.user_id()).await?.ok_or(ApiError::Unauthenticated)?;
        let plan = self.plans.named(user.plan.as_deref());
        if plan.media {
            return Ok(plan.max_media_bytes_per_profile);
        }
        Err(caller.plan_error(NOT_IN_PLAN.to_owned()))
    }

    pub(crate) async fn create(&self, user: UserId, request: &CreateMedium) -> Result<MediumView, MediaError> {
        match &request.source_url {
            Some(url) => {
                let host = &url[Position::BeforeHost..Position::AfterPort];
                let fetching = Box::pin(self.fetch(user, request, url.as_str()));
                self.api.with_permit(user, Some(host), fetching).await?.map(MediumView::Fetched)
            }
            None => self.presign(user, request).await.map(MediumView::Presigned),
        }
    }

    async fn presign(&self, user: UserId, request: &CreateMedium) -> Result<PresignedUpload, MediaError> {
        let (bytes, field) = match request.size {
            Some(size) => (size, "size"),
            None => (self.limits.max_bytes(request.mime_type, false), "mime_type"),
        };
        let medium = self.reserve_medium(user, request, bytes, field).await?;
        let path = medium.path().to_string();
        let put = self.bucket.presigned_put(&path, request.mime_type.as_str(), request.size, LINK_LIFETIME).await?;
        Ok(PresignedUpload {
            upload_url: put.url,
            upload_headers: put.headers,
            path,
            expires_in: LINK_LIFETIME.as_secs(),
        })
    }

    /// Writes the record of a file before the file exists: whatever happens later, the record leads
    /// to the file, which is removed if no post uses it. The file counts with `bytes` until its
    /// size is known. If that exceeds the storage limit of the user or the profile, the error is on
    /// `field`.
    pub(crate) async fn reserve_medium(
        &self,
        user: UserId,
        request: &CreateMedium,
        bytes: u64,
        field: &'static str,
    ) -> Result<Medium, MediaError> {
        let bytes_of_profile = request.bytes_of_profile;
        let limit = Room { bytes: self.limits.user_bytes, files: self.limits.user_files, bytes_of_profile };
        let mut has_counted_arrived = false;
        for _ in 0..TRIES {
            let medium = Medium::expected(user, self.api.ids.fresh(), request.mime_type, self.api.clock.now());
            let medium = Medium { of_profile: request.of_profile.clone(), ..medium.holding(bytes) };
            match self.api.store.add_media_file(&medium, limit).await? {
                AddMediaOutcome::Added => return Ok(medium),
                AddMediaOutcome::IdTaken => {}
                AddMediaOutcome::NoRoom | AddMediaOutcome::NoRoomInProfile if !has_counted_arrived => {
                    self.count_arrived(user).await?;
                    has_counted_arrived = true;
                }
                AddMediaOutcome::NoRoom => {
                    return Err(MediaError::StorageLimit { field, message: self.storage_limit_message() });
                }
                AddMediaOutcome::NoRoomInProfile => {
                    let message = profile_limit_message(bytes_of_profile.unwrap_or_default());
                    return Err(MediaError::StorageLimit { field, message });
                }
            }
        }
        Err(MediaError::NoFreeId)
    }

    /// Replaces the reserved size of each upload that has arrived by its real size.
    async fn count_arrived(&self, user: UserId) -> Result<(), MediaError> {
        let expected = self.api.store.pending_uploads(user, self.api.clock.now() - EXPECTED_FOR).await?;
        // Not the oldest: keys are sorted as text.
        let Some(first) = expected.iter().map(|it| it.path().to_string()).min() else { return Ok(()) };
        let sizes = self.bucket.sizes(&MediaPath::folder(user), &first).await?;
        let arrived = expected.into_iter().filter_map(|it| {
            let size = *sizes.get(&it.path().to_string())?;
            (it.held_bytes != Some(size)).then_some((it, size))
        });
        Ok(self.api.store.reduce_held_bytes(user, &arrived.collect::<Vec<_>>()).await?)
    }

    fn storage_limit_message(&self) -> String {
        let (bytes, files) = (human_size(self.limits.user_bytes), self.limits.user_files);
        format!(
            "exceeds your storage limit: files that are not part of a published post may be at most {files}, with {bytes} \
             together. Delete posts that you do not need, send the size of each upload, or wait: an upload that did \
             not arrive is removed after a day, and a file that no post uses after seven days"
        )
    }

    pub(crate) async fn fetched(&self, medium: &Medium, size_bytes: u64) -> Result<FetchedMedium, MediaError> {
        let path = medium.path().to_string();
        let url = self.bucket.presigned_get(&path, LINK_LIFETIME).await?;
        Ok(FetchedMedium { path, url, mime_type: medium.mime_type.as_str().to_owned(), size: size_bytes })
    }
}

fn profile_limit_message(max: u64) -> String {
    format!(
        "exceeds the storage limit of the profile: your plan allows {} for the files of each profile that are not yet part \
         of a published post (max_media_bytes_per_profile). Send the size of each upload, and delete posts of the profile \
         that you do not need; a file that no post uses is removed after 7 days",
        human_size(max)
    )
}
