use api::openapi::{Invalid, Missing, POSTS, Refused, Stale};
use api::scope_guard::PostsDraft;
use api::{ApiError, ApiResult, Caller, Id, Params};
use axum::extract::State;
use domain::id::PostId;
use domain::post::Authority;
use http::StatusCode;
use scheduling::Changed;

use crate::App;
use crate::error::PostsError;
use crate::if_match::Condition;

#[utoipa::path(
    delete,
    path = "/api/v1/posts/{post}",
    operation_id = "post.destroy",
    tag = POSTS,
    summary = "Delete a post",
    description = "Deletes a draft, a scheduled post, or a failed post that is public on no account. Delete a published post on its platform.",
    security(("token" = [])),
    params(
        ("post" = u64, Path, description = "The post's id", minimum = 1, maximum = 9_007_199_254_740_991_i64),
        ("If-Match" = Option<String>, Header, description = "Deletes the post only if its `etag` is this one, or one of a list.", example = "\"1\""),
    ),
    responses(
        (status = 204, description = "The post is deleted"),
        Refused,
        Missing,
        Stale,
        Invalid,
    )
)]
pub(crate) async fn delete_post(
    State(app): State<App>,
    caller: Caller<PostsDraft>,
    Id(post): Id<PostId>,
    condition: Condition,
    params: Params,
) -> ApiResult<StatusCode> {
    let post = app.api.store.post(caller.owner, post).await?.ok_or(ApiError::NotFound)?;
    condition.check(&post)?;
    params.none()?;
    let authority = Authority::from_scopes(&caller.scopes);
    match app
        .scheduling
        .delete_post(caller.owner, post, authority, condition.0.as_ref())
        .await
        .map_err(PostsError::from)?
    {
        Changed::Done(_) => Ok(StatusCode::NO_CONTENT),
        Changed::NotThere => Err(ApiError::NotFound),
        Changed::Stale => Err(ApiError::PreconditionFailed),
        Changed::NeedsRevision => Err(PostsError::RevisionRequired.into()),
        Changed::DraftsOnly => Err(PostsError::DraftsOnly.into()),
        Changed::NotInPlan(why) => Err(caller.plan_error(why)),
        Changed::Invalid(faults) => Err(faults.into()),
    }
}
