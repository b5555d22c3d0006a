//! The HTTP client that adapters share.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::not_now::NotNow;

/// The HTTP client that adapters share: bounded in time, no redirects, no
/// proxy, so that a credential goes only where the adapter sends it.
///
/// It is made when it is first used: it reads all of the machine's root
/// certificates, which a function that calls no platform need not wait for.
#[derive(Clone, Debug, Default)]
pub(crate) struct HttpClient(Arc<OnceLock<reqwest::Client>>);

impl HttpClient {
    /// The client, made when there is none yet.
    pub(crate) fn client(&self) -> Result<&reqwest::Client, NotNow> {
        if let Some(client) = self.0.get() {
            return Ok(client);
        }
        match build() {
            // Whoever was faster made the same.
            Ok(client) => Ok(self.0.get_or_init(|| client)),
            Err(error) => {
                tracing::error!(?error, "the HTTP client for platforms could not be made");
                Err(NotNow)
            }
        }
    }
}

fn build() -> Result<reqwest::Client, reqwest::Error> {
    reqwest::Client::builder()
        .user_agent(concat!("social-publishing/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .connect_timeout(Duration::from_secs(5))
        .build()
}
