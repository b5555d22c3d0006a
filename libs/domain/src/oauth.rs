//! OAuth clients that request access by authorization code: client ids, redirect URIs, and PKCE.

mod challenge;
mod client_id;
mod redirect_uri;
mod resource;

pub use challenge::Challenge;
pub use client_id::ClientId;
pub use redirect_uri::RedirectUri;
pub use resource::Resource;

use url::{Host, Url};

const MAX_BYTES: usize = 1024;

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Parses a URL that has no hidden or ambiguous parts: nothing that a parser would change or drop.
fn plain(raw: &str) -> Option<Url> {
    // The URL parser drops characters that are not graphic.
    if MAX_BYTES < raw.len() || !raw.bytes().all(|it| it.is_ascii_graphic()) {
        return None;
    }
    let url = Url::parse(raw).ok()?;
    let is_plain = url.has_host() && url.fragment().is_none() && url.username().is_empty() && url.password().is_none();
    is_plain.then_some(url)
}
