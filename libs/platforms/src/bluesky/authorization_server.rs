//! The server that issues tokens for an account's server.
//!
//! Facts: a PDS names its authorization server, which may be another origin; that server's metadata
//! must name the server as the issuer.

use http::{Method, StatusCode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use url::Url;

use super::reply::{Reply, ReplyError};
use crate::connect_flow::ConnectError;
use crate::http_clients::HttpClients;

/// RFC 8414.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct AuthorizationServer {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: Url,
    pub(super) pushed_authorization_request_endpoint: Url,
    pub(super) token_endpoint: Url,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) revocation_endpoint: Option<Url>,
}

/// RFC 9728.
#[derive(Deserialize)]
pub(super) struct ProtectedResource {
    resource: Url,
    pub(super) authorization_servers: Vec<Url>,
}

impl AuthorizationServer {
    pub(super) async fn for_pds(http: &HttpClients, pds: &Url) -> Result<Self, ConnectError> {
        let resource: ProtectedResource = document(http, pds, "/.well-known/oauth-protected-resource").await?;
        match resource.authorization_servers.as_slice() {
            [server] if resource.resource.origin() == pds.origin() => Self::at(http, server).await,
            _ => Err(ConnectError::Unreachable),
        }
    }

    pub(super) async fn at(http: &HttpClients, server: &Url) -> Result<Self, ConnectError> {
        let found: Self = document(http, server, "/.well-known/oauth-authorization-server").await?;
        // A server that names another issuer wants a response that is meant for that issuer.
        if found.issuer != server.origin().ascii_serialization() {
            return Err(ConnectError::Refused(
                "the account's authorization server names another server as the issuer".to_owned(),
            ));
        }
        Ok(found)
    }
}

async fn document<T: DeserializeOwned>(http: &HttpClients, server: &Url, path: &str) -> Result<T, ConnectError> {
    let url = server.join(path).map_err(|_| ConnectError::Unreachable)?;
    let reply = Reply::to(http.request_named_host(Method::GET, url).map_err(ReplyError::from)?).await?;
    match reply.status {
        StatusCode::OK => reply.json().ok_or(ConnectError::Unreachable),
        _ => Err(ConnectError::Unreachable),
    }
}
