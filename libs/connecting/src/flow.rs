//! Finds connect flows and writes their transitions.

use std::net::IpAddr;
use std::sync::Arc;

use cloud::events::EventBus;
use cloud::seal::Sealer;
use domain::clock::Clock;
use domain::connect_flow::{ConnectFlow, FlowStateError, Guests};
use domain::id::Ids;
use domain::plan::Plans;
use domain::token;
use platforms::{CallbackUrls, Connect, Registry};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use storage::{Store, WriteRetries, connect_flow_context};

use crate::ConnectingError;

/// Attempts of a transition. Each conflict is a change of the flow, and a flow has at most ten
/// submissions, so this many are not needed.
const MAX_ATTEMPTS: u32 = 30;

#[derive(Clone)]
pub struct ConnectFlows {
    pub store: Store,
    pub platforms: Registry<dyn Connect>,
    pub sealer: Arc<dyn Sealer>,
    pub events: Arc<dyn EventBus>,
    pub clock: Clock,
    pub ids: Ids,
    pub plans: Plans,
    pub guests: Guests,
    /// Where our pages are, such as `https://social.example`.
    pub origin: String,
}

#[derive(Clone)]
pub struct LoadedFlow {
    pub state_token: SecretString,
    pub hash: String,
    pub flow: ConnectFlow,
    /// The IP address of the browser or of the client that polls.
    pub address: IpAddr,
}

pub(crate) enum Changed<E> {
    Written(Box<LoadedFlow>),
    /// The flow, as it is now, does not permit the transition. Nothing was written.
    Rejected(E),
}

impl ConnectFlows {
    /// `None` when the flow does not exist or is no longer remembered.
    pub async fn find(&self, state_token: String, address: IpAddr) -> Result<Option<LoadedFlow>, ConnectingError> {
        let (hash, now) = (token::hash(&state_token), self.clock.now());
        let found = self.store.connect_flow(&hash).await?.filter(|it| it.is_remembered(now));
        Ok(found.map(|flow| LoadedFlow { state_token: state_token.into(), hash, flow, address }))
    }

    pub(crate) fn page_url(&self, state_token: &SecretString) -> String {
        format!("{}/connect/{}", self.origin, state_token.expose_secret())
    }

    pub(crate) fn callback_urls(&self, platform: &dyn Connect) -> CallbackUrls {
        CallbackUrls::new(&self.origin, platform.name())
    }

    /// Writes a transition. If the flow has changed since it was read, the transition is decided
    /// again for the changed flow.
    pub(crate) async fn change<E>(
        &self,
        loaded: &LoadedFlow,
        transition: impl Fn(ConnectFlow) -> Result<ConnectFlow, E>,
    ) -> Result<Changed<E>, ConnectingError> {
        let mut before = loaded.flow.clone();
        let mut retries = WriteRetries::without_waits(MAX_ATTEMPTS);
        loop {
            let after = match transition(before.clone()) {
                Ok(after) => after,
                Err(error) => return Ok(Changed::Rejected(error)),
            };
            if self.store.replace_connect_flow(&loaded.hash, &before, &after).await?.is_applied() {
                return Ok(Changed::Written(Box::new(LoadedFlow { flow: after, ..loaded.clone() })));
            }
            retries.next_attempt().await?;
            before = self.store.connect_flow(&loaded.hash).await?.ok_or(ConnectingError::UnknownFlow)?;
        }
    }

    /// Like [`ConnectFlows::change`], for a transition that a late or repeated request may not
    /// make; `None` if the flow does not permit it.
    pub(crate) async fn advance(
        &self,
        loaded: &LoadedFlow,
        transition: impl Fn(ConnectFlow) -> Result<ConnectFlow, FlowStateError>,
    ) -> Result<Option<LoadedFlow>, ConnectingError> {
        Ok(match self.change(loaded, transition).await? {
            Changed::Written(changed) => Some(*changed),
            Changed::Rejected(FlowStateError) => None,
        })
    }

    /// Ends a flow without an account, in any open state.
    pub(crate) async fn fail(&self, loaded: &LoadedFlow, reason: &str) -> Result<(), ConnectingError> {
        let now = self.clock.now();
        self.advance(loaded, |it| it.fail(reason, now)).await.map(drop)
    }

    pub(crate) async fn seal<T: Serialize>(&self, hash: &str, data: &T) -> Result<Vec<u8>, ConnectingError> {
        let plain = serde_json::to_vec(data).map_err(|_| ConnectingError::UnreadableState)?;
        Ok(self.sealer.seal(&plain, &connect_flow_context(hash)).await?)
    }

    pub(crate) async fn open<T: DeserializeOwned>(&self, loaded: &LoadedFlow) -> Result<T, ConnectingError> {
        let sealed = loaded.flow.sealed.as_ref().ok_or(ConnectingError::UnreadableState)?;
        let plain = self.sealer.open(sealed, &connect_flow_context(&loaded.hash)).await?;
        serde_json::from_slice(&plain).map_err(|_| ConnectingError::UnreadableState)
    }
}
