//! The publishing protocol: a post is written with its deliveries, planned on
//! the queue, taken to its platforms, and told how it ended. At most once,
//! never missed, on time.
//!
//! Timers and messages are hints; the store decides. A delivery changes only
//! by the transitions of [`domain::delivery`], each written over what was read.

mod attachments;
mod budget;
mod change_post;
mod claims;
mod concurrency_limiter;
mod create_post;
mod credentials;
mod deliver;
mod deliveries;
mod environment;
mod erase_user;
mod error;
mod file_addresses;
mod files;
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
use domain::options::Vocabulary;
use domain::plan::Plans;
use platforms::LeadTimesByPlatform;
use storage::{PostWrite, PostWritten, StorageError, Store};
use tokio::sync::Semaphore;

use crate::waiting::sleep_until;

pub use change_post::{ChangePost, Changed};
pub use concurrency_limiter::{ConcurrencyLimiter, ConcurrencyLimits, HeldPermits, Permit};
pub use create_post::{CreatePost, Created, NotCreated};
pub use credentials::{CredentialService, StoredCredentials};
pub use deliver::BEGIN_WITHIN;
pub use erase_user::Erased;
pub use error::PublishingError;
pub use file_addresses::FileAddresses;
pub use outbox::publish_event;
pub use plan::Planned;
pub use revoke::revoke_grant;
pub use unused_uploads::remove_unused_uploads;
pub use validate_post::{Validated, Warning};

/// How long a client waits for its turn, when others write the same post or
/// count at the same user. The functions that clients call have 29 seconds.
const TURN_WITHIN: TimeDelta = TimeDelta::seconds(12);

/// Everything that publishing stands on.
#[derive(Clone)]
pub struct Publishing {
    /// Posts, deliveries and connections.
    pub store: Store,
    /// How long platforms prepare.
    pub leads: LeadTimesByPlatform,
    /// What a post can say on each platform alone.
    pub vocabulary: Vocabulary,
    /// Where media are.
    pub bucket: Bucket,
    /// Makes pictures fit.
    pub pictures: Arc<dyn Pictures>,
    /// Where platforms fetch files; only the function that delivers has it.
    pub file_addresses: Option<FileAddresses>,
    /// Seals and opens credentials.
    pub sealer: Arc<dyn Sealer>,
    /// Takes deliveries from planning to the workers.
    pub queue: Arc<dyn Queue>,
    /// The bus for programs that want to know how posts end.
    pub events: Arc<dyn EventBus>,
    /// The time.
    pub clock: Clock,
    pub ids: Ids,
    /// How large media may be.
    pub media_limits: MediaLimits,
    /// What users may use.
    pub plans: Plans,
    /// What their posts may cost.
    pub budgets: Budgets,
    /// See [`RollUps`].
    pub roll_ups: RollUps,
    /// See [`ConcurrencyLimits`].
    pub concurrency_limits: ConcurrencyLimits,
    /// See [`ConcurrencyLimiter`].
    pub held_permits: HeldPermits,
}

/// How many posts one process tells at the same time how their deliveries stand.
///
/// A roll-up is in no hurry. When a post changes its status, the item that counts
/// its user's posts is written too: many at once would conflict there, retry, and
/// hold up the public calls of the same second.
#[derive(Clone, Debug)]
pub struct RollUps(Arc<Semaphore>);

impl Default for RollUps {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(4)))
    }
}

impl Publishing {
    /// The tries of a client's write.
    fn turns(&self) -> Backoff {
        Backoff::until(self.clock.now() + TURN_WITHIN)
    }

    /// Waits for the next try of a write that met another one; an error when
    /// that would be too late.
    async fn wait_for_turn(&self, turns: &mut Backoff) -> Result<(), PublishingError> {
        let at = turns.next(self.clock.now()).ok_or(PublishingError::Contended)?;
        self.sleep_until(at).await;
        Ok(())
    }

    /// Writes a post. `None` when others wrote what goes with it every time.
    async fn write_in_turn(
        &self,
        write: &PostWrite<'_>,
        now: DateTime<Utc>,
    ) -> Result<Option<PostWritten>, StorageError> {
        match self.store.write_post(write, now).await {
            Err(StorageError::Contended) => Ok(None),
            written => written.map(Some),
        }
    }

    /// Puts an event on the bus that was written with what it tells of.
    async fn publish_event(&self, event: Option<Event>) {
        if let Some(event) = event {
            publish_event(&self.store, self.events.as_ref(), &event).await;
        }
    }

    /// Those who keep the credentials.
    #[must_use]
    pub fn custody(&self) -> CredentialService {
        let Self { store, sealer, events, clock, .. } = self;
        CredentialService { store: store.clone(), sealer: sealer.clone(), events: events.clone(), clock: clock.clone() }
    }

    async fn sleep_until(&self, at: DateTime<Utc>) -> DateTime<Utc> {
        sleep_until(&self.clock, at).await
    }
}
