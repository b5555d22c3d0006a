//! Starts a connect flow, and its authorization at the platform.

use std::time::Duration;

use domain::connect_flow::{ConnectFlow, Guests};
use domain::id::UserId;
use domain::profile::ProfileRef;
use domain::token::{self, Pkce};
use platforms::{Account, AuthorizationRequest, AuthorizeStep, Connect, ConnectError, FieldValues, Instructions};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::{ConnectFlows, ConnectingError};

/// For the calls that one submission of a form makes.
pub(crate) const SUBMIT_TIMEOUT: Duration = Duration::from_secs(18);

pub enum StartedFlow {
    /// Ours or the platform's.
    Started {
        state_token: SecretString,
        page: String,
    },
    OverPlan(String),
}

/// Sealed and stored while the user is on the platform's page or approves in an app.
#[derive(Serialize, Deserialize)]
pub(crate) struct PendingAuthorization {
    pub(crate) verifier: String,
    pub(crate) memory: Option<String>,
    /// The host that the user named. Calls to it need a permit.
    pub(crate) host: Option<String>,
    /// The instruction for the user to approve; `None` when the platform redirects to us instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) instructions: Option<Instructions>,
}

pub(crate) enum AuthorizeOutcome {
    /// The user goes to the platform's page. `sealed` is stored until the callback.
    Redirect {
        url: String,
        sealed: Vec<u8>,
    },
    /// The user approves in an app or on another device. `sealed` is stored until then.
    WaitForApproval {
        sealed: Vec<u8>,
    },
    Accounts(Vec<Account>),
    Failed(ConnectError),
}

impl ConnectFlows {
    /// `of_profile` is `None` for the user's own accounts.
    pub async fn start(
        &self,
        user: UserId,
        of_profile: Option<ProfileRef>,
        platform: &dyn Connect,
    ) -> Result<StartedFlow, ConnectingError> {
        if let Some(reason) = self.plan_limit_reached(user, platform.name()).await? {
            return Ok(StartedFlow::OverPlan(reason));
        }
        let started = ConnectFlow::start(user, platform.name().to_owned(), self.clock.now());
        self.begin(platform, token::random_token(), ConnectFlow { of_profile, ..started }).await
    }

    pub(crate) async fn begin(
        &self,
        platform: &dyn Connect,
        state_token: SecretString,
        started: ConnectFlow,
    ) -> Result<StartedFlow, ConnectingError> {
        let (flow, page) = self.first_page(platform, &state_token, started).await?;
        self.store.begin_connect_flow(&token::hash(state_token.expose_secret()), &flow).await?;
        Ok(StartedFlow::Started { state_token, page })
    }

    /// The page to which the user is sent: the platform's, or ours when the platform needs field
    /// values or is unreachable, and when a guest may continue, who must first read who the
    /// recipient is. The page of a connect link has named the recipient.
    async fn first_page(
        &self,
        platform: &dyn Connect,
        state_token: &SecretString,
        flow: ConnectFlow,
    ) -> Result<(ConnectFlow, String), ConnectingError> {
        let our_page = self.page_url(state_token);
        let names_recipient_first = flow.link.is_none() && self.guests == Guests::Permitted;
        if !platform.fields().is_empty() || names_recipient_first {
            return Ok((flow, our_page));
        }
        // Not the time after the call: a slow platform would use up the flow before it is stored.
        let now = flow.created_at;
        let owner = flow.owner.clone();
        let moved_on = |_| ConnectingError::UnknownFlow;
        match self.authorize(platform, state_token, &FieldValues::new()).await? {
            AuthorizeOutcome::Redirect { url, sealed } => {
                Ok((flow.await_callback(owner.as_ref(), sealed, now).map_err(moved_on)?, url))
            }
            AuthorizeOutcome::WaitForApproval { sealed } => {
                Ok((flow.await_approval(owner.as_ref(), sealed, now).map_err(moved_on)?, our_page))
            }
            AuthorizeOutcome::Accounts(_) => {
                tracing::error!(
                    platform = platform.name(),
                    "a platform returned an account before it had field values"
                );
                Ok((flow, our_page))
            }
            AuthorizeOutcome::Failed(error) => {
                tracing::warn!(%error, platform = platform.name(), "a connect flow could not start at the platform");
                Ok((flow, our_page))
            }
        }
    }

    pub(crate) async fn authorize(
        &self,
        platform: &dyn Connect,
        state_token: &SecretString,
        field_values: &FieldValues,
    ) -> Result<AuthorizeOutcome, ConnectingError> {
        let pkce = Pkce::random();
        let urls = self.callback_urls(platform);
        let request = AuthorizationRequest { state: state_token.clone(), urls, challenge: pkce.challenge };
        let call = platform.authorize(field_values, &request, self.clock.now());
        let (url, instructions, adapter_state) = match within(SUBMIT_TIMEOUT, call).await {
            Ok(AuthorizeStep::Redirect { url, memory: adapter_state }) => (Some(url), None, adapter_state),
            Ok(AuthorizeStep::WaitForApproval { instructions, memory: adapter_state }) => {
                (None, Some(instructions), adapter_state)
            }
            Ok(AuthorizeStep::Accounts(accounts)) => return Ok(AuthorizeOutcome::Accounts(accounts)),
            Err(error) => return Ok(AuthorizeOutcome::Failed(error)),
        };
        let pending = PendingAuthorization {
            verifier: pkce.verifier.expose_secret().to_owned(),
            memory: adapter_state.map(|it| it.expose_secret().to_owned()),
            host: platform.named_host(field_values),
            instructions,
        };
        let sealed = self.seal(&token::hash(state_token.expose_secret()), &pending).await?;
        Ok(match url {
            Some(url) => AuthorizeOutcome::Redirect { url, sealed },
            None => AuthorizeOutcome::WaitForApproval { sealed },
        })
    }
}

/// The platform's response, or `Unreachable` after this time.
pub(crate) async fn within<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, ConnectError>>,
) -> Result<T, ConnectError> {
    timeout(limit, call).await.unwrap_or(Err(ConnectError::Unreachable))
}
