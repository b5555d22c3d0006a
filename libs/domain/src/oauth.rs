//! Programs that ask for access by the authorization code of OAuth: who they
//! are, where their users are sent back to, and what binds a code to them.

mod challenge;
mod client_id;
mod redirect_uri;
mod resource;

pub use challenge::Challenge;
pub use client_id::ClientId;
pub use redirect_uri::RedirectUri;
pub use resource::Resource;

use url::{Host, Url};

/// The longest address of a client, in bytes.
const MAX_BYTES: usize = 1024;

/// Whether a URL leads to a program on the machine of whoever opens it.
fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// A URL that is written as it is meant: nothing in it is hidden, and nothing is
/// sent that is no part of an address.
fn plain(raw: &str) -> Option<Url> {
    // A parser of URLs takes out what is not graphic.
    if MAX_BYTES < raw.len() || !raw.bytes().all(|it| it.is_ascii_graphic()) {
        return None;
    }
    let url = Url::parse(raw).ok()?;
    let is_plain = url.has_host() && url.fragment().is_none() && url.username().is_empty() && url.password().is_none();
    is_plain.then_some(url)
}
