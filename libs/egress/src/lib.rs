//! HTTP clients for hosts that users name, see [`Egress`], and files from there, see [`fetch`].
//!
//! Prevents server-side request forgery: a user must not reach what only the service can reach
//! (the Lambda Runtime API on loopback, metadata services, private networks). Every URL and
//! address is checked, and clients connect only to checked addresses.

mod address;
mod clients;
mod error;
pub mod fetch;
mod resolver;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::net::IpAddr;
use std::sync::Arc;

use reqwest::{Client, ClientBuilder};
use url::{Host, Url};

pub use self::address::{AddressPolicy, is_public};
use self::clients::Clients;
pub use self::error::EgressError;

/// The ports of the web. Other ports belong to services such as mail servers and databases,
/// which a user must not reach through us.
const WEB_PORTS: [u16; 4] = [80, 443, 8080, 8443];

/// The HTTP clients for hosts that users name. Clones share them.
///
/// Each client is created at its first use, because creating one reads all root certificates of
/// the machine, and most processes need few clients.
#[derive(Clone, Debug)]
pub struct Egress {
    policy: AddressPolicy,
    clients: Arc<Clients>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schemes {
    /// http and https, for files.
    Any,
    /// https, and http only to the policy's exceptions, for servers that receive credentials.
    Encrypted,
}

impl Egress {
    /// `build` sets what the caller decides: timeouts, the user agent, the pool.
    pub fn new(policy: AddressPolicy, build: fn() -> ClientBuilder) -> Self {
        let clients = Arc::new(Clients::new(&policy, build));
        Self { policy, clients }
    }

    /// The client for this URL, or why the URL may not be called.
    ///
    /// Use the client for this URL only: another URL may name an IP address, which was not
    /// checked. The client follows no redirect; call this method again for its target.
    pub fn client(&self, url: &Url, schemes: Schemes) -> Result<&Client, EgressError> {
        let only_exceptions = match (url.scheme(), schemes) {
            ("https", _) | ("http", Schemes::Any) => false,
            ("http", Schemes::Encrypted) => true,
            _ => return Err(EgressError::Scheme),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(EgressError::Credentials);
        }
        let port = url.port_or_known_default().filter(|it| *it != 0).ok_or(EgressError::Port)?;
        let is_web_port = WEB_PORTS.contains(&port) || self.policy.excepted_ports().any(|it| it == port);
        // An IP address in the URL never reaches the resolver, so it is checked here.
        match literal_address(url)? {
            Some(address) if only_exceptions && !self.policy.is_exception(address, port) => Err(EgressError::Scheme),
            Some(address) if !self.policy.permits(address, Some(port)) => Err(EgressError::NotPublic),
            _ if !is_web_port => Err(EgressError::Port),
            _ => self.clients.for_port(port, only_exceptions),
        }
    }

    /// `None` if the call failed for another reason.
    pub fn refusal(error: &reqwest::Error) -> Option<EgressError> {
        let mut cause = error.source();
        while let Some(inner) = cause {
            if let Some(refusal) = inner.downcast_ref::<EgressError>() {
                return Some(*refusal);
            }
            cause = inner.source();
        }
        None
    }
}

/// `None` if the host is a name.
fn literal_address(url: &Url) -> Result<Option<IpAddr>, EgressError> {
    Ok(match url.host().ok_or(EgressError::NotAUrl)? {
        Host::Ipv4(address) => Some(address.into()),
        Host::Ipv6(address) => Some(address.into()),
        Host::Domain(_) => None,
    })
}
