use api::openapi::{BadBody, POSTS, Refused};
use api::scope_guard::PostsDraft;
use api::{ApiResult, Caller, RequestBody};
use axum::Json;
use axum::extract::State;
use domain::post::Authority;
use publishing::{PostValidated, Warning};
use serde::Serialize;
use utoipa::ToSchema;

use crate::create_post::{NewPostBody, read, refused};
use crate::{App, failed, reading};

/// The result of the check: the post can be scheduled.
#[derive(Serialize, ToSchema)]
pub(crate) struct Validation {
    /// What you may want to change before you schedule the post.
    warnings: Vec<WarningView>,
}

/// A problem that does not prevent publishing.
#[derive(Serialize, ToSchema)]
#[schema(as = Warning)]
struct WarningView {
    /// The path of the field in the body.
    #[schema(example = "media.0.alt_text")]
    field: String,
    /// The warning, and what to do about it.
    #[schema(
        example = "media.0.alt_text is missing: people who use a screen reader on Mastodon will not know what the file shows; describe it"
    )]
    message: String,
}

#[utoipa::path(
    post,
    path = "/api/v1/posts/validate",
    operation_id = "post.validate",
    tag = POSTS,
    summary = "Check a post",
    description = "Checks the body of `POST /posts` as if the post were scheduled, and stores nothing. Without `scheduled_at`, the post is checked as if it were published now. Errors are the same as those of `POST /posts`.",
    security(("token" = [])),
    request_body(content = NewPostBody),
    responses((status = 200, description = "The post can be scheduled", body = Validation), Refused, BadBody),
)]
pub(crate) async fn validate_post(
    State(app): State<App>,
    caller: Caller<PostsDraft>,
    incoming: RequestBody,
) -> ApiResult<Json<Validation>> {
    let authority = Authority::from_scopes(&caller.scopes);
    let request = read(incoming.fields(reading::FIELDS)?, authority, app.api.clock.now());
    match app.publishing.validate_post(caller.user, request).await.map_err(failed)? {
        PostValidated::Fine(warnings) => {
            Ok(Json(Validation { warnings: warnings.into_iter().map(WarningView::from).collect() }))
        }
        PostValidated::Refused(refusal) => Err(refused(refusal, &caller)),
    }
}

impl From<Warning> for WarningView {
    fn from(Warning { field, message }: Warning) -> Self {
        let message = format!("{field} {message}");
        Self { field, message }
    }
}
