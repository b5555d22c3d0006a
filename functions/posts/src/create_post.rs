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
use serde::Deserialize;
use serde_json::Value;
use storage::IdempotentRequest;
use utoipa::ToSchema;

use crate::post_view::{PostView, respond};
use crate::{App, drafts_only_error, failed, reading};

/// A new post.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewPost, example = json!({
    "content": "Hello from the harbour",
    "platforms": [{ "connected_account_id": 1_234_567_001 }],
    "scheduled_at": "2026-11-21T09:30:00Z",
    "media": ["media/1234567000/1234567002.jpg"]
}))]
#[expect(dead_code, reason = "only the schema; the fields are parsed one by one to report all errors")]
pub(crate) struct NewPostBody {
    /// The text for every account without a text of its own. All texts of a post together (this one,
    /// and those of its `platforms`, options and alt texts) can have at most 300,000 bytes of UTF-8;
    /// the error names the largest text of the request.
    #[schema(max_length = 65_000, min_length = 1, pattern = r"\S")]
    content: String,
    /// The accounts to publish to, each once.
    #[schema(max_items = 30)]
    platforms: Option<Vec<PlatformBody>>,
    /// When to publish. Without it, the post is a draft. A time in the past five minutes means now.
    scheduled_at: Option<PostTime>,
    /// The `path` of each file that `POST /media` returned, each once.
    #[schema(max_items = 30)]
    media: Option<Vec<MediumBody>>,
}

/// The time of a post.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only the schema; the fields are parsed one by one to report all errors")]
pub(crate) enum PostTime {
    At(#[schema(inline)] Instant),
    PublishNow(#[schema(inline)] PublishNow),
}

/// A date and a time with an offset (RFC 3339).
#[derive(Deserialize, ToSchema)]
#[schema(format = DateTime)]
#[expect(dead_code, reason = "only the schema; the fields are parsed one by one to report all errors")]
pub(crate) struct Instant(String);

/// Publish now. A repeated request with the same `idempotency-key` is still the same request.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PublishNow {
    Now,
}

/// A file of the post: its path alone, or with an alt text.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
#[schema(as = NewPostMedia)]
#[expect(dead_code, reason = "only the schema; the fields are parsed one by one to report all errors")]
pub(crate) enum MediumBody {
    /// The path that `POST /media` returned.
    Path(String),
    /// The path with an alt text.
    Described(DescribedMedium),
}

/// A file with its alt text.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DescribedMedia, example = json!({ "path": "media/1234567000/1234567002.jpg", "alt_text": "A boat at the pier" }))]
#[expect(dead_code, reason = "only the schema; the fields are parsed one by one to report all errors")]
pub(crate) struct DescribedMedium {
    /// The path that `POST /media` returned.
    path: String,
    /// The alt text, for people who cannot see the file. It is never generated and never cut: one
    /// that is too long for a platform is an error when the post is scheduled.
    #[schema(nullable, min_length = 1, max_length = 10_000, pattern = r"\S")]
    alt_text: Option<String>,
}

/// One account to publish to.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewPostPlatform)]
#[expect(dead_code, reason = "only the schema; the fields are parsed one by one to report all errors")]
pub(crate) struct PlatformBody {
    /// The id of a connection.
    #[schema(minimum = 1, maximum = 9_007_199_254_740_991_i64)]
    connected_account_id: u64,
    /// A text for this account only.
    #[schema(max_length = 65_000, min_length = 1, pattern = r"\S")]
    content: Option<String>,
    /// The files for this account, instead of those of the post. All lists of a request together can
    /// have at most 300 entries and name at most 60 different files.
    #[schema(max_items = 30)]
    media: Option<Vec<MediumBody>>,
    /// Options of this account's platform, such as `visibility`, `content_warning` or `language`.
    /// An unknown option is an error; values are checked when the post is scheduled.
    #[schema(value_type = Option<BTreeMap<String, Value>>, example = json!({ "language": "en" }))]
    options: Option<Value>,
}

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
    request_body(content = NewPostBody),
    responses(
        (status = 201, description = "The new post", body = PostView, headers(
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
