use api::openapi::{Invalid, Missing, PROFILES, Refused};
use api::scope_guard::ConnectionsRead;
use api::{ApiError, ApiResult, Caller, Id, Params};
use axum::Json;
use axum::extract::State;
use domain::id::ProfileId;

use super::profile_view;
use crate::App;

#[utoipa::path(
    get,
    path = "/api/v1/profiles/{profile}",
    operation_id = "profile.show",
    tag = PROFILES,
    summary = "Show a profile",
    security(("token" = [])),
    params(("profile" = u64, Path, description = "The profile's id", minimum = 1, maximum = 9_007_199_254_740_991_i64)),
    responses((status = 200, description = "The profile", body = contract::Profile), Refused, Missing, Invalid)
)]
pub(crate) async fn show_profile(
    State(app): State<App>,
    caller: Caller<ConnectionsRead>,
    Id(id): Id<ProfileId>,
    params: Params,
) -> ApiResult<Json<contract::Profile>> {
    let profile = app.api.store.profile(caller.owner, id).await?.ok_or(ApiError::NotFound)?;
    params.none()?;
    Ok(Json(profile_view(&profile)))
}
