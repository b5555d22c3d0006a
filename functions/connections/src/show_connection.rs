use api::openapi::{CONNECTIONS, Invalid, Missing, Refused};
use api::scope_guard::ConnectionsRead;
use api::{ApiError, ApiResult, Caller, Id, Params};
use axum::Json;
use axum::extract::State;
use contract::ConnectionDetails;
use domain::id::ConnectionId;

use crate::App;
use crate::response::details_view;

/// Shows one connected account, with its grant and its platform's limits.
#[utoipa::path(
    get,
    path = "/api/v1/connections/{connection}",
    tag = CONNECTIONS,
    operation_id = "connection.show",
    summary = "Show a connected account",
    params(("connection" = u64, Path, description = "The connection's id")),
    responses((status = 200, body = ConnectionDetails, description = "The connection"), Refused, Missing, Invalid),
    security(("token" = [])),
)]
pub(crate) async fn show_connection(
    caller: Caller<ConnectionsRead>,
    Id(id): Id<ConnectionId>,
    params: Params,
    State(app): State<App>,
) -> ApiResult<Json<ConnectionDetails>> {
    let record = app.api.store.connection(caller.owner, id).await?.ok_or(ApiError::NotFound)?;
    params.none()?;
    Ok(Json(details_view(&record.connection)))
}
