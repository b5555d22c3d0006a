//! Who somebody is: from what they type to their server.
//!
//! Facts: an account is its DID, for ever; a handle leads to a DID, and counts
//! only if the DID's document names it, too; the document also names the
//! account's server.

use std::error::Error as StdError;
use std::sync::Arc;

use atrium_api::did_doc::DidDocument;
use atrium_api::types::string::{Did, Handle};
use atrium_common::resolver::Resolver;
use atrium_identity::Error;
use atrium_identity::did::{CommonDidResolver, CommonDidResolverConfig};
use atrium_identity::handle::{
    AppViewHandleResolver, AppViewHandleResolverConfig, WellKnownHandleResolver, WellKnownHandleResolverConfig,
};
use atrium_xrpc::HttpClient;
use http::{Request, Response, StatusCode};
use outbound::Refusal;
use serde::{Deserialize, Serialize};
use url::{Origin, Url};

use super::typed::Name;
use super::wire::{SHORT, Silence, Wire};

/// Somebody, and where their account is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) did: Did,
    /// The one that was typed, or that their document names; `None` when that
    /// one does not lead back to them.
    pub(super) handle: Option<Handle>,
    /// Their server.
    pub(super) pds: Url,
}

/// Why nobody was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unknown {
    #[error("Nobody has this handle. Look it up on your profile and type all of it, such as alice.bsky.social.")]
    Nobody,
    #[error("The account that this handle leads to goes by another one. Use the handle that your profile shows.")]
    NotTheirs,
    #[error("This account has no server that can be called.")]
    NoServer,
    #[error("The DID document of this account cannot be read. Ask whoever keeps its server, or use another account.")]
    Unreadable,
    #[error("The server that this leads to is not called: {0}. Use an account whose server everybody can reach.")]
    NotCalled(Refusal),
    /// Nobody could be asked.
    #[error("who this is could not be looked up")]
    Unreachable,
}

/// The directories in which people are looked up.
pub(super) struct Directory {
    by_did: CommonDidResolver<Caller>,
    by_handle: AppViewHandleResolver<Caller>,
    at_handle: WellKnownHandleResolver<Caller>,
}

impl Directory {
    /// `plc` knows the DIDs of most people, `resolver` their handles.
    pub(super) fn new(wire: &Arc<Wire>, plc: &Url, resolver: &Url) -> Self {
        let known = [plc.origin(), resolver.origin()];
        let http_client = Arc::new(Caller { wire: wire.clone(), known });
        let url = |it: &Url| it.origin().ascii_serialization();
        Self {
            by_did: CommonDidResolver::new(CommonDidResolverConfig {
                plc_directory_url: url(plc),
                http_client: http_client.clone(),
            }),
            by_handle: AppViewHandleResolver::new(AppViewHandleResolverConfig {
                service_url: url(resolver),
                http_client: http_client.clone(),
            }),
            at_handle: WellKnownHandleResolver::new(WellKnownHandleResolverConfig { http_client }),
        }
    }

    /// Who has this name.
    pub(super) async fn find(&self, name: &Name) -> Result<Identity, Unknown> {
        let (did, typed) = match name {
            Name::Did(did) => (did.clone(), None),
            Name::Handle(handle) => (self.did(handle).await?, Some(handle)),
        };
        let document = self.by_did.resolve(&did).await.map_err(|error| why_no_document(&error))?;
        if document.id != did.as_str() {
            return Err(Unknown::Nobody);
        }
        let handle = match typed {
            Some(handle) if names(&document, handle) => Some(handle.clone()),
            Some(_) => return Err(Unknown::NotTheirs),
            None => self.confirmed_handle(&document, &did).await,
        };
        let pds = document.get_pds_endpoint().and_then(|it| Url::parse(&it).ok()).ok_or(Unknown::NoServer)?;
        Ok(Identity { did, handle, pds })
    }

    /// The DID that a handle leads to. The resolver also reads the records of
    /// the name service; a server with the handle's name is asked only when it
    /// does not know.
    pub(super) async fn did(&self, handle: &Handle) -> Result<Did, Unknown> {
        let asked = match self.by_handle.resolve(handle).await {
            Ok(did) => return Ok(did),
            Err(error) => why(&error),
        };
        // What this one fails with says little: most handles are no servers.
        self.at_handle.resolve(handle).await.map_err(|_| asked)
    }

    async fn confirmed_handle(&self, document: &DidDocument, did: &Did) -> Option<Handle> {
        let handle = document.also_known_as.iter().flatten().find_map(|it| it.strip_prefix("at://")?.parse().ok())?;
        self.did(&handle).await.is_ok_and(|it| it == *did).then_some(handle)
    }
}

fn names(document: &DidDocument, handle: &Handle) -> bool {
    let mut names = document.also_known_as.iter().flatten().filter_map(|it| it.strip_prefix("at://"));
    names.any(|it| it.eq_ignore_ascii_case(handle))
}

fn why(error: &Error) -> Unknown {
    match error {
        Error::HttpStatus(StatusCode::TOO_MANY_REQUESTS) => Unknown::Unreachable,
        Error::HttpStatus(status) if status.is_client_error() => Unknown::Nobody,
        Error::UnsupportedDidMethod(_) | Error::Did(_) | Error::Uri(_) | Error::Http(_) => Unknown::Nobody,
        _ => Unknown::Unreachable,
    }
}

/// The same of the document of a DID, which somebody wrote and keeps somewhere.
fn why_no_document(error: &Error) -> Unknown {
    match error {
        Error::SerdeJson(_) | Error::DidDocument(_) => Unknown::Unreadable,
        Error::HttpClient(cause) => match cause.downcast_ref::<Silence>() {
            Some(Silence::Refused(refusal)) => Unknown::NotCalled(*refusal),
            _ => Unknown::Unreachable,
        },
        _ => why(error),
    }
}

/// How the resolvers call: with our client, so that no name leads them to
/// where only we can go, and with its bounds.
struct Caller {
    wire: Arc<Wire>,
    known: [Origin; 2],
}

impl HttpClient for Caller {
    async fn send_http(
        &self,
        request: Request<Vec<u8>>,
    ) -> Result<Response<Vec<u8>>, Box<dyn StdError + Send + Sync + 'static>> {
        let (head, body) = request.into_parts();
        let url = Url::parse(&head.uri.to_string())?;
        let ours = self.known.contains(&url.origin());
        let call = if ours { self.wire.to_known(head.method, url) } else { self.wire.to_named(head.method, url) };
        let reply = self.wire.send(call?.headers(head.headers).body(body).timeout(SHORT)).await;
        let reply = reply.map_err(|it: Silence| Box::new(it))?;
        let mut response = Response::new(reply.body);
        *response.status_mut() = reply.status;
        Ok(response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_a_broken_document_is_not_told_to_try_again() {
        let broken = serde_json::from_str::<DidDocument>("<html>").unwrap_err();
        assert_eq!(why_no_document(&Error::SerdeJson(broken)), Unknown::Unreadable);
        let silent = |silence: Silence| why_no_document(&Error::HttpClient(Box::new(silence)));
        assert_eq!(silent(Silence::Refused(Refusal::NotPublic)), Unknown::NotCalled(Refusal::NotPublic));
        assert_eq!(silent(Silence::TooSlow), Unknown::Unreachable);
        // What the resolver of handles answers is not theirs to mend.
        let broken = serde_json::from_str::<DidDocument>("<html>").unwrap_err();
        assert_eq!(why(&Error::SerdeJson(broken)), Unknown::Unreachable);
    }
}
