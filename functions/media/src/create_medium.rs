//! `POST /media`.

use std::time::Duration;

use api::need::MediaWrite;
use api::openapi::{BadBody, MEDIA, Refused};
use api::{ApiError, ApiResult, Caller, Incoming};
use axum::extract::State;
use domain::faults::Faults;
use domain::id::UserId;
use domain::media::{MimeType, human_size};
use http::HeaderMap;
use storage::{Medium, MediumAdded, Room};
use tracing::Instrument;
use url::Position;

use crate::App;
use crate::request::{CreateMedium, CreateMediumBody};
use crate::response::{Answer, FetchedView, MediumView, PresignedView};

/// How long links are valid.
pub(crate) const LINKS_LAST: Duration = Duration::from_hours(1);

/// How many ids are tried, in case one is taken already.
const TRIES: usize = 3;

/// Upload a file, or have one fetched from a URL
///
/// Without `source_url`, the answer names a URL that takes one PUT of the
/// file, with the headers of the answer; with `size`, of exactly that many
/// bytes. With `source_url`, the service fetches the file
/// itself and answers when it is there. Either way `path` is how posts name it.
#[utoipa::path(
    post,
    path = "/api/v1/media",
    operation_id = "media.store",
    tag = MEDIA,
    request_body(content = CreateMediumBody, content_type = "application/json"),
    params((
        "idempotency-key" = Option<String>, Header,
        description = "The same key and body within 24 hours answer the first response again, with the header idempotent-replayed: true",
        min_length = 1, max_length = 255, pattern = "^[!-~]+$",
    )),
    responses(
        (status = 201, description = "Where to upload to, or what was fetched", body = MediumView,
            headers(("idempotent-replayed" = String, description = "`true` when this is an earlier answer again"))),
        (status = 409, description = "The first request with this idempotency key is still being answered",
            body = api::ErrorBody, example = json!({ "message": crate::idempotent::RUNNING })),
        BadBody,
        Refused,
    ),
    security(("token" = []))
)]
pub(crate) async fn create_medium(
    State(app): State<App>,
    caller: Caller<MediaWrite>,
    headers: HeaderMap,
    incoming: Incoming,
) -> ApiResult<Answer> {
    app.check_plan(&caller).await?;
    let (request, key) = CreateMedium::parse(incoming, &headers)?;
    // A handler is dropped when its client hangs up, which would leave half a
    // file and a claimed idempotency key behind. A task of its own runs to its
    // end.
    let answer = async move { app.answer_once(caller.user, request, key).await };
    tokio::spawn(answer.in_current_span()).await.map_err(|error| {
        tracing::error!(%error, "an upload was cut off");
        ApiError::Internal
    })?
}

impl App {
    async fn check_plan(&self, caller: &Caller<MediaWrite>) -> ApiResult<()> {
        if self.plans.all_have_media() {
            return Ok(());
        }
        let user = self.api.store.user(caller.user).await?.ok_or(ApiError::Unauthenticated)?;
        if self.plans.named(user.plan.as_deref()).media {
            return Ok(());
        }
        Err(caller.not_in_plan("Your plan does not include pictures and videos.".to_owned()))
    }

    pub(crate) async fn create(&self, user: UserId, request: &CreateMedium) -> ApiResult<MediumView> {
        match &request.source_url {
            Some(url) => {
                let host = &url[Position::BeforeHost..Position::AfterPort];
                let fetched = Box::pin(self.fetch(user, request.mime_type, url.as_str()));
                self.api.with_permit(user, Some(host), fetched).await?.map(MediumView::Fetched)
            }
            None => self.presign(user, request).await.map(MediumView::Presigned),
        }
    }

    async fn presign(&self, user: UserId, request: &CreateMedium) -> ApiResult<PresignedView> {
        let most = self.limits.max_bytes(request.mime_type, false);
        if let Some(size) = request.size.filter(|it| most < *it) {
            let (most, size) = (human_size(most), human_size(size));
            return Err(ApiError::Invalid(Faults::one("size", format!("may be at most {most}, this is {size}"))));
        }
        let medium = self.expect_medium(user, request.mime_type, request.size.unwrap_or(most), "size").await?;
        let path = medium.path().to_string();
        let put = self
            .bucket
            .presigned_put(&path, request.mime_type.as_str(), request.size, LINKS_LAST)
            .await
            .map_err(|it| unavailable(&it))?;
        Ok(PresignedView { upload_url: put.url, upload_headers: put.headers, path, expires_in: LINKS_LAST.as_secs() })
    }

    /// Writes the record of a file before the file exists: whatever happens
    /// afterwards, the record leads to the file, which is removed when no post
    /// uses it. The file holds this many bytes of its owner's room until its size
    /// is known; where there is no room for it, `field` is at fault.
    pub(crate) async fn expect_medium(
        &self,
        user: UserId,
        mime_type: MimeType,
        bytes: u64,
        field: &'static str,
    ) -> ApiResult<Medium> {
        let room = Room { bytes: self.limits.user_bytes, files: self.limits.user_files };
        for _ in 0..TRIES {
            let medium = Medium::expected(user, self.api.ids.fresh(), mime_type, self.api.clock.now()).holding(bytes);
            match self.api.store.add_medium(&medium, room).await? {
                MediumAdded::Added => return Ok(medium),
                MediumAdded::IdTaken => {}
                MediumAdded::NoRoom => return Err(ApiError::Invalid(Faults::one(field, self.no_room()))),
            }
        }
        Err(ApiError::Unavailable)
    }

    fn no_room(&self) -> String {
        let (bytes, files) = (human_size(self.limits.user_bytes), self.limits.user_files);
        format!(
            "has no room: the files that you have beside those of published posts may be {files} and have {bytes}. \
             Delete posts that you do not need, say the size of what you upload, or wait: what never came is \
             removed after a day, and what no post uses after seven"
        )
    }

    pub(crate) async fn fetched(&self, medium: &Medium, size_bytes: u64) -> ApiResult<FetchedView> {
        let path = medium.path().to_string();
        let url = self.bucket.presigned_get(&path, LINKS_LAST).await.map_err(|it| unavailable(&it))?;
        Ok(FetchedView { path, url, mime_type: medium.mime_type.as_str().to_owned(), size: size_bytes })
    }
}

/// The error for a failed call of the bucket. The client may retry.
pub(crate) fn unavailable(error: &cloud::bucket::BucketError) -> ApiError {
    tracing::error!(%error, "a request failed on the media bucket");
    ApiError::Unavailable
}
