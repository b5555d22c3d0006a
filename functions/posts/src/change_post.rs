//! `PATCH /posts/{post}`.

use api::need::PostsDraft;
use api::openapi::{BadBody, Missing, POSTS, Refused};
use api::{ApiError, ApiResult, Caller, Given, Id, Incoming};
use axum::Json;
use axum::extract::State;
use domain::id::PostId;
use domain::post::Authority;
use publishing::{ChangePost, Changed};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::create_post::{MediumBody, PlatformBody, PostTime};
use crate::post_view::PostView;
use crate::{App, drafts_only, failed, reading};

/// What changes; what is left out stays as it is.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PostChanges, example = json!({"scheduled_at": "2026-11-21T09:30:00Z"}))]
#[expect(dead_code, reason = "read field by field; this is its description")]
pub(crate) struct ChangesBody {
    /// What is said where a platform's entry does not say otherwise.
    #[schema(max_length = 65_000, min_length = 1, pattern = r"\S", nullable = false)]
    content: Option<String>,
    /// Replaces the whole set; an entry for the same account keeps its id.
    #[schema(max_items = 30)]
    platforms: Option<Vec<PlatformBody>>,
    /// When; `null` takes the post back to draft.
    scheduled_at: Option<PostTime>,
    /// Replaces the whole list.
    #[schema(max_items = 30)]
    media: Option<Vec<MediumBody>>,
}

/// Changes a draft, a scheduled or a failed post.
#[utoipa::path(
    patch,
    path = "/api/v1/posts/{post}",
    operation_id = "post.update",
    tag = POSTS,
    summary = "Change a post",
    description = "What is left out stays. `scheduled_at: null` takes the post back to draft; a new `scheduled_at` on a failed post tries again what is not public. A change that was answered is never overtaken by an older version going out.",
    security(("token" = [])),
    params(("post" = u64, Path, description = "The post's id", minimum = 1, maximum = 9_007_199_254_740_991_i64)),
    request_body(content = ChangesBody),
    responses(
        (status = 200, description = "The post as it is now", body = PostView),
        Refused,
        Missing,
        BadBody,
    )
)]
pub(crate) async fn change_post(
    State(app): State<App>,
    caller: Caller<PostsDraft>,
    Id(post): Id<PostId>,
    incoming: Incoming,
) -> ApiResult<Json<PostView>> {
    let post = app.api.store.post(caller.user, post).await?.ok_or(ApiError::NotFound)?;
    let mut fields = incoming.fields(reading::FIELDS)?;
    let text = match reading::content(&mut fields) {
        Given::Null => {
            fields.add("content", "may not be null; leave it out to keep the text");
            None
        }
        given => given.value(),
    };
    let mut targets = reading::platforms(&mut fields);
    let media = match reading::media(&mut fields) {
        Given::Value(media) => Some(media),
        Given::Null => Some(Vec::new()),
        Given::Absent | Given::Faulty => None,
    };
    let (named, aimed) = (media.as_deref().unwrap_or_default(), targets.as_deref_mut().unwrap_or_default());
    reading::bound_files(&mut fields, named, aimed);
    let request = ChangePost {
        text,
        targets,
        scheduled_at: reading::scheduled_at(&mut fields, app.api.clock.now()),
        media,
        faults: std::mem::take(fields.faults()),
        authority: Authority::of(&caller.scopes),
    };

    let changed = app.publishing.change_post(post, request).await.map_err(failed)?;
    let post = match changed {
        Changed::Done(post) => *post,
        Changed::NotThere => return Err(ApiError::NotFound),
        Changed::DraftsOnly => return Err(drafts_only()),
        Changed::NotInPlan(why) => return Err(caller.not_in_plan(why)),
        Changed::Invalid(faults) => return Err(faults.into()),
    };
    Ok(Json(PostView::of(&app, &post).await))
}
