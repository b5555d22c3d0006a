use api::openapi::{Invalid, Missing, POSTS, Refused};
use api::scope_guard::PostsRead;
use api::{ApiError, ApiResult, Caller, Id, Params};
use axum::Json;
use axum::extract::State;
use domain::attempt::Attempt;
use domain::id::PostId;
use domain::listing::Listing;
use domain::schedule::show;
use serde::Serialize;
use utoipa::ToSchema;

use crate::App;
use crate::list_posts::{DEFAULT_PER_PAGE, PageMeta, number};

const PARAMETERS: &[&str] = &["per_page", "page"];

/// A page of attempts.
#[derive(Serialize, ToSchema)]
pub(crate) struct AttemptList {
    /// The attempts of this page, newest first.
    data: Vec<AttemptView>,
    /// Which page this is, and how many there are.
    meta: PageMeta,
}

/// One call to a platform.
#[derive(Serialize, ToSchema)]
#[schema(as = Attempt)]
struct AttemptView {
    /// When the call began.
    #[schema(format = DateTime, example = "2026-11-21T09:30:00.000Z")]
    at: String,
    /// The id of the connection.
    #[schema(example = 1_234_567_001)]
    connected_account_id: u64,
    /// The platform of the account.
    #[schema(example = "sandbox")]
    provider: String,
    /// What was published, as an index: 0 is the post.
    #[schema(example = 0)]
    segment: u16,
    /// `prepare` (uploads and other calls before the time of the post), `publish`, `look_up` (whether
    /// an earlier call published the post) or `comment` (what follows the publication).
    #[schema(example = "publish")]
    step: &'static str,
    /// `accepted`; `refused`; `retry_later` (nothing became public, and the service tries again);
    /// `unknown` (whether the post is public); for `look_up` also `found` and `not_found`.
    #[schema(example = "accepted")]
    outcome: &'static str,
    /// The HTTP status of the platform's last response; null if there was none.
    #[schema(example = 201)]
    http_status: Option<u16>,
    /// What went wrong; null after a success.
    message: Option<String>,
    /// How long the call took, in milliseconds.
    #[schema(example = 321)]
    duration_ms: u64,
}

impl From<&Attempt> for AttemptView {
    fn from(attempt: &Attempt) -> Self {
        Self {
            at: show(attempt.at),
            connected_account_id: attempt.connection_id.get(),
            provider: attempt.provider.clone(),
            segment: attempt.segment,
            step: attempt.step.as_str(),
            outcome: attempt.outcome.as_str(),
            http_status: attempt.http_status,
            message: attempt.message.clone(),
            duration_ms: attempt.duration_ms,
        }
    }
}

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
    let now = app.publishing.clock.now();
    let (found, attempts) = tokio::try_join!(store.post(caller.user, post), store.attempts(caller.user, post, now))?;
    found.ok_or(ApiError::NotFound)?;
    let mut fields = params.fields(PARAMETERS);
    let page = number(&mut fields, "page", Listing::MAX_PAGE).unwrap_or(1);
    let per_page = number(&mut fields, "per_page", 100).unwrap_or(DEFAULT_PER_PAGE);
    let (page, per_page) = fields.finish((page, per_page))?;

    let total = u64::try_from(attempts.len()).unwrap_or(u64::MAX);
    let skipped = usize::try_from((page - 1) * per_page).unwrap_or(usize::MAX);
    let shown = attempts.iter().skip(skipped).take(usize::try_from(per_page).unwrap_or(usize::MAX));
    let data = shown.map(AttemptView::from).collect();
    let meta = PageMeta { current_page: page, last_page: total.div_ceil(per_page).max(1), per_page, total };
    Ok(Json(AttemptList { data, meta }))
}
