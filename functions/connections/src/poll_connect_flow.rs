//! `GET /connections/connect/{platform}/status/{stateToken}`: shows the status of a connect flow.

use api::openapi::{CONNECTIONS, Invalid, Refused};
use api::scope_guard::ConnectionsWrite;
use api::{ApiResult, Caller, ErrorBody, Params, Segments};
use axum::Json;
use axum::extract::State;
use contract::ConnectionRequestStatus;
use storage::{ConnectFlow, FlowState};

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
    let is_ours = |it: &ConnectFlow| it.user_id == caller.user && it.provider == platform;
    let loaded = app.load_flow(state_token.clone(), caller.ip, now).await?;
    let loaded = loaded.filter(|it| is_ours(&it.flow)).ok_or(ConnectionsError::UnknownFlow)?;
    params.none()?;
    let connect_flow = if app.check_approval(&loaded).await? {
        let reloaded = app.load_flow(state_token, caller.ip, now).await?;
        reloaded.map(|it| it.flow).filter(is_ours).ok_or(ConnectionsError::UnknownFlow)?
    } else {
        loaded.flow
    };
    let status = match connect_flow.state {
        FlowState::Completed => {
            let record = match connect_flow.connection_id {
                Some(id) => app.api.store.connection(caller.user, id).await?,
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

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use serde_json::json;

    use crate::testing::Harness;

    #[tokio::test]
    async fn unfinished_request_expires_after_ten_minutes() {
        let harness = Harness::new().await;
        let begun = harness.begin("plain").await;
        assert_eq!(harness.poll(&begun).await.body, json!({"status": "pending", "expires_in": 600}));

        harness.clock.advance(TimeDelta::milliseconds(599_001));
        assert_eq!(harness.poll(&begun).await.body, json!({"status": "pending", "expires_in": 1}));

        harness.clock.advance(TimeDelta::milliseconds(999));
        let expired = harness.poll(&begun).await;
        assert_eq!((expired.status, &expired.body["error"]), (410, &json!("expired")));

        harness.clock.advance(TimeDelta::days(1));
        assert_eq!(harness.poll(&begun).await.status, 404);
    }

    #[tokio::test]
    async fn ended_request_can_be_polled_for_a_day() {
        let harness = Harness::new().await;
        let begun = harness.begin("plain").await;
        harness.callback(&begun, "7").await;

        harness.clock.advance(TimeDelta::hours(23));
        let completed = harness.poll(&begun).await;
        assert_eq!(completed.body["status"], "completed");
        assert_eq!(completed.body["connection"]["username"], "user7");
        assert!(completed.body["connection"].get("meta").is_none());

        harness.delete(&format!("/api/v1/connections/{}", completed.body["connection"]["id"])).await;
        assert_eq!(harness.poll(&begun).await.body, json!({"status": "completed", "connection": null}));

        harness.clock.advance(TimeDelta::hours(1));
        assert_eq!(harness.poll(&begun).await.status, 404);
    }

    #[tokio::test]
    async fn request_is_found_only_by_its_user_and_platform() {
        let harness = Harness::new().await;
        let begun = harness.begin("plain").await;
        let path = |platform: &str, token: &str| format!("/api/v1/connections/connect/{platform}/status/{token}");

        assert_eq!(harness.get(&path("plain", &begun.token)).await.status, 200);
        assert_eq!(harness.get(&path("asking", &begun.token)).await.status, 404);
        assert_eq!(harness.get(&path("plain", "unknown")).await.status, 404);
        let other = harness.get_as_another(&path("plain", &begun.token)).await;
        assert_eq!((other.status, &other.body["error"]), (404, &json!("not_found")));
    }
}
