use api::openapi::{BadBody, POSTS, Refused};
use api::scope_guard::PostsDraft;
use api::{ApiError, ApiResult, Caller, FieldValue, Fields, RequestBody};
use axum::extract::State;
use axum::response::Response;
use chrono::{DateTime, Utc};
use domain::id::UserId;
use domain::idempotency::IdempotencyKey;
use domain::post::Authority;
use domain::token;
use domain::validation_errors::ValidationErrors;
use http::{HeaderMap, HeaderValue, StatusCode};
use publishing::{CreatePost, Created, NotCreated};
use storage::IdempotentRequest;

use crate::post_view::respond;
use crate::{App, drafts_only_error, failed, reading};

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
    let mut fields = incoming.fields(reading::FIELDS)?;
    let authority = Authority::from_scopes(&caller.scopes);
    if fields.is_given("scheduled_at") && !authority.schedules() {
        return Err(drafts_only_error());
    }
    let key = parse_idempotency_key(&headers, caller.user, &body, fields.faults());
    let request = CreatePost { key, ..read(fields, authority, app.api.clock.now()) };

    let outcome = app.publishing.create_post(caller.user, request).await.map_err(failed)?;
    let (post, replayed) = match outcome {
        Created::New(post) => (*post, false),
        Created::Replayed(post) => (*post, true),
        Created::Refused(why) => return Err(refused(why, &caller)),
    };
    let mut response = respond(&app, StatusCode::CREATED, &post).await;
    if replayed {
        response.headers_mut().insert("idempotent-replayed", HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// Parses the post of a body, with all errors.
pub(crate) fn read(mut fields: Fields, authority: Authority, now: DateTime<Utc>) -> CreatePost {
    let text = match reading::content(&mut fields) {
        FieldValue::Absent | FieldValue::Null => {
            fields.add("content", "is required");
            None
        }
        given => given.value(),
    };
    let mut targets = reading::platforms(&mut fields).unwrap_or_default();
    let media = reading::media(&mut fields).value().unwrap_or_default();
    reading::check_file_limits(&mut fields, &media, &mut targets);
    CreatePost {
        text,
        targets,
        scheduled_at: reading::scheduled_at(&mut fields, now).value(),
        media,
        faults: std::mem::take(fields.faults()),
        key: None,
        authority,
    }
}

pub(crate) fn refused(reason: NotCreated, caller: &Caller<PostsDraft>) -> ApiError {
    match reason {
        NotCreated::KeyReused => ValidationErrors::one(
            "idempotency-key",
            "was used for another request; check whether the post of that request exists before you send a new key",
        )
        .into(),
        NotCreated::NotInPlan(reason) => caller.plan_error(reason),
        NotCreated::NoUser => ApiError::Unauthenticated,
        NotCreated::Invalid(faults) => faults.into(),
    }
}

fn parse_idempotency_key(
    headers: &HeaderMap,
    user: UserId,
    body: &[u8],
    errors: &mut ValidationErrors,
) -> Option<IdempotentRequest> {
    let mut values = headers.get_all("idempotency-key").iter();
    let header = values.next()?;
    if values.next().is_some() {
        errors.add("idempotency-key", "may be sent only once");
        return None;
    }
    match IdempotencyKey::parse(header.as_bytes()) {
        Ok(key) => Some(IdempotentRequest {
            user,
            route: "POST /posts",
            key,
            body_hash: token::hash(&String::from_utf8_lossy(body)),
        }),
        Err(error) => {
            errors.add("idempotency-key", error);
            None
        }
    }
}
