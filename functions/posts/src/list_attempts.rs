//! `GET /posts/{post}/attempts`: lists the calls to platforms for a post.

use api::openapi::{Invalid, Missing, POSTS, Refused};
use api::scope_guard::PostsRead;
use api::{ApiError, ApiResult, Caller, Id, Params};
use axum::Json;
use axum::extract::State;
use contract::{AttemptList, PageMeta};
use domain::id::PostId;
use domain::listing::Listing;

use crate::App;
use crate::list_posts::{DEFAULT_PER_PAGE, number};
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
    let (found, attempts) = tokio::try_join!(store.post(caller.user, post), store.attempts(caller.user, post, now))?;
    found.ok_or(ApiError::NotFound)?;
    let mut fields = params.fields(PARAMETERS);
    let page = number(&mut fields, "page", Listing::MAX_PAGE).unwrap_or(1);
    let per_page = number(&mut fields, "per_page", 100).unwrap_or(DEFAULT_PER_PAGE);
    let (page, per_page) = fields.finish((page, per_page))?;

    let total = u64::try_from(attempts.len()).unwrap_or(u64::MAX);
    let skipped = usize::try_from((page - 1) * per_page).unwrap_or(usize::MAX);
    let shown = attempts.iter().skip(skipped).take(usize::try_from(per_page).unwrap_or(usize::MAX));
    let data = shown.map(attempt_view).collect();
    let meta = PageMeta { current_page: page, last_page: total.div_ceil(per_page).max(1), per_page, total };
    Ok(Json(AttemptList { data, meta }))
}
