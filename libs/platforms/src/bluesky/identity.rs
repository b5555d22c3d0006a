//! Finding an account and its server by a handle or DID.
//!
//! Facts: an account keeps its DID forever. A handle resolves to a DID, and is valid only if the
//! document of that DID also names the handle. The document names the account's server, too.

use egress::EgressError;
use http::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::names::{Did, Handle};
use super::reply::{Reply, ReplyError};
use super::typed::Name;
use crate::http_clients::HttpClients;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) did: Did,
    /// The handle that was typed, or else the one that the document names; `None` if that handle
    /// does not resolve back to the DID.
    pub(super) handle: Option<Handle>,
    pub(super) pds: Url,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum IdentityError {
    #[error("No account has this handle. Copy the full handle from your profile, such as alice.bsky.social.")]
    Nobody,
    #[error("The account of this handle now uses another handle. Type the handle that your profile shows.")]
    HandleMismatch,
    #[error("This account's DID document names no usable server. Use another account.")]
    InvalidServer,
    #[error("The DID document of this account cannot be read. Ask the operator of its server, or use another account.")]
    Unreadable,
    #[error("This service cannot call the account's server: {0}. Use an account on a publicly reachable server.")]
    Blocked(EgressError),
    #[error("the account could not be looked up")]
    Unreachable,
}

pub(super) struct Directory {
    http: HttpClients,
    plc: Url,
    resolver: Url,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DidDocument {
    id: String,
    also_known_as: Option<Vec<String>>,
    service: Option<Vec<Service>>,
}

#[derive(Deserialize)]
struct Service {
    id: String,
    r#type: Value,
    #[serde(rename = "serviceEndpoint")]
    endpoint: Value,
}

#[derive(Deserialize)]
pub(super) struct Resolved {
    pub(super) did: Did,
}

impl Directory {
    /// `plc` resolves most DIDs, `resolver` resolves handles.
    pub(super) fn new(http: &HttpClients, plc: &Url, resolver: &Url) -> Self {
        Self { http: http.clone(), plc: plc.clone(), resolver: resolver.clone() }
    }

    pub(super) async fn find(&self, name: &Name) -> Result<Identity, IdentityError> {
        let (did, typed) = match name {
            Name::Did(did) => (did.clone(), None),
            Name::Handle(handle) => (self.did(handle).await?, Some(handle)),
        };
        let document = self.document(&did).await?;
        if document.id != did.as_str() {
            return Err(IdentityError::Nobody);
        }
        let handle = match typed {
            Some(handle) if names(&document, handle) => Some(handle.clone()),
            Some(_) => return Err(IdentityError::HandleMismatch),
            None => self.confirmed_handle(&document, &did).await,
        };
        let pds = document.server().ok_or(IdentityError::InvalidServer)?;
        Ok(Identity { did, handle, pds })
    }

    pub(super) async fn resolve_pds(&self, did: &Did) -> Result<Url, IdentityError> {
        let document = self.document(did).await?;
        document.server().filter(|_| document.id == did.as_str()).ok_or(IdentityError::InvalidServer)
    }

    /// Resolves a handle. The resolver also reads DNS records; a server with the handle's name is
    /// asked only if the resolver does not know the handle.
    pub(super) async fn did(&self, handle: &Handle) -> Result<Did, IdentityError> {
        let resolver_error = match self.resolve_with_service(handle).await {
            Ok(did) => return Ok(did),
            Err(error) => error,
        };
        // The error of this second way says little: most handles have no server.
        self.resolve_at_host(handle).await.ok_or(resolver_error)
    }

    async fn resolve_with_service(&self, handle: &Handle) -> Result<Did, IdentityError> {
        let mut url =
            join_path(&self.resolver, "xrpc/com.atproto.identity.resolveHandle").ok_or(IdentityError::Unreachable)?;
        url.query_pairs_mut().append_pair("handle", handle);
        let call = self.http.request_known_host(Method::GET, url).map_err(|_| IdentityError::Unreachable)?;
        let reply = Reply::to(call).await.map_err(|_| IdentityError::Unreachable)?;
        check_status(&reply)?;
        reply.json::<Resolved>().map(|it| it.did).ok_or(IdentityError::Unreachable)
    }

    async fn resolve_at_host(&self, handle: &Handle) -> Option<Did> {
        let url = Url::parse(&format!("https://{handle}/.well-known/atproto-did")).ok()?;
        let call = self.http.request_named_host(Method::GET, url).ok()?;
        let reply = Reply::to(call).await.ok()?;
        check_status(&reply).ok()?;
        std::str::from_utf8(&reply.body).ok()?.trim().parse().ok()
    }

    /// The document of a DID, written by the DID's owner.
    async fn document(&self, did: &Did) -> Result<DidDocument, IdentityError> {
        let call = match did.parts() {
            ("plc", _) => {
                let url = join_path(&self.plc, did).ok_or(IdentityError::Nobody)?;
                self.http.request_known_host(Method::GET, url).map_err(ReplyError::from)
            }
            ("web", host) => {
                let host = host.replace("%3A", ":").replace("%3a", ":");
                let url =
                    Url::parse(&format!("https://{host}/.well-known/did.json")).map_err(|_| IdentityError::Nobody)?;
                self.http.request_named_host(Method::GET, url).map_err(ReplyError::from)
            }
            _ => return Err(IdentityError::Nobody),
        };
        let reply = match call {
            Ok(call) => Reply::to(call).await.map_err(identity_error)?,
            Err(reply_error) => return Err(identity_error(reply_error)),
        };
        check_status(&reply)?;
        reply.json().ok_or(IdentityError::Unreadable)
    }

    async fn confirmed_handle(&self, document: &DidDocument, did: &Did) -> Option<Handle> {
        let handle = document.also_known_as.iter().flatten().find_map(|it| it.strip_prefix("at://")?.parse().ok())?;
        self.did(&handle).await.is_ok_and(|it| it == *did).then_some(handle)
    }
}

fn names(document: &DidDocument, handle: &Handle) -> bool {
    let mut handles = document.also_known_as.iter().flatten().filter_map(|it| it.strip_prefix("at://"));
    handles.any(|it| it.eq_ignore_ascii_case(handle))
}

impl DidDocument {
    /// The account's server: the service with the id `#atproto_pds`.
    pub(super) fn server(&self) -> Option<Url> {
        let own = format!("{}#atproto_pds", self.id);
        let services = self.service.iter().flatten();
        let mut servers = services.filter(|it| it.id == "#atproto_pds" || it.id == own);
        let server = servers.find(|it| it.r#type == "AtprotoPersonalDataServer")?;
        Url::parse(server.endpoint.as_str()?).ok().filter(|it| it.path() == "/" && it.query().is_none())
    }
}

fn join_path(base: &Url, path: &str) -> Option<Url> {
    Url::parse(&format!("{}/{path}", base.as_str().trim_end_matches('/'))).ok()
}

fn check_status(reply: &Reply) -> Result<(), IdentityError> {
    match reply.status {
        status if status.is_success() => Ok(()),
        StatusCode::TOO_MANY_REQUESTS => Err(IdentityError::Unreachable),
        status if status.is_client_error() => Err(IdentityError::Nobody),
        _ => Err(IdentityError::Unreachable),
    }
}

fn identity_error(reply_error: ReplyError) -> IdentityError {
    match reply_error {
        ReplyError::Refused(refusal) => IdentityError::Blocked(refusal),
        _ => IdentityError::Unreachable,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn refused_address_and_silent_server_are_distinguished() {
        assert_eq!(
            identity_error(ReplyError::Refused(EgressError::NotPublic)),
            IdentityError::Blocked(EgressError::NotPublic)
        );
        assert_eq!(identity_error(ReplyError::Timeout), IdentityError::Unreachable);
    }

    #[test]
    fn pds_is_the_matching_service_of_the_did_document() {
        let server = |service: Value| {
            let document =
                json!({"@context": "x", "id": "did:plc:a", "alsoKnownAs": ["at://alice.test"], "service": service});
            serde_json::from_value::<DidDocument>(document).unwrap().server().map(String::from)
        };
        let service = |id: &str, kind: &str, at: Value| json!([{"id": id, "type": kind, "serviceEndpoint": at}]);
        let pds = "AtprotoPersonalDataServer";
        for id in ["#atproto_pds", "did:plc:a#atproto_pds"] {
            assert_eq!(server(service(id, pds, json!("https://pds.example"))).as_deref(), Some("https://pds.example/"));
        }
        assert_eq!(server(service("#other", pds, json!("https://pds.example"))), None);
        assert_eq!(server(service("#atproto_pds", "Other", json!("https://pds.example"))), None);
        assert_eq!(server(service("#atproto_pds", pds, json!({"uri": "https://pds.example"}))), None);
        assert_eq!(server(service("#atproto_pds", pds, json!("https://pds.example/path"))), None);
        assert_eq!(server(json!([])), None);
    }
}
