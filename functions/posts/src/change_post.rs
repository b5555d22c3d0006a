use api::openapi::{BadBody, Missing, POSTS, Refused, Stale};
use api::scope_guard::PostsDraft;
use api::{ApiError, ApiResult, Caller, ErrorBody, Id, RequestBody};
use axum::extract::State;
use axum::response::Response;
use domain::id::PostId;
use domain::post::Authority;
use http::StatusCode;
use scheduling::Changed;

use crate::App;
use crate::error::PostsError;
use crate::if_match::Condition;
use crate::request;
use crate::response::respond;

#[utoipa::path(
    patch,
    path = "/api/v1/posts/{post}",
    operation_id = "post.update",
    tag = POSTS,
    summary = "Change a post",
    description = "A field that you leave out does not change. `scheduled_at: null` changes the post back to a draft. A new `scheduled_at` on a failed post publishes it again to the accounts where it is not public. After the response, an older version of the post is never published.",
    security(("token" = [])),
    params(
        ("post" = u64, Path, description = "The post's id", minimum = 1, maximum = 9_007_199_254_740_991_i64),
        ("If-Match" = Option<String>, Header, description = "Changes the post only if its `etag` is this one, or one of a list. Required to schedule a draft that was written with a token that has `posts:draft` but not `posts:write`.", example = "\"1\""),
    ),
    request_body(content = contract::PostChanges),
    responses(
        (status = 200, description = "The changed post", body = contract::Post, headers(("etag" = String, description = "The `revision` in quotation marks, for `If-Match`"))),
        Refused,
        Missing,
        Stale,
        BadBody,
        (status = 428, description = "`If-Match` is required: the draft was written with a token that can only write drafts", body = ErrorBody, example = json!({"message": "This draft was written with a token for drafts, so it may have changed since you saw it. Read the post, then schedule it with its etag in If-Match, or ask the user to schedule it on /account/posts."})),
    )
)]
pub(crate) async fn change_post(
    State(app): State<App>,
    caller: Caller<PostsDraft>,
    Id(post): Id<PostId>,
    condition: Condition,
    incoming: RequestBody,
) -> ApiResult<Response> {
    let post = app.api.store.post(caller.owner, post).await?.ok_or(ApiError::NotFound)?;
    condition.check(&post)?;
    let fields = incoming.fields(request::FIELDS)?;
    let authority = Authority::from_scopes(&caller.scopes);
    if fields.is_given("scheduled_at") && !authority.schedules() {
        return Err(PostsError::DraftsOnly.into());
    }
    let request = request::changes(fields, authority, condition.0, app.api.clock.now());

    let changed = app.scheduling.change_post(caller.owner, post, request).await.map_err(PostsError::from)?;
    let post = match changed {
        Changed::Done(post) => *post,
        Changed::NotThere => return Err(ApiError::NotFound),
        Changed::Stale => return Err(ApiError::PreconditionFailed),
        Changed::NeedsRevision => return Err(PostsError::RevisionRequired.into()),
        Changed::DraftsOnly => return Err(PostsError::DraftsOnly.into()),
        Changed::NotInPlan(why) => return Err(caller.plan_error(why)),
        Changed::Invalid(faults) => return Err(faults.into()),
    };
    Ok(respond(&app, StatusCode::OK, &post).await)
}
