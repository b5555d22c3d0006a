//! `GET /connections/connect/{platform}/status/{stateToken}`

use api::openapi::{CONNECTIONS, Invalid, Refused};
use api::scope_guard::ConnectionsWrite;
use api::{ApiError, ApiResult, Caller, ErrorBody, Params, Segments};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use storage::{ConnectFlow, FlowState};
use utoipa::ToSchema;

use crate::App;
use crate::connection_view::ConnectionView;

/// How a connect flow stands.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
#[schema(as = ConnectionRequestStatus)]
pub(crate) enum ConnectFlowStatus {
    /// The user has not come back yet.
    Pending {
        /// Seconds until the request expires.
        #[schema(example = 412)]
        expires_in: i64,
    },
    /// The user or the platform refused; the page that the user sees says why.
    Failed,
    /// An account is connected.
    Completed {
        /// It; null when it was disconnected since.
        #[schema(required)]
        connection: Option<ConnectionView>,
    },
}

/// Tells how a connection request stands.
#[utoipa::path(
    get,
    path = "/api/v1/connections/connect/{platform}/status/{stateToken}",
    tag = CONNECTIONS,
    operation_id = "connectionOAuth.status",
    summary = "See how a connection request stands",
    params(
        ("platform" = String, Path, description = "The platform's name", example = "sandbox"),
        ("stateToken" = String, Path, description = "The state token of the request"),
    ),
    responses(
        (status = 200, body = ConnectFlowStatus, description = "How it stands"),
        (
            status = 404,
            body = ErrorBody,
            description = "There is no such request",
            example = json!({
                "error": "not_found",
                "error_description": "There is no such connection request. Begin a new one.",
            }),
        ),
        (
            status = 410,
            body = ErrorBody,
            description = "The request expired before it ended",
            example = json!({
                "error": "expired",
                "error_description": "The connection request has expired. Begin a new one.",
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
) -> ApiResult<Json<ConnectFlowStatus>> {
    let now = app.api.clock.now();
    let is_ours = |it: &ConnectFlow| it.user_id == caller.user && it.provider == platform;
    let visit = app.load_flow(state_token.clone(), caller.ip, now).await?;
    let visit = visit.filter(|it| is_ours(&it.flow)).ok_or_else(not_found)?;
    params.none()?;
    let connect_flow = if app.look_for_approval(&visit).await? {
        let looked = app.load_flow(state_token, caller.ip, now).await?;
        looked.map(|it| it.flow).filter(is_ours).ok_or_else(not_found)?
    } else {
        visit.flow
    };
    let status = match (connect_flow.state, connect_flow.connection_id) {
        (FlowState::Completed, Some(id)) => {
            let record = app.api.store.connection(caller.user, id).await?;
            ConnectFlowStatus::Completed { connection: record.map(|it| ConnectionView::from(&it.connection)) }
        }
        (FlowState::Completed, None) => ConnectFlowStatus::Completed { connection: None },
        (FlowState::Failed, _) => ConnectFlowStatus::Failed,
        _ if connect_flow.is_open(now) => {
            let left = (connect_flow.expires_at - now).num_milliseconds();
            ConnectFlowStatus::Pending { expires_in: (left + 999) / 1000 }
        }
        _ => return Err(expired()),
    };
    Ok(Json(status))
}

fn not_found() -> ApiError {
    ApiError::OAuth {
        status: StatusCode::NOT_FOUND,
        error: "not_found",
        description: "There is no such connection request. Begin a new one.".to_owned(),
    }
}

fn expired() -> ApiError {
    ApiError::OAuth {
        status: StatusCode::GONE,
        error: "expired",
        description: "The connection request has expired. Begin a new one.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use serde_json::json;

    use crate::testing::Harness;

    #[tokio::test]
    async fn a_request_that_nobody_answers_expires() {
        let world = Harness::new().await;
        let begun = world.begin("plain").await;
        assert_eq!(world.poll(&begun).await.body, json!({"status": "pending", "expires_in": 600}));

        world.clock.advance(TimeDelta::milliseconds(599_001));
        assert_eq!(world.poll(&begun).await.body, json!({"status": "pending", "expires_in": 1}));

        world.clock.advance(TimeDelta::milliseconds(999));
        let expired = world.poll(&begun).await;
        assert_eq!((expired.status, &expired.body["error"]), (410, &json!("expired")));

        world.clock.advance(TimeDelta::days(1));
        assert_eq!(world.poll(&begun).await.status, 404);
    }

    #[tokio::test]
    async fn a_request_that_ended_can_be_asked_about_for_a_day() {
        let world = Harness::new().await;
        let begun = world.begin("plain").await;
        world.callback(&begun, "7").await;

        world.clock.advance(TimeDelta::hours(23));
        let completed = world.poll(&begun).await;
        assert_eq!(completed.body["status"], "completed");
        assert_eq!(completed.body["connection"]["username"], "user7");
        assert!(completed.body["connection"].get("meta").is_none());

        world.delete(&format!("/api/v1/connections/{}", completed.body["connection"]["id"])).await;
        assert_eq!(world.poll(&begun).await.body, json!({"status": "completed", "connection": null}));

        world.clock.advance(TimeDelta::hours(1));
        assert_eq!(world.poll(&begun).await.status, 404);
    }

    #[tokio::test]
    async fn a_request_is_known_to_its_user_and_platform_alone() {
        let world = Harness::new().await;
        let begun = world.begin("plain").await;
        let path = |platform: &str, token: &str| format!("/api/v1/connections/connect/{platform}/status/{token}");

        assert_eq!(world.get(&path("plain", &begun.token)).await.status, 200);
        assert_eq!(world.get(&path("asking", &begun.token)).await.status, 404);
        assert_eq!(world.get(&path("plain", "unknown")).await.status, 404);
        let other = world.get_as_another(&path("plain", &begun.token)).await;
        assert_eq!((other.status, &other.body["error"]), (404, &json!("not_found")));
    }
}
