//! Errors of the library, for clients and people.

use api::ApiError;
use api::page::PageError;
use http::StatusCode;
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

pub(crate) fn page_error(error: WebhooksError) -> PageError {
    match error {
        WebhooksError::Storage(error) => error.into(),
        other => {
            tracing::error!(error = %other, "webhook form failed");
            let text = "Something failed on our side. Try again.";
            PageError::new(StatusCode::INTERNAL_SERVER_ERROR, "The webhook was not created", text)
        }
    }
}
