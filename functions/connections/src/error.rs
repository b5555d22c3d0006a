//! Errors of this function, and their responses to clients, pages and adapters.

use api::page::{AccountPage, PageError};
use api::{ApiError, PermitError};
use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use cloud::seal::SealError;
use connecting::ConnectingError;
use domain::delivery::AttemptError;
use domain::id::ConnectionId;
use domain::validation_errors::ValidationErrors;
use platforms::DependencyError;
use storage::StorageError;

/// In seconds.
const AGAIN_AFTER: u64 = 30;

/// In seconds. A platform may name any wait.
const LONGEST_WAIT: i64 = 24 * 60 * 60;

#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectionsError {
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Seal(#[from] SealError),
    #[error(transparent)]
    Connecting(ConnectingError),
    #[error("secret of the vault is unreadable")]
    UnreadableSecret,
    /// The platform returned a page that browsers cannot open.
    #[error("the platform's page has an invalid URL")]
    InvalidUrl,
    #[error("platform {name} unsupported")]
    UnsupportedPlatform { name: String, enabled: Vec<&'static str> },
    #[error("connect flow not found")]
    UnknownFlow,
    #[error("connect flow expired")]
    ExpiredFlow,
    /// The connection does not exist or belongs to another user, or the platform lists no values for
    /// the option.
    #[error("option without listed values")]
    UnknownOption,
    /// The connection or the post does not exist or belongs to another user, or the platform asks for no consent.
    #[error("post without consent")]
    NoConsent,
    #[error("search for values invalid")]
    InvalidQuery(ValidationErrors),
    #[error(transparent)]
    Permit(#[from] PermitError),
    /// The platform, by its title, no longer accepts the grant.
    #[error("grant at {title} lost")]
    LostGrant { title: String },
    #[error("credentials of connection {connection_id}: {source}")]
    Credentials { connection_id: ConnectionId, source: ConnectingError },
    /// The platform, by its title, listed no values. `wait` is in seconds.
    #[error("{title} {reason}")]
    NotListed { title: String, reason: &'static str, wait: u64 },
}

impl From<ConnectingError> for ConnectionsError {
    fn from(error: ConnectingError) -> Self {
        match error {
            ConnectingError::Storage(error) => Self::Storage(error),
            ConnectingError::UnknownFlow => Self::UnknownFlow,
            error => Self::Connecting(error),
        }
    }
}

impl ConnectionsError {
    pub(crate) fn not_listed(title: &str, error: &AttemptError, now: DateTime<Utc>) -> Self {
        let (reason, wait) = match error {
            AttemptError::RetryLater { retry_at, .. } => {
                let wait = retry_at.map(|it| (it - now).num_seconds().clamp(1, LONGEST_WAIT).unsigned_abs());
                ("cannot list the values at the moment", wait.unwrap_or(AGAIN_AFTER))
            }
            AttemptError::Unauthorized { .. } => ("does not accept this connection at the moment", AGAIN_AFTER),
            _ => ("did not list the values", AGAIN_AFTER),
        };
        Self::NotListed { title: title.to_owned(), reason, wait }
    }

    pub(crate) fn timed_out(title: &str) -> Self {
        Self::NotListed { title: title.to_owned(), reason: "did not respond in time", wait: AGAIN_AFTER }
    }
}

impl From<ConnectionsError> for ApiError {
    fn from(error: ConnectionsError) -> Self {
        let oauth = |status, error, description| Self::OAuth { status, error, description };
        match error {
            ConnectionsError::Storage(error) => error.into(),
            ConnectionsError::Seal(_)
            | ConnectionsError::Connecting(_)
            | ConnectionsError::UnreadableSecret
            | ConnectionsError::InvalidUrl => {
                tracing::error!(%error, "a connect flow failed");
                Self::Internal
            }
            ConnectionsError::UnsupportedPlatform { name, enabled } => {
                let description = unsupported_platform(&name, &enabled);
                oauth(StatusCode::UNPROCESSABLE_ENTITY, "unsupported_platform", description)
            }
            ConnectionsError::UnknownFlow => {
                let description = "This connection request does not exist. Start a new one.".to_owned();
                oauth(StatusCode::NOT_FOUND, "not_found", description)
            }
            ConnectionsError::ExpiredFlow => {
                let description = "The connection request has expired. Start a new one.".to_owned();
                oauth(StatusCode::GONE, "expired", description)
            }
            ConnectionsError::UnknownOption | ConnectionsError::NoConsent => Self::NotFound,
            ConnectionsError::InvalidQuery(errors) => errors.into(),
            ConnectionsError::Permit(refusal) => refusal.into(),
            ConnectionsError::LostGrant { title } => {
                Self::Conflict(format!("{title} no longer accepts this connection. Reconnect the account"))
            }
            ConnectionsError::Credentials { connection_id, source } => {
                tracing::error!(error = %source, %connection_id, "there are no credentials to list choices with");
                Self::Internal
            }
            ConnectionsError::NotListed { title, reason, wait } => {
                Self::Later { message: format!("{title} {reason}. Try again in {wait} s"), wait }
            }
        }
    }
}

fn unsupported_platform(name: &str, enabled: &[&str]) -> String {
    let usable = if enabled.is_empty() {
        "No platform is set up in this deployment. Ask the operator to add one.".to_owned()
    } else {
        format!("Use one of: {}.", enabled.join(", "))
    };
    match platforms::platform_infos().iter().find(|it| it.name == name) {
        Some(known) => format!(
            "{} is not set up in this deployment. Ask the operator to add it, as docs/platforms/{name}.md describes. {usable}",
            known.title
        ),
        None => format!("There is no platform \"{}\". {usable}", name.chars().take(50).collect::<String>()),
    }
}

impl From<ConnectionsError> for PageError {
    fn from(error: ConnectionsError) -> Self {
        let connections = |page: Self| page.with_link(AccountPage::Connections.path(), "Go to your connections");
        match error {
            ConnectionsError::Storage(error) => error.into(),
            ConnectionsError::Permit(refusal) => refusal.into(),
            ConnectionsError::UnknownOption => {
                let text =
                    "The account is disconnected or belongs to another user, or the option has no list of values.";
                connections(Self::new(StatusCode::NOT_FOUND, "Values not found", text))
            }
            ConnectionsError::NoConsent => {
                let text = "The post was deleted, the account is disconnected, or the platform asks for no consent.";
                Self::new(StatusCode::NOT_FOUND, "Page not found", text).with_link("/account/posts", "Go to your posts")
            }
            ConnectionsError::InvalidQuery(errors) => {
                let text = format!("Go back and change the search: {}", errors.summary());
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "The search is not valid", text)
            }
            ConnectionsError::LostGrant { title } => {
                let text = format!("{title} no longer accepts this connection. Reconnect it, then reload this page.");
                connections(Self::new(StatusCode::CONFLICT, "Reconnect the account", text))
            }
            ConnectionsError::NotListed { title, reason, wait } => {
                let text = format!("Reload this page in {wait} s.");
                let page = Self::new(StatusCode::SERVICE_UNAVAILABLE, format!("{title} {reason}"), text);
                page.with_retry_after(wait)
            }
            error => {
                tracing::error!(%error, "request for a page failed");
                let text = "Start over in the app or on the page that you came from.";
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "Something went wrong on our side", text)
            }
        }
    }
}

impl From<ConnectionsError> for DependencyError {
    fn from(error: ConnectionsError) -> Self {
        tracing::error!(%error, "the vault could not be used");
        Self
    }
}
