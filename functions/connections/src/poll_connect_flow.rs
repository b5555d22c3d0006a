use api::openapi::{CONNECTIONS, Invalid, Refused};
use api::scope_guard::ConnectionsWrite;
use api::{ApiResult, Caller, ErrorBody, Params, PermitError, Segments};
use axum::Json;
use axum::extract::State;
use connecting::LoadedFlow;
use contract::ConnectionRequestStatus;
use domain::connect_flow::FlowState;

use crate::App;
use crate::error::ConnectionsError;
use crate::response::connection_view;

/// Returns the status of a connection request.
#[utoipa::path(
    get,
    path = "/api/v1/connections/connect/{platform}/status/{stateToken}",
    tag = CONNECTIONS,
    operation_id = "connectionOAuth.status",
    summary = "Show the status of a connection request",
    params(
        ("platform" = String, Path, description = "The platform's name", example = "sandbox"),
        ("stateToken" = String, Path, description = "The `state_token` of the connection request"),
    ),
    responses(
        (status = 200, body = ConnectionRequestStatus, description = "The status of the request"),
        (
            status = 404,
            body = ErrorBody,
            description = "The connection request does not exist",
            example = json!({
                "error": "not_found",
                "error_description": "This connection request does not exist. Start a new one.",
            }),
        ),
        (
            status = 410,
            body = ErrorBody,
            description = "The connection request expired",
            example = json!({
                "error": "expired",
                "error_description": "The connection request has expired. Start a new one.",
            }),
        ),
        Refused,
        Invalid,
    ),
    security(("token" = [])),
)]
pub(crate) async fn poll_connect_flow(
    caller: Caller<ConnectionsWrite>,
    Segments((platform, state_token)): Segments<(String, String)>,
    params: Params,
    State(app): State<App>,
) -> ApiResult<Json<ConnectionRequestStatus>> {
    let now = app.api.clock.now();
    let find = async || {
        let found = app.connect_flows().find(state_token.clone(), caller.ip).await.map_err(ConnectionsError::from)?;
        let is_ours = |it: &LoadedFlow| it.flow.is_visible_to(caller.owner) && it.flow.provider == platform;
        found.filter(is_ours).ok_or(ConnectionsError::UnknownFlow)
    };
    let loaded = find().await?;
    params.none()?;
    let has_changed = app.check_approval(&loaded).await?;
    let connect_flow = if has_changed { find().await?.flow } else { loaded.flow };
    let status = match connect_flow.state {
        FlowState::Completed => {
            let record = match connect_flow.connection_id {
                Some(id) => app.api.store.connection(caller.owner, id).await?,
                None => None,
            };
            ConnectionRequestStatus::Completed { connection: record.map(|it| connection_view(&it.connection)) }
        }
        FlowState::Failed => ConnectionRequestStatus::Failed,
        _ if connect_flow.is_open(now) => {
            let left_ms = (connect_flow.expires_at - now).num_milliseconds();
            ConnectionRequestStatus::Pending { expires_in: (left_ms + 999) / 1000 }
        }
        _ => return Err(ConnectionsError::ExpiredFlow.into()),
    };
    Ok(Json(status))
}

impl App {
    /// Polls the platform unless it was polled just now. Returns whether the connect flow has
    /// changed.
    pub(crate) async fn check_approval(&self, loaded: &LoadedFlow) -> Result<bool, ConnectionsError> {
        let Some(platform) = self.platforms.get(&loaded.flow.provider) else { return Ok(false) };
        let flows = self.connect_flows();
        let Some(poll) = flows.begin_poll(loaded).await? else { return Ok(false) };
        let host = poll.host().map(str::to_owned);
        let poll = Box::pin(flows.poll_approval(platform, poll));
        match self.api.with_permit(loaded.flow.user_id, host.as_deref(), poll).await {
            Ok(has_changed) => Ok(has_changed?),
            Err(PermitError::Busy) => Ok(false),
            Err(PermitError::Storage(error)) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests;
