use api::openapi::{Invalid, Missing, POSTS, Refused};
use api::scope_guard::PostsRead;
use api::{ApiError, ApiResult, Caller, Id, Params};
use axum::extract::State;
use axum::response::Response;
use domain::id::PostId;
use http::StatusCode;

use crate::App;
use crate::response::respond;

#[utoipa::path(
    get,
    path = "/api/v1/posts/{post}",
    operation_id = "post.show",
    tag = POSTS,
    summary = "Show a post",
    description = "Returns the post with its status on every account, and its revision as `etag`.",
    security(("token" = [])),
    params(("post" = u64, Path, description = "The post's id", minimum = 1, maximum = 9_007_199_254_740_991_i64)),
    responses(
        (status = 200, description = "The post", body = contract::Post, headers(("etag" = String, description = "The `revision` in quotation marks, for `If-Match`"))),
        Refused,
        Missing,
        Invalid,
    )
)]
pub(crate) async fn show_post(
    State(app): State<App>,
    caller: Caller<PostsRead>,
    Id(post): Id<PostId>,
    params: Params,
) -> ApiResult<Response> {
    let post = app.api.store.post(caller.owner, post).await?.ok_or(ApiError::NotFound)?;
    params.none()?;
    Ok(respond(&app, StatusCode::OK, &post).await)
}
