use std::sync::{Arc, OnceLock};
use std::time::Duration;

use egress::{AddressPolicy, Egress, EgressError, Schemes};
use http::Method;
use reqwest::{Client, ClientBuilder, IntoUrl, RequestBuilder, Response};
use url::Url;

use crate::dependency_error::DependencyError;
use crate::last_call;

/// The timeout of a request without its own: as long as a user, or the next step, can wait.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// How long an unused connection is kept: shorter than platforms keep it, for the reason in
/// [`builder_for_named`].
const IDLE: Duration = Duration::from_secs(15);

/// The HTTP clients that adapters share. They have timeouts, and no redirects and no proxy, so that
/// credentials go only where the adapter sends them.
///
/// Each is built when it is first used: building reads all root certificates of the machine, and a
/// function that calls no platform does not wait for that.
#[derive(Clone, Debug)]
pub(crate) struct HttpClients {
    known: Arc<OnceLock<Client>>,
    named: Egress,
}

impl HttpClients {
    /// `policy` is for hosts that users name.
    pub(crate) fn new(policy: AddressPolicy) -> Self {
        Self { known: Arc::default(), named: Egress::new(policy, builder_for_named) }
    }

    /// A request to a URL in the code or in the deployment's settings.
    pub(crate) fn request_known_host(
        &self,
        method: Method,
        url: impl IntoUrl,
    ) -> Result<RequestBuilder, DependencyError> {
        Ok(self.known_client()?.request(method, url).timeout(ANSWER_WITHIN))
    }

    /// A request to a URL that a user named, or that a server named by a user returned. It must be
    /// https, and not inside our network.
    pub(crate) fn request_named_host(&self, method: Method, url: Url) -> Result<RequestBuilder, EgressError> {
        Ok(self.named.client(&url, Schemes::Encrypted)?.request(method, url).timeout(ANSWER_WITHIN))
    }

    pub(crate) fn check_named_host(&self, url: &Url) -> Result<(), EgressError> {
        self.named.client(url, Schemes::Encrypted).map(|_| ())
    }

    /// A request for a public page or file, without credentials, so that plain http is permitted.
    pub(crate) fn get_page(&self, url: Url) -> Result<RequestBuilder, EgressError> {
        Ok(self.named.client(&url, Schemes::Any)?.get(url).timeout(ANSWER_WITHIN))
    }

    fn known_client(&self) -> Result<&Client, DependencyError> {
        if let Some(client) = self.known.get() {
            return Ok(client);
        }
        match builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build() {
            // If another task has stored a client meanwhile, this one is dropped: both are equal.
            Ok(client) => Ok(self.known.get_or_init(|| client)),
            Err(error) => {
                tracing::error!(?error, "the HTTP client for platforms could not be built");
                Err(DependencyError)
            }
        }
    }
}

/// Every adapter sends through this function, so that the status is recorded for the attempt, and
/// tests can record responses.
pub(crate) async fn send(request: RequestBuilder) -> reqwest::Result<Response> {
    last_call::record_response(None);
    #[cfg(feature = "testing")]
    let response = crate::recorder::send(request).await?;
    #[cfg(not(feature = "testing"))]
    let response = request.send().await?;
    last_call::record_response(Some(response.status()));
    Ok(response)
}

fn builder() -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("social-publishing/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(Duration::from_secs(5))
        .pool_idle_timeout(IDLE)
}

/// Connections to hosts that users name are not reused. Some servers close a connection after a
/// response without notice. A publish call on it would be cut off, and its outcome would be unknown
/// for minutes.
fn builder_for_named() -> ClientBuilder {
    builder().pool_max_idle_per_host(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_pages_are_read_over_plain_http() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = HttpClients::new(AddressPolicy::PublicOnly);
        let (open, ours) = (Url::parse("http://example.com/").unwrap(), Url::parse("http://127.0.0.1/").unwrap());

        assert!(http.request_named_host(Method::GET, open.clone()).is_err());
        assert!(http.get_page(open).is_ok());
        assert!(http.get_page(ours).is_err());
    }
}
