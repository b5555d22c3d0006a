//! Errors of the start, and of the API call that verifies a token.

use client::InvalidBaseUrl;
use http::header::InvalidHeaderValue;

#[derive(Debug, thiserror::Error)]
pub enum McpError {
    #[error("the API origin is not usable: {0}")]
    ApiOrigin(#[from] InvalidBaseUrl),
    #[error("the origin is not a valid header value: {0}")]
    Origin(InvalidHeaderValue),
    #[error("the proof is not a valid header value")]
    Proof(#[source] InvalidHeaderValue),
    #[error("the API does not respond")]
    NoResponse(#[from] reqwest::Error),
}
