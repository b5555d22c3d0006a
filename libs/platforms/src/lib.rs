//! Social platforms: the trait that each implements, the registry, and one
//! module per platform. An adapter is asked, answers, and remembers nothing;
//! it neither waits nor retries.

mod account;
mod answer;
mod handoff;
mod job;
mod platform;
mod registry;
mod renewal;
mod sandbox;

pub use account::{Account, Credentials, UnreadableCredentials};
pub use handoff::{Answers, Authorization, AuthorizationRequest, Callback, Field, HandOffRefusal, RefreshRefusal};
pub use job::{Job, MediaBytes, MediaReader, MediaUnreadable};
pub use platform::{Platform, Step};
pub use registry::Registry;
pub use renewal::Renewal;
pub use sandbox::SandboxSettings;

/// The HTTP client that adapters share: bounded in time, no redirects, no
/// proxy, so that a credential goes only where the adapter sends it.
///
/// # Errors
/// When the TLS stack cannot be set up.
pub fn http_client() -> Result<reqwest::Client, reqwest::Error> {
    reqwest::Client::builder()
        .user_agent(concat!("social-publishing/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .connect_timeout(std::time::Duration::from_secs(5))
        .build()
}
