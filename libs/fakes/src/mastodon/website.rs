//! The website of a domain in account addresses, whose server has another host.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{Html, IntoResponse, Response};
use http::{StatusCode, header};

use super::finger::{descriptor, host_descriptor};
use crate::fake::wire;

/// How a website refers to the server of its accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountDiscovery {
    /// Redirects `WebFinger`, as Mastodon's documentation advises.
    WebFinger,
    /// Redirects host-meta only.
    HostMeta,
    /// Answers `WebFinger` from a file.
    WebFingerFile,
    /// Answers host-meta from a file.
    HostMetaFile,
}

/// Paths other than those of account discovery return an HTML page.
pub struct Website {
    address: SocketAddr,
    way: SharedRedirect,
}

type SharedRedirect = Arc<Mutex<Option<(AccountDiscovery, String)>>>;

impl Website {
    /// Starts a website that refers to no server.
    pub async fn start() -> Self {
        let redirect = SharedRedirect::default();
        let router = Router::new().fallback(respond).with_state(Arc::clone(&redirect));
        Self { address: wire::serve(router).await, way: redirect }
    }

    pub fn leads_to(&self, method: AccountDiscovery, base_url: &str) {
        *self.way.lock().expect("no handler panicked") = Some((method, base_url.to_owned()));
    }

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
