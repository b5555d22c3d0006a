use api::openapi::{BadBody, Missing, PROFILES, Refused};
use api::scope_guard::ConnectionsWrite;
use api::{ApiError, ApiResult, Caller, Id, RequestBody};
use axum::Json;
use axum::extract::State;
use contract::ProfileChanges;
use domain::id::ProfileId;

use super::{name, profile_view};
use crate::App;

#[utoipa::path(
    patch,
    path = "/api/v1/profiles/{profile}",
    operation_id = "profile.update",
    tag = PROFILES,
    summary = "Rename a profile",
    description = "The `external_id` of a profile never changes, because events name it.",
    security(("token" = [])),
    params(("profile" = u64, Path, description = "The profile's id", minimum = 1, maximum = 9_007_199_254_740_991_i64)),
    request_body(content = ProfileChanges),
    responses((status = 200, description = "The renamed profile", body = contract::Profile), Refused, Missing, BadBody)
)]
pub(crate) async fn change_profile(
    State(app): State<App>,
    caller: Caller<ConnectionsWrite>,
    Id(id): Id<ProfileId>,
    incoming: RequestBody,
) -> ApiResult<Json<contract::Profile>> {
    caller.deny_if_limited("rename profiles")?;
    let store = &app.api.store;
    store.profile(caller.user_id(), id).await?.ok_or(ApiError::NotFound)?;
    let mut fields = incoming.fields(&["name"])?;
    let name = name(&mut fields);
    // A name that is missing is an error of the fields.
    let Some(name) = fields.finish(name)? else { return Err(ApiError::Internal) };
    let renamed = store.rename_profile(caller.user_id(), id, &name).await?.ok_or(ApiError::NotFound)?;
    Ok(Json(profile_view(&renamed)))
}
