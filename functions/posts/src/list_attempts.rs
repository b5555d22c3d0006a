//! `GET /posts/{post}/attempts`: lists the calls to platforms for a post.

use api::openapi::{Invalid, Missing, POSTS, Refused};
use api::scope_guard::PostsRead;
use api::{ApiError, ApiResult, Caller, Id, Paging, Params};
use axum::Json;
use axum::extract::State;
use contract::AttemptList;
use domain::id::PostId;

use crate::App;
use crate::response::attempt_view;

const PARAMETERS: &[&str] = &["per_page", "page"];

#[utoipa::path(
    get,
    path = "/api/v1/posts/{post}/attempts",
    operation_id = "post.attempts",
    tag = POSTS,
    summary = "List the attempts of a post",
    description = "Returns one page of the calls that the service made to platforms for the post, newest first. Attempts are kept for 90 days. One that was made a moment ago may be missing.",
    security(("token" = [])),
    params(
        ("post" = u64, Path, description = "The post's id", minimum = 1, maximum = 9_007_199_254_740_991_i64),
        ("per_page" = Option<u64>, Query, nullable, description = "Number of attempts on a page, 1 to 100. Default: 15", minimum = 1, maximum = 100),
        ("page" = Option<u64>, Query, nullable, description = "Number of the page, from 1. Default: 1", minimum = 1, maximum = 1_000_000_000),
    ),
    responses(
        (status = 200, description = "A page of attempts; a page after the last one is empty", body = AttemptList),
        Refused,
        Missing,
        Invalid,
    )
)]
pub(crate) async fn list_attempts(
    State(app): State<App>,
    caller: Caller<PostsRead>,
    Id(post): Id<PostId>,
    params: Params,
) -> ApiResult<Json<AttemptList>> {
    let store = &app.api.store;
    let now = app.scheduling.clock.now();
    let (found, attempts) =
        tokio::try_join!(store.post(caller.owner, post), store.attempts(caller.user_id(), post, now))?;
    found.ok_or(ApiError::NotFound)?;
    let mut fields = params.fields(PARAMETERS);
    let paging = Paging::parse(&mut fields);
    let paging = fields.finish(paging)?;
    let (shown, meta) = paging.cut(attempts);
    let data = shown.iter().map(attempt_view).collect();
    Ok(Json(AttemptList { data, meta }))
}
