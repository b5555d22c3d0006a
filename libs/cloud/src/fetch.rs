//! Fetching a file from a URL that a user gave us.
//!
//! The user must not reach what only we can reach: the Runtime API on loopback,
//! metadata services, private networks. So every hop's URL and address are
//! checked, and no connection is made but to an address that was.

mod address;
mod body;
mod deadline;
mod error;
mod resolver;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::header::LOCATION;
use reqwest::{Client, Response, redirect};
use url::{Host, Url};

pub use self::address::{AddressPolicy, is_public};
pub use self::body::FetchedBody;
use self::deadline::Deadline;
pub use self::error::FetchError;
use self::resolver::CheckedResolver;

/// How long a fetch may take from the first look-up to the last byte.
pub const FETCH_TIMEOUT: Duration = Duration::from_secs(25);

const MAX_REDIRECTS: usize = 5;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const USER_AGENT: &str = concat!("social-publishing/", env!("CARGO_PKG_VERSION"));

/// Fetches files from URLs that users gave us.
#[derive(Clone, Debug)]
pub struct Fetcher {
    policy: AddressPolicy,
    timeout: Duration,
    /// Made for the first fetch: they read all of the machine's root
    /// certificates, which nobody else need wait for.
    clients: Arc<OnceLock<Clients>>,
}

#[derive(Debug)]
struct Clients {
    /// For URLs whose port has no exception.
    any: Client,
    /// One for each port with an exception: a resolver is not told the port.
    by_port: HashMap<u16, Client>,
}

impl Fetcher {
    /// A fetcher that connects to these addresses only. `timeout` is for a
    /// whole fetch, see [`FETCH_TIMEOUT`].
    pub fn new(policy: AddressPolicy, timeout: Duration) -> Self {
        Self { policy, timeout, clients: Arc::default() }
    }

    /// Follows a URL to a file of at most `max_bytes` and opens it; what is
    /// read from it falls under the same deadline.
    pub async fn open(&self, url: &str, max_bytes: u64) -> Result<FetchedBody, FetchError> {
        let deadline = Deadline::after(self.timeout);
        let response = deadline.within(self.follow(url)).await?;
        FetchedBody::new(response, max_bytes, deadline)
    }

    async fn follow(&self, url: &str) -> Result<Response, FetchError> {
        let mut url = Url::parse(url).map_err(|_| FetchError::NotAUrl)?;
        for _ in 0..=MAX_REDIRECTS {
            let response = self.get(url.clone()).await?;
            let status = response.status();
            if status.is_success() {
                return Ok(response);
            }
            url = redirection(&url, &response).ok_or(FetchError::Status(status.as_u16()))?;
        }
        Err(FetchError::TooManyRedirects)
    }

    async fn get(&self, url: Url) -> Result<Response, FetchError> {
        let port = self.check(&url)?;
        let client = self.clients()?.of(port);
        client.get(url).send().await.map_err(FetchError::from_client)
    }

    fn clients(&self) -> Result<&Clients, FetchError> {
        if let Some(clients) = self.clients.get() {
            return Ok(clients);
        }
        let clients = Clients::new(&self.policy).map_err(|error| {
            tracing::error!(error = &error as &dyn std::error::Error, "the HTTP clients could not be made");
            FetchError::Unreachable
        })?;
        // Whoever was faster made the same.
        Ok(self.clients.get_or_init(|| clients))
    }

    /// What can be told without asking anybody; returns the port. A literal
    /// address is judged here, because it never reaches a resolver.
    fn check(&self, url: &Url) -> Result<u16, FetchError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(FetchError::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(FetchError::Credentials);
        }
        let port = url.port_or_known_default().filter(|it| *it != 0).ok_or(FetchError::Port)?;
        let literal = match url.host().ok_or(FetchError::NotAUrl)? {
            Host::Ipv4(address) => Some(address.into()),
            Host::Ipv6(address) => Some(address.into()),
            Host::Domain(_) => None,
        };
        match literal {
            Some(address) if !self.policy.permits(address, Some(port)) => Err(FetchError::NotPublic),
            _ => Ok(port),
        }
    }
}

impl Clients {
    /// Fails when the machine has no root certificates.
    fn new(policy: &AddressPolicy) -> Result<Self, reqwest::Error> {
        // Another client of this process may have installed it already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let by_port = policy
            .excepted_ports()
            .map(|port| Ok((port, client(CheckedResolver::new(policy.clone(), Some(port)))?)))
            .collect::<Result<_, _>>()?;
        Ok(Self { any: client(CheckedResolver::new(policy.clone(), None))?, by_port })
    }

    fn of(&self, port: u16) -> &Client {
        self.by_port.get(&port).unwrap_or(&self.any)
    }
}

fn client(resolver: CheckedResolver) -> Result<Client, reqwest::Error> {
    Client::builder()
        .dns_resolver(resolver)
        // Followed by hand, so that every hop is checked.
        .redirect(redirect::Policy::none())
        // A proxy would connect for us, to an address nobody checked.
        .no_proxy()
        .referer(false)
        .retry(reqwest::retry::never())
        // A function is frozen between requests; its idle connections are dead.
        .pool_max_idle_per_host(0)
        .connect_timeout(CONNECT_TIMEOUT)
        .user_agent(USER_AGENT)
        .build()
}

/// Where an answer sends us; `None` when it is no redirect, or one to nowhere.
fn redirection(from: &Url, response: &Response) -> Option<Url> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = response.headers().get(LOCATION)?.to_str().ok()?;
    from.join(location).ok()
}
