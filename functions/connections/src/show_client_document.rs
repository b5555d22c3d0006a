//! `GET /connect/client/{platform}`: the OAuth client document that a platform reads.

use api::{ApiError, ApiResult, Segments};
use axum::Json;
use axum::extract::{RawQuery, State};
use serde_json::Value;

use crate::App;

/// For platforms at which clients are not registered. The query selects one of several documents.
pub(crate) async fn show_client_document(
    Segments(name): Segments<String>,
    RawQuery(query): RawQuery,
    State(app): State<App>,
) -> ApiResult<Json<Value>> {
    let platform = app.platforms.get(&name).ok_or(ApiError::NotFound)?;
    let mut urls = app.addresses(platform);
    if let Some(query) = query.filter(|it| !it.is_empty()) {
        urls.client_document = format!("{}?{query}", urls.client_document);
    }
    match platform.client_document(&urls).await {
        Ok(Some(document)) => Ok(Json(document)),
        Ok(None) => Err(ApiError::NotFound),
        Err(not_now) => {
            tracing::error!(%not_now, platform = name, "the client document could not be created");
            Err(ApiError::Unavailable)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::Harness;

    #[tokio::test]
    async fn client_document_is_public() {
        let harness = Harness::new().await;
        let found = harness.get("/connect/client/asking").await;
        assert_eq!(found.body, json!({"client_id": "https://social.example/connect/client/asking"}));
        let other = harness.get("/connect/client/asking?scope=more").await;
        assert_eq!(other.body, json!({"client_id": "https://social.example/connect/client/asking?scope=more"}));
        assert_eq!(harness.get("/connect/client/plain").await.status, 404);
        assert_eq!(harness.get("/connect/client/nowhere").await.status, 404);
    }
}
