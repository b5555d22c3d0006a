//! The HTTP clients that adapters share: one for addresses that we know, one for
//! addresses that users name.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use egress::{AddressPolicy, Egress, Refusal, Schemes};
use http::Method;
use reqwest::{Client, ClientBuilder, IntoUrl, RequestBuilder, Response};
use url::Url;

use crate::dependency_error::DependencyError;

/// How long an answer is waited for where the caller sets no other limit: what a
/// person, or the next step, can wait for.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// How long a connection that nobody uses is kept: less than platforms keep it,
/// for the same reason as in [`builder_for_named`].
const IDLE: Duration = Duration::from_secs(15);

/// The HTTP clients that adapters share: bounded in time, no redirects, no
/// proxy, so that a credential goes only where the adapter sends it.
///
/// They are made when they are first used: they read all of the machine's root
/// certificates, which a function that calls no platform need not wait for.
#[derive(Clone, Debug)]
pub(crate) struct HttpClients {
    known: Arc<OnceLock<Client>>,
    named: Egress,
}

impl HttpClients {
    /// Clients of which the one for hosts that users name follows `policy`.
    pub(crate) fn new(policy: AddressPolicy) -> Self {
        Self { known: Arc::default(), named: Egress::new(policy, builder_for_named) }
    }

    /// A request to an address that stands in the code or in a deployment's
    /// settings. It takes [`ANSWER_WITHIN`] at most.
    pub(crate) fn to_known(&self, method: Method, url: impl IntoUrl) -> Result<RequestBuilder, DependencyError> {
        Ok(self.for_known()?.request(method, url).timeout(ANSWER_WITHIN))
    }

    /// A request to an address that a user named, or that a server a user named
    /// gave: https, and no address that only we can reach. It takes
    /// [`ANSWER_WITHIN`] at most.
    pub(crate) fn to_named(&self, method: Method, url: Url) -> Result<RequestBuilder, Refusal> {
        Ok(self.named.client(&url, Schemes::Encrypted)?.request(method, url).timeout(ANSWER_WITHIN))
    }

    /// Whether [`HttpClients::to_named`] would call this address.
    pub(crate) fn check_named(&self, url: &Url) -> Result<(), Refusal> {
        self.named.client(url, Schemes::Encrypted).map(|_| ())
    }

    /// A request for a page or file that anybody may read, and that is given no
    /// credentials, so that it need not be encrypted. It takes [`ANSWER_WITHIN`]
    /// at most.
    pub(crate) fn to_page(&self, url: Url) -> Result<RequestBuilder, Refusal> {
        Ok(self.named.client(&url, Schemes::Any)?.get(url).timeout(ANSWER_WITHIN))
    }

    fn for_known(&self) -> Result<&Client, DependencyError> {
        if let Some(client) = self.known.get() {
            return Ok(client);
        }
        match builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build() {
            // Where another task has stored a client meanwhile, this one is
            // dropped: both are built alike.
            Ok(client) => Ok(self.known.get_or_init(|| client)),
            Err(error) => {
                tracing::error!(?error, "the HTTP client for platforms could not be made");
                Err(DependencyError)
            }
        }
    }
}

/// Sends a request of [`HttpClients`]. Every adapter sends through this function, so that tests can record what servers
/// answer.
pub(crate) async fn send(request: RequestBuilder) -> reqwest::Result<Response> {
    #[cfg(feature = "conformance")]
    return crate::recorder::send(request).await;
    #[cfg(not(feature = "conformance"))]
    request.send().await
}

fn builder() -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("social-publishing/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(Duration::from_secs(5))
        .pool_idle_timeout(IDLE)
}

/// For hosts that users name, no connection is used twice. Some servers close it
/// after each answer without saying so. A public call that is already being sent
/// on it would be cut off, and stay in doubt for minutes.
fn builder_for_named() -> ClientBuilder {
    builder().pool_max_idle_per_host(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_may_be_read_without_encryption_and_none_of_ours() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = HttpClients::new(AddressPolicy::PublicOnly);
        let (open, ours) = (Url::parse("http://example.com/").unwrap(), Url::parse("http://127.0.0.1/").unwrap());

        assert!(http.to_named(Method::GET, open.clone()).is_err());
        assert!(http.to_page(open).is_ok());
        assert!(http.to_page(ours).is_err());
    }
}
