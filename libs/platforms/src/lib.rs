//! Social platforms: the trait that each implements, the registry, and one
//! module per platform. An adapter is asked, answers, and remembers nothing;
//! it neither waits nor retries.

mod account;
mod answer;
mod app;
mod handoff;
mod http_client;
mod job;
mod not_now;
mod platform;
mod registry;
mod renewal;
mod sandbox;

pub use account::{Account, Credentials, UnreadableCredentials};
pub use app::{AppCredentials, AppSource, Withheld};
pub use handoff::{Answers, Authorization, AuthorizationRequest, Callback, Field, HandOffRefusal, RefreshRefusal};
pub use job::{Job, MediaBytes, MediaReader, MediaUnreadable};
pub use not_now::NotNow;
pub use platform::{Platform, Step};
pub use registry::Registry;
pub use renewal::Renewal;
pub use sandbox::SandboxSettings;
