//! What no request waits for: publishes events that stayed in the outbox, removes uploads that no post
//! uses, and erases users and profiles.

mod config;
mod erase_profile;
mod erase_user;
mod error;
mod outbox;
#[cfg(test)]
mod testing;
mod unused_uploads;

use std::sync::Arc;

use cloud::bucket::Bucket;
use cloud::seal::Sealer;
use domain::clock::Clock;
use domain::media::MediaLimits;
use storage::Store;

pub use erase_user::Erased;
pub use error::HousekeepingError;
pub use outbox::Outbox;

#[derive(Clone)]
pub struct Housekeeping {
    pub store: Store,
    pub bucket: Bucket,
    /// Opens credentials to revoke them.
    pub sealer: Arc<dyn Sealer>,
    pub clock: Clock,
    pub media_limits: MediaLimits,
}
