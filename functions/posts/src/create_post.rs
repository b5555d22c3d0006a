use api::openapi::{BadBody, POSTS, Refused};
use api::scope_guard::PostsDraft;
use api::{ApiResult, Caller, RequestBody};
use axum::extract::State;
use axum::response::Response;
use domain::post::{Authority, NewPost};
use http::{HeaderMap, HeaderValue, StatusCode};
use scheduling::Created;

use crate::App;
use crate::error::{PostsError, not_created};
use crate::request;
use crate::response::respond;

#[utoipa::path(
    post,
    path = "/api/v1/posts",
    operation_id = "post.store",
    tag = POSTS,
    summary = "Create a post",
    description = "Without `scheduled_at`, the post is a draft. With it, the post is published once to every account in `platforms`, at that time.",
    security(("token" = [])),
    params(
        ("Idempotency-Key" = Option<String>, Header, description = "A repeated request with the same key and body within 24 hours returns the first response again, with the header `idempotent-replayed: true`. A key is 1 to 255 visible ASCII characters.", max_length = 255, min_length = 1, pattern = "^[!-~]+$"),
    ),
    request_body(content = contract::NewPost),
    responses(
        (status = 201, description = "The new post", body = contract::Post, headers(
            ("etag" = String, description = "The `revision` in quotation marks, for `If-Match`"),
            ("idempotent-replayed" = String, description = "`true` if this is the response of an earlier request"),
        )),
        Refused,
        BadBody,
    )
)]
pub(crate) async fn create_post(
    State(app): State<App>,
    caller: Caller<PostsDraft>,
    headers: HeaderMap,
    incoming: RequestBody,
) -> ApiResult<Response> {
    let body = incoming.bytes()?;
    let mut fields = incoming.fields(request::FIELDS)?;
    let authority = Authority::from_scopes(&caller.scopes);
    if fields.is_given("scheduled_at") && !authority.schedules() {
        return Err(PostsError::DraftsOnly.into());
    }
    let key = request::parse_idempotency_key(&headers, caller.owner, &body, fields.faults());
    let request = request::new_post(fields, authority, app.api.clock.now());
    let request = NewPost { of_profile: caller.of_profile.clone(), ..request };

    let outcome = app.scheduling.create_post(caller.owner, request, key.as_ref()).await.map_err(PostsError::from)?;
    let (post, replayed) = match outcome {
        Created::New(post) => (*post, false),
        Created::Replayed(post) => (*post, true),
        Created::Refused(reason) => return Err(not_created(&caller, reason)),
    };
    let mut response = respond(&app, StatusCode::CREATED, &post).await;
    if replayed {
        response.headers_mut().insert("idempotent-replayed", HeaderValue::from_static("true"));
    }
    Ok(response)
}
