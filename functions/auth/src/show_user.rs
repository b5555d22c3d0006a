use api::openapi::{Invalid, Refused, USER};
use api::scope_guard::UserRead;
use api::{Api, ApiError, ApiResult, Caller, Params};
use axum::Json;
use axum::extract::State;
use contract::{Timestamp, User};

/// Show the user of the token
///
/// Needs the scope `user:read`.
#[utoipa::path(
    get,
    path = "/api/v1/user",
    tag = USER,
    operation_id = "user.show",
    responses((status = 200, description = "The user", body = User), Refused, Invalid),
    security(("token" = [])),
)]
pub(crate) async fn show_user(
    State(api): State<Api>,
    caller: Caller<UserRead>,
    params: Params,
) -> ApiResult<Json<User>> {
    params.none()?;
    let user = api.store.user(caller.user_id()).await?.ok_or(ApiError::Unauthenticated)?;
    Ok(Json(User {
        id: user.user_id.to_string(),
        name: user.name,
        email: user.email,
        created_at: Timestamp(user.created_at),
        scopes: caller.scopes.names().into_iter().map(str::to_owned).collect(),
    }))
}
