//! `GET /connect/client/{platform}`: what a platform reads about this service.

use api::{ApiError, ApiResult, Segments};
use axum::Json;
use axum::extract::{RawQuery, State};
use serde_json::Value;

use crate::App;

/// Answers the document that describes this service as an OAuth client, for
/// platforms at which clients are not registered. One that has several tells them
/// apart by the query.
pub(crate) async fn show_client_document(
    Segments(name): Segments<String>,
    RawQuery(query): RawQuery,
    State(app): State<App>,
) -> ApiResult<Json<Value>> {
    let platform = app.platforms.get(&name).ok_or(ApiError::NotFound)?;
    let mut here = app.addresses(platform);
    if let Some(query) = query.filter(|it| !it.is_empty()) {
        here.client_document = format!("{}?{query}", here.client_document);
    }
    match platform.client_document(&here).await {
        Ok(Some(document)) => Ok(Json(document)),
        Ok(None) => Err(ApiError::NotFound),
        Err(not_now) => {
            tracing::error!(%not_now, platform = name, "the document about this service could not be made");
            Err(ApiError::Unavailable)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::Harness;

    #[tokio::test]
    async fn a_platform_finds_its_document_about_us_without_a_token() {
        let world = Harness::new().await;
        let found = world.get("/connect/client/asking").await;
        assert_eq!(found.body, json!({"client_id": "https://social.example/connect/client/asking"}));
        let other = world.get("/connect/client/asking?scope=more").await;
        assert_eq!(other.body, json!({"client_id": "https://social.example/connect/client/asking?scope=more"}));
        assert_eq!(world.get("/connect/client/plain").await.status, 404);
        assert_eq!(world.get("/connect/client/nowhere").await.status, 404);
    }
}
