use std::error::Error;
use std::time::Duration;

use crate::{Egress, EgressError};

/// Why a file was not fetched. The message is shown to the user who provided the URL; of a file
/// that is [too large](Self::TooLarge), the caller may state the limit in a larger unit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    #[error("the URL is invalid")]
    NotAUrl,
    /// A scheme other than http and https, in the URL or in a redirect.
    #[error("only http and https URLs can be fetched")]
    Scheme,
    /// `user:password@` before the host.
    #[error("the URL contains a username or password; remove it")]
    Credentials,
    /// A port other than those of the web.
    #[error("the port of the URL is not permitted; use 80, 443, 8080 or 8443")]
    Port,
    #[error("the address of the URL is not public")]
    NotPublic,
    #[error("the host of the URL was not found")]
    UnknownHost,
    /// No connection, or none with a valid certificate.
    #[error("the server could not be reached")]
    Unreachable,
    #[error("the connection closed before the whole file arrived")]
    Interrupted,
    /// The status is neither a success nor a redirect that can be followed.
    #[error("the server returned {0}")]
    Status(u16),
    /// More than five.
    #[error("too many redirects")]
    TooManyRedirects,
    /// By `Content-Length`, or by the number of bytes received.
    #[error("the file is larger than {max_bytes} bytes")]
    TooLarge { max_bytes: u64 },
    #[error("the download took longer than {} seconds", timeout.as_secs_f64())]
    Timeout { timeout: Duration },
}

impl FetchError {
    /// If our resolver refused the host, that is the reason.
    pub(super) fn from_client(error: reqwest::Error) -> Self {
        if let Some(refusal) = Egress::refusal(&error) {
            return refusal.into();
        }
        // Users' URLs may contain signatures, so they are not logged.
        let error = error.without_url();
        tracing::info!(error = &error as &dyn Error, "fetching a file failed");
        if error.is_builder() {
            Self::NotAUrl
        } else if error.is_connect() {
            Self::Unreachable
        } else {
            Self::Interrupted
        }
    }
}

impl From<EgressError> for FetchError {
    fn from(refusal: EgressError) -> Self {
        match refusal {
            EgressError::NotAUrl => Self::NotAUrl,
            EgressError::Scheme => Self::Scheme,
            EgressError::Credentials => Self::Credentials,
            EgressError::Port => Self::Port,
            EgressError::NotPublic => Self::NotPublic,
            EgressError::UnknownHost => Self::UnknownHost,
            EgressError::Broken => Self::Unreachable,
        }
    }
}
