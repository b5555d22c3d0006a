//! Fetches files from URLs that users provide. [`Egress`] checks the URL and address of every
//! redirect, so that a user cannot reach what only the service can reach.

mod body;
mod deadline;
mod error;
#[cfg(test)]
mod tests;

use std::time::Duration;

use http::header::LOCATION;
use reqwest::{Client, ClientBuilder, Response};
use url::Url;

pub use self::body::FetchedBody;
use self::deadline::Deadline;
pub use self::error::FetchError;
use crate::{AddressPolicy, Egress, Schemes};

/// Timeout of a fetch, from the first DNS look-up to the last byte.
pub const FETCH_TIMEOUT: Duration = Duration::from_secs(25);

const MAX_REDIRECTS: usize = 5;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const USER_AGENT: &str = concat!("social-publishing/", env!("CARGO_PKG_VERSION"));

#[derive(Clone, Debug)]
pub struct Fetcher {
    egress: Egress,
    timeout: Duration,
}

impl Fetcher {
    /// `timeout` is for a whole fetch, see [`FETCH_TIMEOUT`].
    pub fn new(policy: AddressPolicy, timeout: Duration) -> Self {
        Self { egress: Egress::new(policy, build), timeout }
    }

    /// Opens a file of at most `max_bytes`, following redirects. Reading it is subject to the
    /// same deadline.
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
            url = redirect_target(&url, &response).ok_or(FetchError::Status(status.as_u16()))?;
        }
        Err(FetchError::TooManyRedirects)
    }

    async fn get(&self, url: Url) -> Result<Response, FetchError> {
        let client = self.egress.client(&url, Schemes::Any)?;
        client.get(url).send().await.map_err(FetchError::from_client)
    }
}

fn build() -> ClientBuilder {
    Client::builder()
        // Lambda freezes the function between requests, and servers close idle connections
        // meanwhile, so no connection is kept.
        .pool_max_idle_per_host(0)
        .connect_timeout(CONNECT_TIMEOUT)
        .user_agent(USER_AGENT)
}

/// The target of a redirect; `None` if the response is no redirect or its target is invalid.
fn redirect_target(from: &Url, response: &Response) -> Option<Url> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = response.headers().get(LOCATION)?.to_str().ok()?;
    from.join(location).ok()
}
