//! Erases everything of a user, for the operator.
//!
//! One call is one pass, which may be cut off anywhere and repeated. It begins with what lets the
//! user in and ends with the user's record. A request that was in progress can still write
//! afterwards, so the operator repeats passes until one finds nothing.

use cloud::audit;
use connecting::revoke_grant;
use domain::id::UserId;
use futures::FutureExt;
use futures::stream::{self, StreamExt, TryStreamExt};
use platforms::{Connect, Registry};
use storage::{CredentialsRecord, Table};

use crate::{Housekeeping, HousekeepingError};

/// First everything that lets the user in or starts actions of its own, last the user.
const ORDER: [Table; 16] = [
    Table::Grants,
    Table::ConnectFlows,
    Table::Webhooks,
    Table::WebhookDeliveries,
    Table::Outbox,
    Table::Deliveries,
    Table::Attempts,
    Table::Posts,
    Table::Credentials,
    Table::Connections,
    Table::Profiles,
    Table::Media,
    Table::Idempotency,
    Table::Limits,
    Table::Claims,
    Table::Users,
];

/// A user's files are in these folders: uploads, and pictures made of them.
const FOLDERS: [&str; 2] = ["media", "derived"];

const AT_ONCE: usize = 8;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Erased {
    pub items: usize,
    pub files: usize,
}

impl Erased {
    pub fn is_nothing(self) -> bool {
        self == Self::default()
    }
}

impl Housekeeping {
    /// Also revokes the grants at their platforms. A user that never existed is no error.
    pub async fn erase_user(
        &self,
        user: UserId,
        platforms: &Registry<dyn Connect>,
    ) -> Result<Erased, HousekeepingError> {
        let mut erased = Erased::default();
        for table in ORDER {
            match table {
                // Boxed as a trait object, because the type of upkeep's future is nested too deeply for the compiler.
                Table::Credentials => erased.items += self.revoke_all(user, platforms).boxed().await?,
                // The records name the files, so they are deleted after them.
                Table::Media => erased.files = self.erase_files(user).await?,
                _ => {}
            }
            erased.items += self.store.erase(table, user).await?;
        }
        let removed = format!("items: {}, files: {}", erased.items, erased.files);
        audit::Entry::new(audit::Event::Erased).user(user).why(&removed).write();
        Ok(erased)
    }

    /// Each record is deleted as soon as its grant is revoked: servers may be slow, and a pass that
    /// is cut off must not start over.
    async fn revoke_all(&self, user: UserId, platforms: &Registry<dyn Connect>) -> Result<usize, HousekeepingError> {
        let records = self.store.all_credentials(user).await?;
        let revocations = records.into_iter().map(|it| self.revoke_and_erase(it, platforms));
        let all = stream::iter(revocations).buffer_unordered(AT_ONCE);
        all.try_fold(0, async |all, one| Ok(all + one)).await
    }

    /// Returns how many items were deleted.
    async fn revoke_and_erase(
        &self,
        record: CredentialsRecord,
        platforms: &Registry<dyn Connect>,
    ) -> Result<usize, HousekeepingError> {
        revoke_grant(&self.store, self.sealer.as_ref(), platforms, &record, self.clock.now()).await;
        self.store.erase_credentials(&record).await?;
        Ok(1)
    }

    async fn erase_files(&self, user: UserId) -> Result<usize, HousekeepingError> {
        let mut erased = 0;
        for folder in FOLDERS {
            loop {
                let keys = self.bucket.list(&format!("{folder}/{user}/")).await?;
                if keys.is_empty() {
                    break;
                }
                for key in &keys {
                    self.bucket.delete(key).await?;
                }
                erased += keys.len();
            }
        }
        Ok(erased)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use chrono::TimeDelta;
    use cloud::testing::TestBucket;
    use domain::testing::noon;

    use super::*;
    use crate::testing::housekeeping;
    use publishing::testing::PublishingHarness;

    async fn harness_with_data(s3: &TestBucket) -> PublishingHarness {
        let mut harness = PublishingHarness::new().await;
        harness.scheduling.bucket = s3.bucket.clone();
        harness.schedule("Words", noon() + TimeDelta::hours(1)).await;
        for folder in FOLDERS {
            let bytes = futures::stream::iter([Ok::<_, Infallible>("file".into())]);
            let key = format!("{folder}/{}/1.png", harness.user.user_id);
            harness.scheduling.bucket.put(&key, "image/png", bytes).await.unwrap();
        }
        harness
    }

    #[tokio::test]
    async fn second_pass_finds_nothing_to_erase() {
        let s3 = TestBucket::start().await;
        let harness = harness_with_data(&s3).await;
        // One user's folder must not match as the prefix of another's.
        let other = format!("media/{}0/1.png", harness.user.user_id);
        let bytes = futures::stream::iter([Ok::<_, Infallible>("file".into())]);
        s3.bucket.put(&other, "image/png", bytes).await.unwrap();
        let none = Registry::from_adapters(Vec::new());

        let first = housekeeping(&harness).erase_user(harness.user.user_id, &none).await.unwrap();
        let second = housekeeping(&harness).erase_user(harness.user.user_id, &none).await.unwrap();

        assert_eq!(first.files, 2);
        // The user, the identity, the account with its connect flow, its plan entry and its
        // credentials, the post with the counts, its delivery and its event.
        assert_eq!(first.items, 10);
        assert!(second.is_nothing(), "{second:?}");
        assert!(harness.store.user(harness.user.user_id).await.unwrap().is_none());
        assert!(harness.due().await.is_empty());
        assert_eq!(s3.bucket.list("").await.unwrap(), [other]);
    }
}
