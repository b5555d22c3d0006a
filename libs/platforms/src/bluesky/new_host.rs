//! Accounts that move from one server to another and keep their DID.
//!
//! Facts: from then on the DID resolves to the new server, and the old server drops the account. A
//! grant stays valid if the new server has the same authorization server, as all of Bluesky's own
//! do.

use std::time::Duration;

use tokio::time::timeout;
use url::Url;

use super::authorization_server::AuthorizationServer;
use super::host::host_of;
use super::identity::Directory;
use super::session::{Kind, Session};
use crate::http_clients::HttpClients;

/// The timeout of the look-up, which runs next to a refresh and never delays it longer.
const LOOK_UP: Duration = Duration::from_secs(10);

pub(super) struct NewHost {
    pub(super) server: Url,
    pub(super) grant_goes_on: bool,
}

impl NewHost {
    /// `None` if the account has not moved since it was connected, or cannot be looked up.
    pub(super) async fn find(http: &HttpClients, directory: &Directory, session: &Session) -> Option<Self> {
        timeout(LOOK_UP, Self::look_up(http, directory, session)).await.ok().flatten()
    }

    async fn look_up(http: &HttpClients, directory: &Directory, session: &Session) -> Option<Self> {
        let server = directory.resolve_pds(&session.did).await.ok()?;
        if server.origin() == session.pds.origin() {
            return None;
        }
        let grant_goes_on = match &session.kind {
            Kind::AppPassword => false,
            Kind::Oauth(grant) => {
                // A server that does not respond is asked again at the next refresh.
                AuthorizationServer::for_pds(http, &server).await.ok()?.issuer == grant.server.issuer
            }
        };
        Some(Self { server, grant_goes_on })
    }

    pub(super) fn message(&self) -> String {
        format!("the account moved to the server {}", host_of(&self.server))
    }
}
