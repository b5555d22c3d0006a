//! Why a file was not fetched.

use std::error::Error;
use std::time::Duration;

use domain::media::human_size;
use egress::{Egress, Refusal};

/// Why a file was not fetched, in words for the user who gave the URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// It does not parse.
    #[error("this is not a URL")]
    NotAUrl,
    /// Another scheme, here or behind a redirect.
    #[error("only http and https URLs can be fetched")]
    Scheme,
    /// `user:password@` before the host.
    #[error("a URL with a user name or password cannot be fetched")]
    Credentials,
    /// Another port than those of the web.
    #[error("a URL with this port cannot be fetched: use 80, 443, 8080 or 8443")]
    Port,
    /// An address that not everybody can reach.
    #[error("the address of this URL is not public")]
    NotPublic,
    /// The name has no address.
    #[error("the host of this URL was not found")]
    UnknownHost,
    /// No connection, or none with a valid certificate.
    #[error("the server of this URL could not be reached")]
    Unreachable,
    /// The answer ended before it was whole, or was none.
    #[error("the server broke off its answer")]
    Interrupted,
    /// Neither the file nor a redirect that can be followed.
    #[error("the server answered {0}")]
    Status(u16),
    /// More than five.
    #[error("too many redirects")]
    TooManyRedirects,
    /// By its own word or by count.
    #[error("the file is larger than {}", human_size(*max_bytes))]
    TooLarge {
        /// The most that was allowed.
        max_bytes: u64,
    },
    /// The deadline came before the last byte.
    #[error("the download took longer than {} seconds", timeout.as_secs_f64())]
    TooSlow {
        /// The time that was allowed.
        timeout: Duration,
    },
}

impl FetchError {
    /// What a failure of the HTTP client means. If our resolver refused the
    /// host, its reason is the answer.
    pub(super) fn from_client(error: reqwest::Error) -> Self {
        if let Some(refusal) = Egress::refusal(&error) {
            return refusal.into();
        }
        // Users' URLs may carry signatures.
        let error = error.without_url();
        tracing::info!(error = &error as &dyn Error, "a file could not be fetched");
        if error.is_builder() {
            Self::NotAUrl
        } else if error.is_connect() {
            Self::Unreachable
        } else {
            Self::Interrupted
        }
    }
}

impl From<Refusal> for FetchError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NotAUrl => Self::NotAUrl,
            Refusal::Scheme => Self::Scheme,
            Refusal::Credentials => Self::Credentials,
            Refusal::Port => Self::Port,
            Refusal::NotPublic => Self::NotPublic,
            Refusal::UnknownHost => Self::UnknownHost,
            Refusal::Broken => Self::Unreachable,
        }
    }
}
