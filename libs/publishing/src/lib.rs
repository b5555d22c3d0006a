//! Makes deliveries: they are planned on the queue, made at the platforms, and rolled up into the
//! post. Each is published at most once, never missed, and on time. `libs/scheduling` writes them. See
//! `docs/publishing.md`.
//!
//! Timers and messages are hints; the store decides. A delivery changes only by the transitions of
//! [`domain::delivery`], each written on condition that the state is the one that was read.

mod claims;
mod concurrency_limits;
mod config;
#[cfg(test)]
mod credential_tests;
mod deliver;
mod error;
mod file_addresses;
mod files;
mod host_permits;
mod plan;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod user_messages;

use std::sync::Arc;

use cloud::bucket::Bucket;
use cloud::pictures::Pictures;
use cloud::queue::Queue;
use connecting::CredentialService;
use domain::clock::Clock;
use domain::random::Random;
use permits::HeldPermits;
use scheduling::RollUps;
use storage::Store;

pub use concurrency_limits::ConcurrencyLimits;
pub use deliver::BEGIN_WITHIN;
pub use error::PublishingError;
pub use file_addresses::FileAddresses;
pub use plan::{Planned, Planner};

#[derive(Clone)]
pub struct Publishing {
    pub store: Store,
    pub bucket: Bucket,
    pub pictures: Arc<dyn Pictures>,
    /// `None` if platforms cannot fetch files from this service.
    pub file_addresses: Option<FileAddresses>,
    pub credentials: CredentialService,
    pub queue: Arc<dyn Queue>,
    pub clock: Clock,
    pub random: Random,
    pub roll_ups: RollUps,
    pub concurrency_limits: ConcurrencyLimits,
    pub held_permits: HeldPermits,
}
