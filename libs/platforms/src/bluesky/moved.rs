//! Accounts that move from one server to another, and keep their DID.
//!
//! Facts: the DID leads to the new server from then on, and the old one goes on
//! without the account. A grant lives on where the new server listens to the same
//! authorization server, as all of Bluesky's own do.

use std::time::Duration;

use tokio::time::timeout;
use url::Url;

use super::authorization_server::AuthorizationServer;
use super::host::host_of;
use super::identity::Directory;
use super::session::{Kind, Session};
use crate::http_clients::HttpClients;

/// For finding out. It is asked beside a renewal, and nothing waits for it longer.
const LOOK_UP: Duration = Duration::from_secs(10);

/// Where an account has moved.
pub(super) struct Moved {
    pub(super) server: Url,
    /// Whether its grant goes on there.
    pub(super) grant_goes_on: bool,
}

impl Moved {
    /// Whether this account has moved since it was connected. An account that cannot
    /// be looked up has not.
    pub(super) async fn of(http: &HttpClients, directory: &Directory, session: &Session) -> Option<Self> {
        timeout(LOOK_UP, Self::look_up(http, directory, session)).await.ok().flatten()
    }

    async fn look_up(http: &HttpClients, directory: &Directory, session: &Session) -> Option<Self> {
        let server = directory.server_of(&session.did).await.ok()?;
        if server.origin() == session.pds.origin() {
            return None;
        }
        let grant_goes_on = match &session.kind {
            Kind::AppPassword => false,
            Kind::Oauth(grant) => {
                // A server that does not answer is asked again at the next renewal.
                AuthorizationServer::of_pds(http, &server).await.ok()?.issuer == grant.server.issuer
            }
        };
        Some(Self { server, grant_goes_on })
    }

    /// For the user.
    pub(super) fn words(&self) -> String {
        format!("the account has moved to the server {}", host_of(&self.server))
    }
}
