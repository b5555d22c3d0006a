//! `POST /posts/validate`: checks a post, and stores nothing.

use api::openapi::{BadBody, POSTS, Refused};
use api::scope_guard::PostsDraft;
use api::{ApiResult, Caller, RequestBody};
use axum::Json;
use axum::extract::State;
use contract::Validation;
use domain::post::Authority;
use scheduling::PostValidated;

use crate::App;
use crate::error::{PostsError, not_created};
use crate::request;
use crate::response::warning_view;

#[utoipa::path(
    post,
    path = "/api/v1/posts/validate",
    operation_id = "post.validate",
    tag = POSTS,
    summary = "Check a post",
    description = "Checks the body of `POST /posts` as if the post were scheduled, and stores nothing. Without `scheduled_at`, the post is checked as if it were published now. Errors are the same as those of `POST /posts`.",
    security(("token" = [])),
    request_body(content = contract::NewPost),
    responses((status = 200, description = "The post can be scheduled", body = Validation), Refused, BadBody),
)]
pub(crate) async fn validate_post(
    State(app): State<App>,
    caller: Caller<PostsDraft>,
    incoming: RequestBody,
) -> ApiResult<Json<Validation>> {
    let authority = Authority::from_scopes(&caller.scopes);
    let request = request::new_post(incoming.fields(request::FIELDS)?, authority, app.api.clock.now());
    match app.scheduling.validate_post(caller.owner, request).await.map_err(PostsError::from)? {
        PostValidated::Fine(warnings) => {
            Ok(Json(Validation { warnings: warnings.into_iter().map(warning_view).collect() }))
        }
        PostValidated::Refused(reason) => Err(not_created(&caller, reason)),
    }
}
