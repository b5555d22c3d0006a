//! The website of a domain that names accounts, while their server is elsewhere.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{Html, IntoResponse, Response};
use http::{StatusCode, header};

use super::finger::{descriptor, host_descriptor};
use crate::fake::wire;

/// How a website tells where its accounts are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountDiscovery {
    /// It redirects `WebFinger`, as Mastodon's documentation advises.
    WebFinger,
    /// It redirects host-meta alone.
    HostMeta,
    /// It answers `WebFinger` itself, out of a file.
    WebFingerFile,
    /// It answers host-meta itself, out of a file.
    HostMetaFile,
}

/// A website. It has a page for people at every other address.
pub struct Website {
    address: SocketAddr,
    way: SharedRedirect,
}

type SharedRedirect = Arc<Mutex<Option<(AccountDiscovery, String)>>>;

impl Website {
    /// Starts one that tells of no server.
    pub async fn start() -> Self {
        let redirect = SharedRedirect::default();
        let router = Router::new().fallback(respond).with_state(Arc::clone(&redirect));
        Self { address: wire::serve(router).await, way: redirect }
    }

    /// From now on it tells that its accounts are at this address.
    pub fn leads_to(&self, method: AccountDiscovery, base_url: &str) {
        *self.way.lock().expect("no handler panicked") = Some((method, base_url.to_owned()));
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

async fn respond(State(redirect): State<SharedRedirect>, request: Request) -> Response {
    let uri = request.uri();
    let redirect = redirect.lock().expect("no handler panicked").clone();
    let on = |base: &str| (StatusCode::MOVED_PERMANENTLY, [(header::LOCATION, format!("{base}{uri}"))]).into_response();
    match (uri.path(), redirect) {
        ("/.well-known/webfinger", Some((AccountDiscovery::WebFinger, base)))
        | ("/.well-known/host-meta", Some((AccountDiscovery::HostMeta, base))) => on(&base),
        ("/.well-known/webfinger", Some((AccountDiscovery::WebFingerFile, base))) => {
            descriptor("acct:keeper@somewhere", &base)
        }
        ("/.well-known/host-meta", Some((AccountDiscovery::HostMetaFile, base))) => host_descriptor(&base),
        ("/", _) => Html("<!DOCTYPE html>\n<html><body>Welcome!</body></html>\n").into_response(),
        _ => (StatusCode::NOT_FOUND, Html("<!DOCTYPE html>\n<html><body>No such page</body></html>\n")).into_response(),
    }
}
