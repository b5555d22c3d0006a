//! `POST /posts/validate`.

use api::openapi::{BadBody, POSTS, Refused};
use api::scope_guard::PostsDraft;
use api::{ApiResult, Caller, RequestBody};
use axum::Json;
use axum::extract::State;
use domain::post::Authority;
use publishing::{Validated, Warning};
use serde::Serialize;
use utoipa::ToSchema;

use crate::create_post::{NewPostBody, read, refused};
use crate::{App, failed, reading};

/// That a post would be scheduled.
#[derive(Serialize, ToSchema)]
pub(crate) struct Validation {
    /// What may be mended before.
    warnings: Vec<WarningView>,
}

/// Something that no platform refuses.
#[derive(Serialize, ToSchema)]
#[schema(as = Warning)]
struct WarningView {
    /// Where in the body.
    #[schema(example = "media.0.alt_text")]
    field: String,
    #[schema(
        example = "media.0.alt_text is missing: whoever does not see the file is not told on Mastodon what it shows"
    )]
    message: String,
}

/// Says whether a post would be scheduled, and keeps nothing.
#[utoipa::path(
    post,
    path = "/api/v1/posts/validate",
    operation_id = "post.validate",
    tag = POSTS,
    summary = "Check a post",
    description = "Takes the body of `POST /posts` and checks it as if it were scheduled, for now where it has no time. What would be refused is refused here in the same way.",
    security(("token" = [])),
    request_body(content = NewPostBody),
    responses((status = 200, description = "It would be scheduled", body = Validation), Refused, BadBody),
)]
pub(crate) async fn validate_post(
    State(app): State<App>,
    caller: Caller<PostsDraft>,
    incoming: RequestBody,
) -> ApiResult<Json<Validation>> {
    let authority = Authority::of(&caller.scopes);
    let request = read(incoming.fields(reading::FIELDS)?, authority, app.api.clock.now());
    match app.publishing.validate_post(caller.user, request).await.map_err(failed)? {
        Validated::Fine(warnings) => {
            Ok(Json(Validation { warnings: warnings.into_iter().map(WarningView::from).collect() }))
        }
        Validated::Refused(refusal) => Err(refused(refusal, &caller)),
    }
}

impl From<Warning> for WarningView {
    fn from(Warning { field, message }: Warning) -> Self {
        let message = format!("{field} {message}");
        Self { field, message }
    }
}
