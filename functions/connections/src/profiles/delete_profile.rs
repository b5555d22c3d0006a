//! `DELETE /profiles/{profile}`: deletes a profile.

use api::openapi::{Invalid, Missing, PROFILES, Refused};
use api::scope_guard::ConnectionsWrite;
use api::{ApiError, ApiResult, Caller, ErrorBody, Id, Params};
use axum::extract::State;
use axum::http::StatusCode;
use domain::id::ProfileId;
use storage::ProfileDeleted;

use crate::App;

#[utoipa::path(
    delete,
    path = "/api/v1/profiles/{profile}",
    operation_id = "profile.destroy",
    tag = PROFILES,
    summary = "Delete a profile",
    description = "Disconnect its accounts first. Its posts stay.",
    security(("token" = [])),
    params(("profile" = u64, Path, description = "The profile's id", minimum = 1, maximum = 9_007_199_254_740_991_i64)),
    responses(
        (status = 204, description = "The profile is deleted"),
        (
            status = 409,
            body = ErrorBody,
            description = "Accounts of the profile are still connected",
            example = json!({
                "message": "The profile still has connections. Disconnect its account first: GET /api/v1/connections?profile_id=372851046400001 lists it.",
            }),
        ),
        Refused,
        Missing,
        Invalid,
    )
)]
pub(crate) async fn delete_profile(
    State(app): State<App>,
    caller: Caller<ConnectionsWrite>,
    Id(id): Id<ProfileId>,
    params: Params,
) -> ApiResult<StatusCode> {
    caller.deny_if_limited("delete profiles")?;
    let store = &app.api.store;
    store.profile(caller.user_id(), id).await?.ok_or(ApiError::NotFound)?;
    params.none()?;
    match store.delete_profile(caller.user_id(), id, None).await? {
        ProfileDeleted::Done => Ok(StatusCode::NO_CONTENT),
        ProfileDeleted::HasConnections(count) => {
            let (accounts, them) =
                if count == 1 { ("account".to_owned(), "it") } else { (format!("{count} accounts"), "them") };
            Err(ApiError::Conflict(format!(
                "The profile still has connections. Disconnect its {accounts} first: GET /api/v1/connections?profile_id={id} lists \
                 {them}"
            )))
        }
        ProfileDeleted::NotThere => Err(ApiError::NotFound),
    }
}
