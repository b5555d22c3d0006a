use api::openapi::{CONNECTIONS, Invalid, Refused};
use api::scope_guard::ConnectionsRead;
use api::{ApiResult, Caller, Params};
use axum::Json;
use axum::extract::State;
use contract::PlatformList;
use futures::future::join_all;

use crate::App;
use crate::response::platform_view;

/// Lists the platforms with their options, rules and form fields.
#[utoipa::path(
    get,
    path = "/api/v1/platforms",
    tag = CONNECTIONS,
    operation_id = "platform.index",
    summary = "List platforms",
    responses((status = 200, body = PlatformList, description = "The platforms"), Refused, Invalid),
    security(("token" = [])),
)]
pub(crate) async fn list_platforms(
    _: Caller<ConnectionsRead>,
    State(app): State<App>,
    params: Params,
) -> ApiResult<Json<PlatformList>> {
    params.none()?;
    let data = join_all(platforms::platform_infos().iter().map(|it| platform_view(it, &app))).await;
    Ok(Json(PlatformList { data }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::Harness;

    #[tokio::test]
    async fn platforms_are_listed_with_their_options() {
        let harness = Harness::new().await;

        let listed = harness.get("/api/v1/platforms").await.body["data"].clone();

        let mastodon = listed.as_array().unwrap().iter().find(|it| it["name"] == "mastodon").unwrap();
        assert_eq!((&mastodon["title"], &mastodon["access"]), (&json!("Mastodon"), &json!("open")));
        // This test has other platforms set up.
        assert_eq!((&mastodon["usable"], &mastodon["fields"]), (&json!(false), &json!([])));
        assert_eq!(mastodon["missing"], json!(["settings"]));
        let visibility = &mastodon["options"]["properties"]["visibility"];
        assert_eq!(visibility["enum"], json!(["public", "unlisted", "private"]));
        assert_eq!(harness.get("/api/v1/platforms?name=x").await.status, 422);
    }
}
