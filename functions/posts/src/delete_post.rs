//! `DELETE /posts/{post}`.

use api::need::PostsDraft;
use api::openapi::{Invalid, Missing, POSTS, Refused};
use api::{ApiError, ApiResult, Caller, Id, Params};
use axum::extract::State;
use domain::id::PostId;
use domain::post::Authority;
use http::StatusCode;
use publishing::Changed;

use crate::{App, drafts_only, failed};

/// Removes a post of which nothing is public.
#[utoipa::path(
    delete,
    path = "/api/v1/posts/{post}",
    operation_id = "post.destroy",
    tag = POSTS,
    summary = "Delete a post",
    description = "Drafts, scheduled posts, and failed posts of which nothing is public.",
    security(("token" = [])),
    params(("post" = u64, Path, description = "The post's id", minimum = 1, maximum = 9_007_199_254_740_991_i64)),
    responses(
        (status = 204, description = "It is gone"),
        Refused,
        Missing,
        Invalid,
    )
)]
pub(crate) async fn delete_post(
    State(app): State<App>,
    caller: Caller<PostsDraft>,
    Id(post): Id<PostId>,
    params: Params,
) -> ApiResult<StatusCode> {
    let post = app.api.store.post(caller.user, post).await?.ok_or(ApiError::NotFound)?;
    params.none()?;
    match app.publishing.delete_post(post, Authority::of(&caller.scopes)).await.map_err(failed)? {
        Changed::Done(_) => Ok(StatusCode::NO_CONTENT),
        Changed::NotThere => Err(ApiError::NotFound),
        Changed::DraftsOnly => Err(drafts_only()),
        Changed::NotInPlan(why) => Err(caller.not_in_plan(why)),
        Changed::Invalid(faults) => Err(faults.into()),
    }
}
