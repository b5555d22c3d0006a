//! The connect flow: how a user lets us act for an account.

use std::collections::BTreeMap;

use domain::delivery::AttemptError;
use domain::token;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::account::Account;

/// Something that an adapter has to know before the platform's authorization page
/// can be shown: a server, a handle, a bot token.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The input's name.
    pub name: &'static str,
    /// What the person reads above it, with `{redirect_uri}` where ours is to be entered somewhere.
    pub label: &'static str,
    /// What an answer looks like.
    pub example: &'static str,
    /// Whether what is typed is hidden.
    pub secret: bool,
    /// Whether it may stay empty, and what that means; the same goes here.
    pub optional: Option<&'static str>,
}

/// What stands in a label or a hint for our redirect URI, which a person has to enter
/// somewhere.
const REDIRECT_URI: &str = "{redirect_uri}";

impl Field {
    /// The label, with our addresses.
    pub fn label_at(&self, here: &CallbackUrls) -> String {
        self.label.replace(REDIRECT_URI, &here.redirect_uri)
    }

    /// What it means to leave it empty, with our addresses.
    pub fn hint_at(&self, here: &CallbackUrls) -> Option<String> {
        self.optional.map(|it| it.replace(REDIRECT_URI, &here.redirect_uri))
    }

    /// A field that everybody may see and everybody has to fill in.
    pub const fn new(name: &'static str, label: &'static str, example: &'static str) -> Self {
        Self { name, label, example, secret: false, optional: None }
    }
}

/// What the person typed, by field name.
pub type FieldValues = BTreeMap<String, SecretString>;

/// Our side of an authorization request.
#[derive(Clone, Debug)]
pub struct AuthorizationRequest {
    /// Comes back with the platform's answer.
    pub state: SecretString,
    /// Where the platform finds us.
    pub urls: CallbackUrls,
    /// The S256 challenge of the verifier that [`Callback`] brings.
    pub challenge: String,
}

/// Where a platform finds this service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallbackUrls {
    /// Such as `https://social.example`.
    pub origin: String,
    /// Where the platform sends the person afterwards.
    pub redirect_uri: String,
    /// Where `Connect::client_document` is served; with a query, another one.
    pub client_document: String,
}

impl CallbackUrls {
    /// Those of a service at this origin, for one platform.
    pub fn of(origin: &str, platform: &str) -> Self {
        Self {
            origin: origin.to_owned(),
            redirect_uri: format!("{origin}/connect/callback/{platform}"),
            client_document: format!("{origin}/connect/client/{platform}"),
        }
    }

    /// These, with a redirect URI for one of the servers that users name.
    ///
    /// A server that shares its redirect URI with others can have the code of
    /// another one brought to a connect flow of its own, and be sent it (mix-up
    /// attack: RFC 9700, section 4.4.2.2).
    #[must_use]
    pub fn for_server(&self, origin: &str) -> Self {
        Self { redirect_uri: self.redirect_uri_of(&token::hash(origin)), ..self.clone() }
    }

    /// The redirect URI with this name of a server at its end.
    #[must_use]
    pub fn redirect_uri_of(&self, server: &str) -> String {
        format!("{}/{server}", self.redirect_uri)
    }
}

/// How a connect flow goes on once it has begun.
#[derive(Clone, Debug)]
pub enum AuthorizeStep {
    /// The person goes to the platform's own page.
    Redirect {
        /// Its address.
        url: String,
        /// What the adapter needs again when the person is back, as
        /// [`Callback::adapter_state`]; kept sealed.
        memory: Option<SecretString>,
    },
    /// The person approves somewhere from where nobody is sent back to us: in an
    /// app, or on another device. `Connect::poll` tells when they have.
    WaitForApproval {
        /// What the person has to do.
        instructions: Instructions,
        /// What the adapter needs to ask about it, as [`PendingApproval::adapter_state`]; kept
        /// sealed.
        memory: Option<SecretString>,
    },
    /// What the person typed was enough: the accounts, at least one.
    Accounts(Vec<Account>),
}

/// What a person reads while we wait for an approval that they give elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instructions {
    /// What to do, in a sentence or two.
    pub text: String,
    /// Where it is done. What is no address of the web is not shown.
    pub url: Option<String>,
    /// What is to be typed in there.
    pub code: Option<String>,
}

/// An approval that is waited for.
#[derive(Clone, Debug)]
pub struct PendingApproval {
    /// The PKCE verifier of the request.
    pub verifier: SecretString,
    /// The same as in the request.
    pub urls: CallbackUrls,
    /// What [`AuthorizeStep::WaitForApproval`] asked to remember.
    pub adapter_state: Option<SecretString>,
}

/// How an approval stands.
#[derive(Clone, Debug)]
pub enum Approval {
    /// The person has not decided yet.
    Pending,
    /// The accounts that it covers, at least one.
    Approved(Vec<Account>),
}

/// The platform's answer.
#[derive(Clone, Debug)]
pub struct Callback {
    /// Everything the platform put into the query.
    pub query: BTreeMap<String, String>,
    /// The address at which it arrived, without the query.
    pub arrived_at: String,
    /// The PKCE verifier of the request.
    pub verifier: SecretString,
    /// The same as in the request.
    pub urls: CallbackUrls,
    /// What [`AuthorizeStep::Redirect`] asked to remember.
    pub adapter_state: Option<SecretString>,
}

impl Callback {
    /// Refuses an answer that arrived at another redirect URI than the one that
    /// was asked for. Every adapter asks this before it reads the answer.
    pub(crate) fn check_arrival(&self, asked_for: &CallbackUrls) -> Result<(), ConnectError> {
        if self.arrived_at == asked_for.redirect_uri { Ok(()) } else { Err(ConnectError::from_another_server()) }
    }
}

/// Why a connect flow ends without an account. Shown to the person.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ConnectError {
    /// The person said no.
    #[error("access was denied on the platform's page")]
    Denied,
    /// An answer to a [`Field`] is wrong; it can be given again.
    #[error("{message}")]
    Field { name: &'static str, message: String },
    /// The platform did not play along.
    #[error("the platform refused: {0}")]
    Refused(String),
    /// This deployment is not where the platform can use it: what its operator does.
    #[error("{0}")]
    Unsupported(String),
    /// The platform could not be reached or answered nonsense.
    #[error("the platform did not answer as expected; try again in a few minutes")]
    Unreachable,
}

impl ConnectError {
    /// An answer that is not of the server that was asked.
    pub(crate) fn from_another_server() -> Self {
        Self::Refused("the answer came from another server".to_owned())
    }
}

/// Why credentials were not renewed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefreshError {
    /// The platform says that the grant is gone.
    #[error("the grant is gone: {0}")]
    Gone(String),
    /// A passing failure; the old credentials may still work.
    #[error("the platform could not be asked: {0}")]
    Unreachable(String),
}

impl From<RefreshError> for AttemptError {
    fn from(refusal: RefreshError) -> Self {
        match refusal {
            RefreshError::Gone(reason) => Self::Unauthorized { reason },
            RefreshError::Unreachable(reason) => Self::RetryLater { retry_at: None, reason },
        }
    }
}
