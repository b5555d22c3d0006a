//! The hand-off: how a user lets us act for an account.

use std::collections::BTreeMap;

use domain::delivery::Setback;
use secrecy::SecretString;

/// Something a platform has to know before its own authorization page can be
/// shown: a server, a handle, a bot token.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The input's name.
    pub name: &'static str,
    /// What the person reads above it.
    pub label: &'static str,
    /// What an answer looks like.
    pub example: &'static str,
    /// Whether what is typed is hidden.
    pub secret: bool,
}

/// What the person typed, by field name.
pub type Answers = BTreeMap<String, SecretString>;

/// Our side of an authorization request.
#[derive(Clone, Debug)]
pub struct AuthorizationRequest {
    /// Comes back with the platform's answer.
    pub state: SecretString,
    /// Where the platform sends the person afterwards.
    pub redirect_uri: String,
    /// The S256 challenge of the verifier that [`Callback`] brings.
    pub challenge: String,
}

/// Where the person goes next.
#[derive(Clone, Debug)]
pub struct Authorization {
    /// The platform's own page.
    pub url: String,
    /// What the adapter wants to see again in [`Callback::memory`]; kept sealed.
    pub memory: Option<SecretString>,
}

/// The platform's answer.
#[derive(Clone, Debug)]
pub struct Callback {
    /// Everything the platform put into the query.
    pub query: BTreeMap<String, String>,
    /// The PKCE verifier of the request.
    pub verifier: SecretString,
    /// The same as in the request.
    pub redirect_uri: String,
    /// What [`Authorization::memory`] was.
    pub memory: Option<SecretString>,
}

/// Why a hand-off ends without an account. Shown to the person.
#[derive(Clone, Debug, thiserror::Error)]
pub enum HandOffRefusal {
    /// The person said no.
    #[error("access was denied on the platform's page")]
    Denied,
    /// An answer to a [`Field`] is wrong; it can be given again.
    #[error("{message}")]
    Field {
        /// Which.
        name: &'static str,
        /// What to do.
        message: String,
    },
    /// The platform did not play along.
    #[error("the platform refused: {0}")]
    Refused(String),
    /// The platform could not be reached or answered nonsense.
    #[error("the platform did not answer as expected; try again in a few minutes")]
    Unreachable,
}

/// Why credentials were not renewed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefreshRefusal {
    /// The platform says that the grant is gone.
    #[error("the grant is gone: {0}")]
    Gone(String),
    /// A passing failure; the old credentials may still work.
    #[error("the platform could not be asked: {0}")]
    Unreachable(String),
}

impl From<RefreshRefusal> for Setback {
    fn from(refusal: RefreshRefusal) -> Self {
        match refusal {
            RefreshRefusal::Gone(reason) => Self::Disconnected { reason },
            RefreshRefusal::Unreachable(reason) => Self::Busy { retry_at: None, reason },
        }
    }
}
