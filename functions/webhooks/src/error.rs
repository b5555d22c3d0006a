//! Errors of the library, for clients.

use api::ApiError;
use webhook_delivery::WebhooksError;

pub(crate) fn api_error(error: WebhooksError) -> ApiError {
    match error {
        WebhooksError::Storage(error) => error.into(),
        other => {
            tracing::error!(error = %other, "webhook request failed");
            ApiError::Internal
        }
    }
}
