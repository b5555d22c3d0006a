use api::openapi::{Invalid, PROFILES, Refused};
use api::scope_guard::ConnectionsRead;
use api::{ApiResult, Caller, Paging, Params};
use axum::Json;
use axum::extract::State;
use contract::{ListProfiles, ProfileList};
use domain::text::ExternalId;

use super::profile_view;
use crate::App;

#[utoipa::path(
    get,
    path = "/api/v1/profiles",
    operation_id = "profile.index",
    tag = PROFILES,
    summary = "List profiles",
    security(("token" = [])),
    params(ListProfiles),
    responses(
        (status = 200, description = "A page of profiles, oldest first; a page after the last one is empty", body = ProfileList),
        Refused,
        Invalid,
    )
)]
pub(crate) async fn list_profiles(
    State(app): State<App>,
    caller: Caller<ConnectionsRead>,
    params: Params,
) -> ApiResult<Json<ProfileList>> {
    let mut fields = params.fields(&["external_id", "per_page", "page"]);
    let external_id = fields.parse("external_id", ExternalId::parse).value();
    let paging = Paging::parse(&mut fields);
    let paging = fields.finish(paging)?;

    let store = &app.api.store;
    let found = match external_id {
        Some(external_id) => store.profile_by_external_id(caller.owner, &external_id).await?.into_iter().collect(),
        None => store.profiles(caller.owner).await?,
    };
    let (shown, meta) = paging.cut(found);
    Ok(Json(ProfileList { data: shown.iter().map(profile_view).collect(), meta }))
}
