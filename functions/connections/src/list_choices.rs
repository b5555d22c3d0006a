use api::openapi::{CONNECTIONS, Invalid, Missing, Refused};
use api::scope_guard::ConnectionsRead;
use api::{ApiResult, Caller, ErrorBody, Params, Segments};
use axum::Json;
use axum::extract::State;
use contract::ChoiceList;

use crate::App;

/// Lists the values that an option accepts for this account, as the platform returns them now.
#[utoipa::path(
    get,
    path = "/api/v1/connections/{connection}/choices/{option}",
    tag = CONNECTIONS,
    operation_id = "connection.choices",
    summary = "List the values of an option for an account",
    params(
        ("connection" = u64, Path, description = "The connection's id"),
        ("option" = String, Path, description = "An option that has `x-choices` in `GET /platforms`", example = "board"),
        (
            "query" = Option<String>,
            Query,
            nullable,
            max_length = 200,
            description = "Only entries whose value or label contains this text, in upper or lower case",
            example = "tide",
        ),
    ),
    responses(
        (status = 200, body = ChoiceList, description = "The values"),
        (
            status = 409,
            body = ErrorBody,
            description = "The account must be reconnected",
            example = json!({ "message": "Sandbox no longer accepts this connection. Reconnect the account" }),
        ),
        Refused,
        Missing,
        Invalid,
        (
            status = 503,
            body = ErrorBody,
            description = "The platform does not respond, or the service is temporarily unavailable",
            example = json!({ "message": "Sandbox did not respond in time. Try again in 30 s" }),
        ),
    ),
    security(("token" = [])),
)]
pub(crate) async fn list_choices(
    caller: Caller<ConnectionsRead>,
    Segments((connection, option)): Segments<(String, String)>,
    params: Params,
    State(app): State<App>,
) -> ApiResult<Json<ChoiceList>> {
    let listed = app.choices(caller.owner, &connection, &option, params).await?;
    Ok(Json(listed.into()))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Harness, PlatformBehavior};

    #[tokio::test]
    async fn unresponsive_platform_gets_503_with_retry_after() {
        let harness = Harness::new().await;
        let id = harness.connect("7").await;
        harness.platform.set_behavior(PlatformBehavior::Broken);

        let answer = harness.get(&format!("/api/v1/connections/{id}/choices/board")).await;

        assert_eq!((answer.status, answer.retry_after.as_deref()), (503, Some("45")));
        assert!(
            answer.body["message"]
                .as_str()
                .unwrap()
                .ends_with("cannot list the values at the moment. Try again in 45 s")
        );
    }

    #[tokio::test]
    async fn named_server_is_called_with_a_permit() {
        let harness = Harness::new().await;
        let id = harness.connect("7~named").await;
        let path = format!("/api/v1/connections/{id}/choices/board");
        harness.hold_permits().await;

        let refused = harness.get(&path).await;
        assert_eq!((refused.status, refused.retry_after.as_deref()), (429, Some("5")));
        assert!(refused.body["message"].as_str().unwrap().ends_with("Try again in 5 s"), "{}", refused.body);

        harness.release_permits().await;
        assert_eq!(harness.get(&path).await.status, 200);
    }
}
