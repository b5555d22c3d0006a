//! Types of the connect flow: from the form of an adapter to the connected accounts.

use std::collections::BTreeMap;

use domain::delivery::AttemptError;
use domain::token;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::account::Account;

/// Filled in before the platform's authorization page can be opened, such as a server, a handle or
/// a bot token.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    pub name: &'static str,
    /// Shown above the input. `{redirect_uri}` is replaced by our redirect URI, which some
    /// platforms require the user to enter.
    pub label: &'static str,
    pub example: &'static str,
    pub secret: bool,
    /// `None` if the field is required, else a hint that explains an empty value. It may have
    /// `{redirect_uri}`, too.
    pub optional: Option<&'static str>,
}

const REDIRECT_URI: &str = "{redirect_uri}";

impl Field {
    pub fn label_for(&self, urls: &CallbackUrls) -> String {
        self.label.replace(REDIRECT_URI, &urls.redirect_uri)
    }

    pub fn hint_for(&self, urls: &CallbackUrls) -> Option<String> {
        self.optional.map(|it| it.replace(REDIRECT_URI, &urls.redirect_uri))
    }

    pub const fn new(name: &'static str, label: &'static str, example: &'static str) -> Self {
        Self { name, label, example, secret: false, optional: None }
    }
}

/// By field name.
pub type FieldValues = BTreeMap<String, SecretString>;

#[derive(Clone, Debug)]
pub struct AuthorizationRequest {
    pub state: SecretString,
    pub urls: CallbackUrls,
    /// The S256 challenge of the verifier in [`Callback`].
    pub challenge: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallbackUrls {
    /// Such as `https://social.example`.
    pub origin: String,
    pub redirect_uri: String,
    /// Where `Connect::client_document` is served; with a query, another document.
    pub client_document: String,
}

impl CallbackUrls {
    pub fn new(origin: &str, platform: &str) -> Self {
        Self {
            origin: origin.to_owned(),
            redirect_uri: format!("{origin}/connect/callback/{platform}"),
            client_document: format!("{origin}/connect/client/{platform}"),
        }
    }

    /// These URLs with a redirect URI of its own for a server that a user named.
    ///
    /// If servers shared a redirect URI, a malicious one could start a connect flow of its own and
    /// receive the code of another server (mix-up attack: RFC 9700, section 4.4.2.2).
    #[must_use]
    pub fn for_server(&self, origin: &str) -> Self {
        Self { redirect_uri: self.redirect_uri_for(&token::hash(origin)), ..self.clone() }
    }

    #[must_use]
    pub fn redirect_uri_for(&self, server: &str) -> String {
        format!("{}/{server}", self.redirect_uri)
    }
}

#[derive(Clone, Debug)]
pub enum AuthorizeStep {
    Redirect {
        url: String,
        /// State that the adapter needs in the callback, as [`Callback::adapter_state`]. Stored
        /// encrypted.
        memory: Option<SecretString>,
    },
    /// The user approves where nothing redirects to us: in an app, or on another device.
    WaitForApproval {
        instructions: Instructions,
        /// State that the adapter needs to poll, as [`PendingApproval::adapter_state`]. Stored
        /// encrypted.
        memory: Option<SecretString>,
    },
    /// The form values were sufficient. At least one account.
    Accounts(Vec<Account>),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instructions {
    /// One or two sentences.
    pub text: String,
    /// Where the user approves. Shown only if it is a web URL.
    pub url: Option<String>,
    pub code: Option<String>,
}

#[derive(Clone, Debug)]
pub struct PendingApproval {
    pub verifier: SecretString,
    /// Those of the authorization request.
    pub urls: CallbackUrls,
    /// The `memory` of [`AuthorizeStep::WaitForApproval`].
    pub adapter_state: Option<SecretString>,
}

#[derive(Clone, Debug)]
pub enum Approval {
    Pending,
    /// At least one account.
    Approved(Vec<Account>),
}

#[derive(Clone, Debug)]
pub struct Callback {
    pub query: BTreeMap<String, String>,
    /// The URL of the request, without the query.
    pub arrived_at: String,
    pub verifier: SecretString,
    /// Those of the authorization request.
    pub urls: CallbackUrls,
    /// The `memory` of [`AuthorizeStep::Redirect`].
    pub adapter_state: Option<SecretString>,
}

impl Callback {
    /// Refuses a callback that arrived at another redirect URI than the requested one. Every
    /// adapter checks this before it reads the callback.
    pub(crate) fn check_redirect_uri(&self, requested: &CallbackUrls) -> Result<(), ConnectError> {
        if self.arrived_at == requested.redirect_uri { Ok(()) } else { Err(ConnectError::from_another_server()) }
    }
}

/// The user reads it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("access was denied on the platform's page")]
    Denied,
    /// The value of a [`Field`] is invalid; the user can correct it.
    #[error("{message}")]
    Field { name: &'static str, message: String },
    #[error("the account could not be connected: {0}")]
    Refused(String),
    /// The text says what the operator has to do.
    #[error("{0}")]
    Unsupported(String),
    #[error("the platform returned an unexpected response; try again in a few minutes")]
    Unreachable,
}

impl ConnectError {
    pub(crate) fn from_another_server() -> Self {
        Self::Refused("the response came from another server".to_owned())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefreshError {
    #[error("the grant has ended: {0}")]
    Gone(String),
    /// A temporary error; the old credentials may still work.
    #[error("the credentials could not be refreshed: {0}")]
    Unreachable(String),
}

impl From<RefreshError> for AttemptError {
    fn from(error: RefreshError) -> Self {
        match error {
            RefreshError::Gone(reason) => Self::Unauthorized { reason },
            RefreshError::Unreachable(reason) => Self::RetryLater { retry_at: None, reason },
        }
    }
}
