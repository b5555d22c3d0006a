use api::openapi::{CONNECTIONS, Invalid, Refused};
use api::scope_guard::ConnectionsRead;
use api::{ApiResult, Caller, Params};
use axum::Json;
use axum::extract::State;
use contract::ConnectionList;

use crate::App;
use crate::response::connection_view;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StatusFilter {
    Active,
    NeedsReconnection,
}

/// Lists the connected accounts, oldest first.
#[utoipa::path(
    get,
    path = "/api/v1/connections",
    tag = CONNECTIONS,
    operation_id = "connection.index",
    summary = "List connected accounts",
    params(
        ("provider" = Option<String>, Query, nullable, description = "Only accounts of this platform", example = "sandbox"),
        (
            "status" = Option<String>,
            Query,
            nullable,
            pattern = "^(active|needs_reconnection)?$",
            description = "Only accounts that can publish (`active`), or only those that must be reconnected \
                           (`needs_reconnection`)",
            example = "active",
        ),
        (
            "profile_id" = Option<u64>,
            Query,
            minimum = 1,
            maximum = 9_007_199_254_740_991_i64,
            description = "Only accounts of this profile",
        ),
    ),
    responses((status = 200, body = ConnectionList, description = "The connections"), Refused, Invalid),
    security(("token" = [])),
)]
pub(crate) async fn list_connections(
    caller: Caller<ConnectionsRead>,
    State(app): State<App>,
    params: Params,
) -> ApiResult<Json<ConnectionList>> {
    let mut fields = params.fields(&["provider", "status", "profile_id"]);
    let provider = fields.text("provider").value();
    let status = match fields.text("status").value().as_deref() {
        None => None,
        Some("active") => Some(StatusFilter::Active),
        Some("needs_reconnection") => Some(StatusFilter::NeedsReconnection),
        Some(_) => {
            fields.add("status", "must be active or needs_reconnection");
            None
        }
    };
    let profile = api::profile_filter(&mut fields);
    fields.finish(())?;

    let connections = app.api.store.connections(caller.owner).await?;
    let data = connections
        .iter()
        .filter(|it| provider.as_ref().is_none_or(|provider| *provider == it.provider))
        .filter(|it| status.is_none_or(|status| (status == StatusFilter::NeedsReconnection) == it.needs_reconnection))
        .filter(|it| profile.is_none_or(|id| it.of_profile.as_ref().is_some_and(|it| it.profile_id == id)))
        .map(connection_view)
        .collect();
    Ok(Json(ConnectionList { data }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::Harness;

    #[tokio::test]
    async fn filters_choose_by_platform_and_state() {
        let harness = Harness::new().await;
        let (one, two) = (harness.connect("1").await, harness.connect("2").await);
        harness.lose_grant(one).await;
        let ids = async |query: &str| {
            let answer = harness.get(&format!("/api/v1/connections{query}")).await;
            let data = answer.body["data"].as_array().unwrap().clone();
            data.iter().map(|it| it["id"].as_u64().unwrap()).collect::<Vec<_>>()
        };

        assert_eq!(ids("").await, [one, two]);
        assert_eq!(ids("?status=active").await, [two]);
        assert_eq!(ids("?status=needs_reconnection&provider=plain").await, [one]);
        assert_eq!(ids("?status=&provider=").await, [one, two]);
        assert!(ids("?provider=asking").await.is_empty());
        let wrong = harness.get("/api/v1/connections?status=broken").await;
        assert_eq!(
            (wrong.status, &wrong.body["errors"]["status"]),
            (422, &json!(["status must be active or needs_reconnection"]))
        );
    }
}
