//! `DELETE /profiles/{profile}`: deletes a profile, and with `erase=true` everything of it.

use api::openapi::{Invalid, Missing, PROFILES, Refused};
use api::scope_guard::ConnectionsWrite;
use api::{ApiError, ApiResult, Caller, ErrorBody, Id, Params};
use axum::extract::State;
use axum::http::StatusCode;
use contract::DeleteProfile;
use domain::id::ProfileId;
use storage::ProfileDeleted;

use crate::App;

#[utoipa::path(
    delete,
    path = "/api/v1/profiles/{profile}",
    operation_id = "profile.destroy",
    tag = PROFILES,
    summary = "Delete a profile",
    description = "Disconnect its accounts first. Its posts stay, unless `erase` is `true`. Then everything of the profile is removed: its posts, its files, the webhooks that its tokens created, events and stored responses. A file that a post of your own or of another profile uses stays, and becomes your own. Posts that are public stay on the platforms. This takes up to two hours, because an upload can arrive until its `upload_url` has expired. It cannot be undone.",
    security(("token" = [])),
    params(
        ("profile" = u64, Path, description = "The profile's id", minimum = 1, maximum = 9_007_199_254_740_991_i64),
        DeleteProfile,
    ),
    responses(
        (status = 204, description = "The profile is deleted. With `erase=true`, the removal of everything else has begun"),
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
    let mut fields = params.fields(&["erase"]);
    let erases = fields.boolean("erase").value().unwrap_or_default();
    let erase_at = fields.finish(erases.then(|| app.api.clock.now()))?;
    match store.delete_profile(caller.user_id(), id, erase_at).await? {
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
