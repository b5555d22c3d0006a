//! Connect links: their storage, and the connect flows that they start.

use std::collections::BTreeSet;

use domain::connect_flow::{ConnectFlow, FlowLink, FlowOwner, FlowState};
use domain::connect_link::{ConnectLink, LinkError};
use domain::connection::Connection;
use domain::token;
use platforms::Connect;
use secrecy::{ExposeSecret, SecretString};
use storage::WriteRetries;

use crate::{ConnectFlows, ConnectingError, StartedFlow};

/// Attempts of a transition. Each conflict is a change of the link, which few requests make at once.
const MAX_ATTEMPTS: u32 = 30;

#[derive(Clone)]
pub struct LoadedLink {
    pub key: String,
    pub link: ConnectLink,
}

/// A flow of the link leads back to this page.
pub fn link_accounts_path(key: &str) -> String {
    format!("/connect-links/{key}/accounts")
}

#[derive(Default)]
pub struct LinkAccounts {
    /// Without connections that were deleted since.
    pub connections: Vec<Connection>,
    pub left_out: Option<String>,
}

impl ConnectFlows {
    /// Returns the secret of the link.
    pub async fn create_link(&self, link: &ConnectLink) -> Result<SecretString, ConnectingError> {
        let secret = token::random_token();
        self.store.put_connect_link(&token::hash(secret.expose_secret()), link).await?;
        Ok(secret)
    }

    /// If the link has changed since it was read, the transition is decided again for the changed
    /// link.
    pub async fn change_link(
        &self,
        loaded: LoadedLink,
        transition: impl Fn(ConnectLink) -> Result<ConnectLink, LinkError>,
    ) -> Result<Result<LoadedLink, LinkError>, ConnectingError> {
        let LoadedLink { key, mut link } = loaded;
        let mut retries = WriteRetries::without_waits(MAX_ATTEMPTS);
        loop {
            let revision = link.revision;
            let after = match transition(link) {
                Ok(after) => after,
                Err(error) => return Ok(Err(error)),
            };
            if self.store.replace_connect_link(&key, revision, &after).await?.is_applied() {
                return Ok(Ok(LoadedLink { key, link: after }));
            }
            retries.next_attempt().await?;
            link = self.store.connect_link(&key).await?.ok_or(ConnectingError::UnknownFlow)?;
        }
    }

    pub async fn start_from_link(
        &self,
        loaded: LoadedLink,
        browser: &FlowOwner,
        platform: &dyn Connect,
    ) -> Result<Result<StartedFlow, LinkError>, ConnectingError> {
        let user = loaded.link.user_id;
        if let Some(reason) = self.plan_limit_reached(user, platform.name()).await? {
            return Ok(Ok(StartedFlow::OverPlan(reason)));
        }
        let (state_token, now) = (token::random_token(), self.clock.now());
        let hash = token::hash(state_token.expose_secret());
        let LoadedLink { key, link } = match self.change_link(loaded, |it| it.start_flow(browser, &hash, now)).await? {
            Ok(changed) => changed,
            Err(error) => return Ok(Err(error)),
        };
        let flow = ConnectFlow {
            owner: Some(browser.clone()),
            link: Some(FlowLink { key, remembered_until: link.remembered_until() }),
            of_profile: Some(link.of_profile),
            ..ConnectFlow::start(user, platform.name().to_owned(), now)
        };
        self.begin(platform, state_token, flow).await.map(Ok)
    }

    pub async fn connected_with(&self, link: &ConnectLink) -> Result<LinkAccounts, ConnectingError> {
        if link.flows.is_empty() {
            return Ok(LinkAccounts::default());
        }
        let mut flows = self.store.connect_flows(&link.flows).await?;
        flows.sort_by_key(|it| it.created_at);
        let ids: BTreeSet<_> = flows.iter().flat_map(ConnectFlow::connections).collect();
        let mut connections = self.store.connections_by_id(link.owner(), ids).await?;
        connections.sort_by_key(|it| it.connection_id);
        let last = flows.pop().filter(|it| it.state == FlowState::Completed);
        Ok(LinkAccounts { connections, left_out: last.and_then(|it| it.reason) })
    }
}
