//! The publishing protocol: a post is written with its deliveries, they are planned on the queue,
//! made at the platforms, and rolled up into the post. Each is published at most once, never
//! missed, and on time. See `docs/publishing.md`.
//!
//! Timers and messages are hints; the store decides. A delivery changes only by the transitions of
//! [`domain::delivery`], each written on condition that the state is the one that was read.

mod attachments;
mod budget;
mod change_post;
mod claims;
mod concurrency_limits;
mod config;
mod create_post;
mod credentials;
mod deliver;
mod deliveries;
mod erase_user;
mod error;
mod file_addresses;
mod files;
mod host_permits;
mod options;
mod outbox;
mod plan;
mod revoke;
mod roll_up;
#[cfg(test)]
mod testing;
mod unused_uploads;
mod user_messages;
mod validate_post;
mod waiting;

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use cloud::bucket::Bucket;
use cloud::events::EventBus;
use cloud::pictures::Pictures;
use cloud::queue::Queue;
use cloud::seal::Sealer;
use domain::backoff::Backoff;
use domain::budget::Budgets;
use domain::clock::Clock;
use domain::event::Event;
use domain::id::Ids;
use domain::media::MediaLimits;
use domain::options::PlatformOptions;
use domain::plan::Plans;
use domain::random::Random;
use platforms::LeadTimesByPlatform;
use storage::{PostWrite, PostWritten, StorageError, Store};
use tokio::sync::Semaphore;

use crate::waiting::sleep_until;

pub use change_post::{ChangePost, Changed};
pub use cloud::events::publish_event;
pub use concurrency_limits::ConcurrencyLimits;
pub use create_post::{CreatePost, Created, NotCreated};
pub use credentials::{CallCredentials, CredentialService, OpenCredentials, StoredCredentials};
pub use deliver::BEGIN_WITHIN;
pub use erase_user::Erased;
pub use error::PublishingError;
pub use file_addresses::FileAddresses;
pub use permits::HeldPermits;
pub use plan::Planned;
pub use revoke::revoke_grant;
pub use unused_uploads::remove_unused_uploads;
pub use validate_post::{PostValidated, Warning};

/// How long a client's write is retried when other requests write the same post or the same counts.
/// The functions that clients call time out after 29 seconds.
const WRITE_RETRY_WINDOW: TimeDelta = TimeDelta::seconds(12);

/// The services and settings that publishing needs.
#[derive(Clone)]
pub struct Publishing {
    pub store: Store,
    /// How long each platform prepares.
    pub leads: LeadTimesByPlatform,
    /// The options of each platform.
    pub vocabulary: PlatformOptions,
    /// The media files.
    pub bucket: Bucket,
    /// Resizes images.
    pub pictures: Arc<dyn Pictures>,
    /// `None` except in the delivery function.
    pub file_addresses: Option<FileAddresses>,
    pub sealer: Arc<dyn Sealer>,
    /// Brings deliveries from the plan to the workers.
    pub queue: Arc<dyn Queue>,
    pub events: Arc<dyn EventBus>,
    pub clock: Clock,
    pub random: Random,
    pub ids: Ids,
    /// The size limits of media files.
    pub media_limits: MediaLimits,
    pub plans: Plans,
    /// What the posts of a user may cost.
    pub budgets: Budgets,
    pub roll_ups: RollUpLimiter,
    pub concurrency_limits: ConcurrencyLimits,
    pub held_permits: HeldPermits,
}

/// Limits how many roll-ups run at the same time in a process.
///
/// A roll-up is not urgent. When a post changes its status, the item with the counts of its user is
/// written too: many roll-ups at once would conflict there, be retried, and delay the publish calls
/// of the same second.
#[derive(Clone, Debug)]
pub struct RollUpLimiter(Arc<Semaphore>);

impl Default for RollUpLimiter {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(4)))
    }
}

impl Publishing {
    /// The retries of a client's write.
    fn write_retries(&self) -> Backoff {
        Backoff::until(self.clock.now() + WRITE_RETRY_WINDOW, self.random.clone())
    }

    /// Waits for the next try of a write that conflicted; an error if it would be too late.
    async fn await_next_try(&self, retries: &mut Backoff) -> Result<(), PublishingError> {
        let at = retries.next(self.clock.now()).ok_or(PublishingError::Contended)?;
        self.sleep_until(at).await;
        Ok(())
    }

    /// Writes a post. `None` if other writers conflicted every time.
    async fn try_write_post(
        &self,
        write: &PostWrite<'_>,
        now: DateTime<Utc>,
    ) -> Result<Option<PostWritten>, StorageError> {
        match self.store.write_post(write, now).await {
            Err(StorageError::Contended) => Ok(None),
            written => written.map(Some),
        }
    }

    /// Puts an event on the bus that was written with the change it describes.
    async fn publish_event(&self, event: Option<Event>) {
        if let Some(event) = event {
            publish_event(self.events.as_ref(), &event).await;
        }
    }

    #[must_use]
    pub fn credential_service(&self) -> CredentialService {
        let Self { store, sealer, events, clock, .. } = self;
        CredentialService { store: store.clone(), sealer: sealer.clone(), events: events.clone(), clock: clock.clone() }
    }

    async fn sleep_until(&self, at: DateTime<Utc>) -> DateTime<Utc> {
        sleep_until(&self.clock, at).await
    }
}
