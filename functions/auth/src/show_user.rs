//! `GET /user`: whose the token is.

use api::openapi::{Invalid, Refused, USER};
use api::scope_guard::UserRead;
use api::{Api, ApiError, ApiResult, Caller, Params};
use axum::Json;
use axum::extract::State;
use domain::schedule;
use serde::Serialize;
use utoipa::ToSchema;

/// Whose the token is, and what it permits.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = User)]
pub(crate) struct UserView {
    /// A number, written as a string.
    #[schema(example = "373117280772096")]
    id: String,
    /// As the sign-in told it.
    #[schema(example = "Test User")]
    name: String,
    /// As the sign-in told it.
    #[schema(example = "user@example.com")]
    email: String,
    /// The first sign-in.
    #[schema(format = DateTime, example = "2026-11-21T09:30:00.000Z")]
    created_at: String,
    /// What the token permits.
    #[schema(example = json!(["user:read", "posts:write"]))]
    scopes: Vec<&'static str>,
}

/// Show whose the token is
///
/// Needs the scope `user:read`.
#[utoipa::path(
    get,
    path = "/api/v1/user",
    tag = USER,
    operation_id = "user.show",
    responses((status = 200, description = "The user", body = UserView), Refused, Invalid),
    security(("token" = [])),
)]
pub(crate) async fn show_user(
    State(api): State<Api>,
    caller: Caller<UserRead>,
    params: Params,
) -> ApiResult<Json<UserView>> {
    params.none()?;
    let user = api.store.user(caller.user).await?.ok_or(ApiError::Unauthenticated)?;
    Ok(Json(UserView {
        id: user.user_id.to_string(),
        name: user.name,
        email: user.email,
        created_at: schedule::show(user.created_at),
        scopes: caller.scopes.names(),
    }))
}
