//! The HTTP clients that adapters share.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use outbound::{AddressPolicy, Outbound, Refusal, Schemes};
use reqwest::{Client, ClientBuilder};
use url::Url;

use crate::not_now::NotNow;

/// The HTTP clients that adapters share: bounded in time, no redirects, no
/// proxy, so that a credential goes only where the adapter sends it.
///
/// They are made when they are first used: they read all of the machine's root
/// certificates, which a function that calls no platform need not wait for.
#[derive(Clone, Debug)]
pub(crate) struct HttpClient {
    known: Arc<OnceLock<Client>>,
    named: Outbound,
}

impl HttpClient {
    /// Clients of which those for hosts that users name follow `policy`.
    pub(crate) fn new(policy: AddressPolicy) -> Self {
        Self { known: Arc::default(), named: Outbound::new(policy, builder) }
    }

    /// For an address that stands in the code or in a deployment's settings.
    pub(crate) fn client(&self) -> Result<&Client, NotNow> {
        if let Some(client) = self.known.get() {
            return Ok(client);
        }
        match builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build() {
            // Whoever was faster made the same.
            Ok(client) => Ok(self.known.get_or_init(|| client)),
            Err(error) => {
                tracing::error!(?error, "the HTTP client for platforms could not be made");
                Err(NotNow)
            }
        }
    }

    /// For an address that a user named, or that a server a user named gave:
    /// https, and no address that only we can reach.
    pub(crate) fn client_for(&self, url: &Url) -> Result<&Client, Refusal> {
        self.named.client(url, Schemes::Encrypted)
    }
}

fn builder() -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("social-publishing/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(Duration::from_secs(5))
}
