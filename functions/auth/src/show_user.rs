//! `GET /user`: the user and the scopes of the token.

use api::openapi::{Invalid, Refused, USER};
use api::scope_guard::UserRead;
use api::{Api, ApiError, ApiResult, Caller, Params};
use axum::Json;
use axum::extract::State;
use domain::schedule;
use serde::Serialize;
use utoipa::ToSchema;

/// The user and the scopes of the token.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = User)]
pub(crate) struct UserView {
    /// The id of the user: a number, as a string.
    #[schema(example = "373117280772096")]
    id: String,
    /// The name from the sign-in provider.
    #[schema(example = "Test User")]
    name: String,
    /// The e-mail address from the sign-in provider.
    #[schema(example = "user@example.com")]
    email: String,
    /// When the user first signed in.
    #[schema(format = DateTime, example = "2026-11-21T09:30:00.000Z")]
    created_at: String,
    /// The scopes of the token.
    #[schema(example = json!(["user:read", "posts:write"]))]
    scopes: Vec<&'static str>,
}

/// Show the user of the token
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
