use api::openapi::{CONNECTIONS, Refused};
use api::scope_guard::ConnectionsWrite;
use api::{ApiResult, Caller, ErrorBody, Params, RequestBody, Segments};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use connecting::StartedFlow;
use contract::ConnectionRequest;
use domain::connect_flow::FLOW_LIFETIME;
use secrecy::ExposeSecret;

use crate::App;
use crate::error::ConnectionsError;

/// Starts to connect an account. Send the user to `authorization_url`, then poll `poll_url` until
/// the request has ended.
#[utoipa::path(
    post,
    path = "/api/v1/connections/connect/{platform}",
    tag = CONNECTIONS,
    operation_id = "connectionOAuth.store",
    summary = "Start connecting an account",
    params(
        ("platform" = String, Path, description = "The platform's name", example = "sandbox"),
        (
            "profile_id" = Option<u64>,
            Query,
            minimum = 1,
            maximum = 9_007_199_254_740_991_i64,
            description = "The profile of the customer who connects an account",
        ),
    ),
    responses(
        (status = 201, body = ConnectionRequest, description = "The connection request has started"),
        (
            status = 422,
            body = ErrorBody,
            description = "The platform is unknown, or it is not set up in this deployment",
            example = json!({
                "error": "unsupported_platform",
                "error_description": "There is no platform \"myspace\". Use one of: sandbox.",
            }),
        ),
        Refused,
    ),
    security(("token" = [])),
)]
pub(crate) async fn start_connect_flow(
    caller: Caller<ConnectionsWrite>,
    Segments(name): Segments<String>,
    params: Params,
    State(app): State<App>,
    incoming: RequestBody,
) -> ApiResult<(StatusCode, Json<ConnectionRequest>)> {
    // `profile_id` in the body would otherwise have no effect, and the account would be the user's own.
    incoming.none()?;
    let mut fields = params.fields(&["profile_id"]);
    let of_profile = app.named_profile(&caller, &mut fields).await?;
    fields.finish(())?;
    let platform = app.platforms.get(&name).ok_or_else(|| {
        let enabled = app.platforms.names();
        ConnectionsError::UnsupportedPlatform { name, enabled }
    })?;
    let (state_token, authorization_url) = match app
        .connect_flows()
        .start(caller.user_id(), of_profile, platform)
        .await
        .map_err(ConnectionsError::from)?
    {
        StartedFlow::Started { state_token, page } => (state_token.expose_secret().to_owned(), page),
        StartedFlow::OverPlan(reason) => return Err(caller.plan_error(reason)),
    };
    let origin = &app.api.origin;
    Ok((
        StatusCode::CREATED,
        Json(ConnectionRequest {
            poll_url: format!("{origin}/api/v1/connections/connect/{}/status/{state_token}", platform.name()),
            state_token,
            authorization_url,
            expires_in: FLOW_LIFETIME.num_seconds(),
        }),
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::Harness;

    #[tokio::test]
    async fn authorization_url_is_the_platforms_page_or_our_form() {
        let harness = Harness::new().await;
        let plain = harness.post("/api/v1/connections/connect/plain").await;
        let token = plain.body["state_token"].as_str().unwrap();
        assert_eq!(plain.status, 201);
        assert_eq!(plain.body["authorization_url"], format!("https://plain.example/authorize?state={token}"));
        assert_eq!(plain.body["expires_in"], 600);
        assert_eq!(
            plain.body["poll_url"],
            format!("https://social.example/api/v1/connections/connect/plain/status/{token}")
        );

        let asking = harness.post("/api/v1/connections/connect/asking").await;
        let token = asking.body["state_token"].as_str().unwrap();
        assert_eq!(asking.body["authorization_url"], format!("https://social.example/connect/{token}"));
    }

    #[tokio::test]
    async fn full_plan_allows_reconnecting_but_no_further_account() {
        let harness = Harness::with_plan(json!({"default": {"max_connections": 1}})).await;
        let id = harness.connect("7").await;
        let refused = harness.post("/api/v1/connections/connect/plain").await;
        assert_eq!(refused.status, 403);
        assert!(refused.body["message"].as_str().unwrap().contains("max_connections"));

        harness.lose_grant(id).await;
        let connected_again = harness.connect("7").await;
        assert_eq!(connected_again, id);
    }

    #[tokio::test]
    async fn plan_that_fills_during_the_flow_is_reported_on_the_page() {
        let harness = Harness::with_plan(json!({"default": {"max_connections": 1}})).await;
        let (one, other) = (harness.begin("plain").await, harness.begin("plain").await);
        harness.callback(&one, "7").await;
        harness.callback(&other, "8").await;

        assert_eq!(harness.poll(&other).await.body, json!({"status": "failed"}));
        assert!(harness.page(&other).await.html.contains("max_connections"));
    }
}
