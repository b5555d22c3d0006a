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
        Self { known: Arc::default(), named: Outbound::new(policy, builder_for_named) }
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

    /// For a page that anybody may read, which is given no credentials.
    pub(crate) fn client_for_page(&self, url: &Url) -> Result<&Client, Refusal> {
        self.named.client(url, Schemes::Any)
    }
}

/// Less than platforms keep a connection open that nobody uses, for the same
/// reason as [`builder_for_named`].
const IDLE: Duration = Duration::from_secs(15);

fn builder() -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("social-publishing/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(Duration::from_secs(5))
        .pool_idle_timeout(IDLE)
}

/// For hosts that users name, no connection is used twice. Some servers end one
/// after each answer without saying so, and a public call that is on its way
/// then is in doubt for minutes.
fn builder_for_named() -> ClientBuilder {
    builder().pool_max_idle_per_host(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_may_be_read_without_encryption_and_none_of_ours() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = HttpClient::new(AddressPolicy::PublicOnly);
        let (open, ours) = (Url::parse("http://example.com/").unwrap(), Url::parse("http://127.0.0.1/").unwrap());

        assert!(http.client_for(&open).is_err());
        assert!(http.client_for_page(&open).is_ok());
        assert!(http.client_for_page(&ours).is_err());
    }
}
