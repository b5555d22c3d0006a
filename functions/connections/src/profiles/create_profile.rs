use api::openapi::{BadBody, PROFILES, Refused};
use api::scope_guard::ConnectionsWrite;
use api::{ApiError, ApiResult, Caller, RequestBody};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use contract::NewProfile;
use domain::profile::Profile;
use domain::text::ExternalId;
use domain::validation_errors::ValidationErrors;
use storage::ProfileCreated;

use super::{name, profile_view};
use crate::App;

#[utoipa::path(
    post,
    path = "/api/v1/profiles",
    operation_id = "profile.store",
    tag = PROFILES,
    summary = "Create a profile",
    description = "A profile groups the connections of one of your customers. If your plan allows no further profile (`max_profiles`), the response is 403.",
    security(("token" = [])),
    request_body(content = NewProfile),
    responses((status = 201, description = "The profile", body = contract::Profile), Refused, BadBody)
)]
pub(crate) async fn create_profile(
    State(app): State<App>,
    caller: Caller<ConnectionsWrite>,
    incoming: RequestBody,
) -> ApiResult<(StatusCode, Json<contract::Profile>)> {
    caller.deny_if_limited("create profiles")?;
    let mut fields = incoming.fields(&["name", "external_id"])?;
    let name = name(&mut fields);
    let external_id = fields.parse("external_id", ExternalId::parse).value();
    // A name that is missing is an error of the fields.
    let Some(name) = fields.finish(name)? else { return Err(ApiError::Internal) };

    let store = &app.api.store;
    let user = store.user(caller.user_id()).await?;
    let plan = app.plans.named(user.as_ref().and_then(|it| it.plan.as_deref()));
    let profile = Profile {
        user_id: caller.user_id(),
        profile_id: app.api.ids.fresh(),
        name,
        external_id,
        created_at: app.api.clock.now(),
    };
    match store.create_profile(&profile, plan.max_profiles).await? {
        ProfileCreated::Done => Ok((StatusCode::CREATED, Json(profile_view(&profile)))),
        ProfileCreated::Full => {
            let max = plan.max_profiles.unwrap_or_default();
            Err(caller.plan_error(format!("Your plan allows {max} profiles (max_profiles). Delete one first.")))
        }
        ProfileCreated::Taken => {
            Err(ValidationErrors::one("external_id", "is that of another profile; GET /profiles?external_id= finds it")
                .into())
        }
    }
}
