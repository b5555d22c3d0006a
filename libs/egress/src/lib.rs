//! Calls to hosts that users name.
//!
//! A user must not reach what only we can reach: the Runtime API on loopback,
//! metadata services, private networks. So every URL and address is checked,
//! and no connection is made but to an address that was.

mod address;
mod clients;
mod refusal;
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
pub use self::refusal::Refusal;

/// The ports of the web. At others there are services that were never meant to
/// hear from us, such as mail servers and databases.
const PORTS: [u16; 4] = [80, 443, 8080, 8443];

/// The HTTP clients for hosts that users name.
///
/// A clone shares them. Each is made at its first use, because that reads all of
/// the machine's root certificates, and most processes need few of the clients.
#[derive(Clone, Debug)]
pub struct Egress {
    policy: AddressPolicy,
    clients: Arc<Clients>,
}

/// Which schemes a URL may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schemes {
    /// http and https: for files that users give us.
    Any,
    /// https, and http only to the exceptions of the policy: for servers that
    /// are given credentials.
    Encrypted,
}

impl Egress {
    /// Clients that connect to these addresses only. `build` sets what the
    /// caller decides: timeouts, the user agent, the pool.
    pub fn new(policy: AddressPolicy, build: fn() -> ClientBuilder) -> Self {
        let clients = Arc::new(Clients::new(&policy, build));
        Self { policy, clients }
    }

    /// The client that may call this URL, or why it may not be called.
    ///
    /// Use it for this URL only: if another one names an address instead of a
    /// host, that address was not checked. Redirects are not followed; ask again
    /// for each one's target.
    pub fn client(&self, url: &Url, schemes: Schemes) -> Result<&Client, Refusal> {
        let only_exceptions = match (url.scheme(), schemes) {
            ("https", _) | ("http", Schemes::Any) => false,
            ("http", Schemes::Encrypted) => true,
            _ => return Err(Refusal::Scheme),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refusal::Credentials);
        }
        let port = url.port_or_known_default().filter(|it| *it != 0).ok_or(Refusal::Port)?;
        let is_of_the_web = PORTS.contains(&port) || self.policy.excepted_ports().any(|it| it == port);
        // A literal address has to be checked here, because it never reaches the
        // resolver.
        match literal(url)? {
            Some(address) if only_exceptions && !self.policy.excepts(address, port) => Err(Refusal::Scheme),
            Some(address) if !self.policy.permits(address, Some(port)) => Err(Refusal::NotPublic),
            _ if !is_of_the_web => Err(Refusal::Port),
            _ => self.clients.of(port, only_exceptions),
        }
    }

    /// Why our resolver refused the URL's host, if that is why a call failed.
    pub fn refusal(error: &reqwest::Error) -> Option<Refusal> {
        let mut cause = error.source();
        while let Some(inner) = cause {
            if let Some(refusal) = inner.downcast_ref::<Refusal>() {
                return Some(*refusal);
            }
            cause = inner.source();
        }
        None
    }
}

/// The address that the host of a URL is, if it is no name.
fn literal(url: &Url) -> Result<Option<IpAddr>, Refusal> {
    Ok(match url.host().ok_or(Refusal::NotAUrl)? {
        Host::Ipv4(address) => Some(address.into()),
        Host::Ipv6(address) => Some(address.into()),
        Host::Domain(_) => None,
    })
}
