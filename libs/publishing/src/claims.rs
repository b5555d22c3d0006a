//! Records which delivery made which post of an account. A platform post is claimed before it is
//! reported as the post of a delivery, so that two deliveries never report the same one.

use async_trait::async_trait;
use domain::connection::Connection;
use domain::delivery::{AttemptError, Claim, Delivery, Published, Resolution};
use platforms::Publish;
use platforms::recognition::{self, ClaimsError};
use storage::{ConnectionRecord, Store};

use crate::{Publishing, PublishingError};

pub(crate) struct Claims<'a> {
    pub(crate) store: &'a Store,
    pub(crate) connection: &'a Connection,
    pub(crate) delivery: &'a Delivery,
}

#[async_trait]
impl recognition::Claims for Claims<'_> {
    async fn find(&self, ids: &[String]) -> Result<Vec<(String, Claim)>, ClaimsError> {
        self.store.claims(self.connection, ids, self.delivery).await.map_err(|error| {
            tracing::error!(%error, post_id = %self.delivery.post_id, "claims could not be read");
            ClaimsError
        })
    }
}

impl Publishing {
    /// A candidate counts only after it has been public for long enough.
    pub(crate) async fn claim_resolved(
        &self,
        delivery: &Delivery,
        platform: &dyn Publish,
        record: &ConnectionRecord,
        resolution: Resolution,
    ) -> Result<Resolution, PublishingError> {
        let (settle_time, now) = (platform.settle_time(), self.clock.now());
        let published = match resolution {
            Resolution::Found(published) => published,
            Resolution::Candidate(published) if delivery.accepts_candidate(&published, settle_time, now) => published,
            resolution => return Ok(resolution),
        };
        Ok(match self.claim(delivery, platform, record, &published).await? {
            Claim::Ours => Resolution::Found(published),
            Claim::Others => {
                let reason = format!("the post {} belongs to another delivery", published.platform_post_id);
                Resolution::Pending { reason }
            }
        })
    }

    /// The post is one that a publish call returned or a look-up found.
    pub(crate) async fn claim(
        &self,
        delivery: &Delivery,
        platform: &dyn Publish,
        record: &ConnectionRecord,
        published: &Published,
    ) -> Result<Claim, PublishingError> {
        if !platform.recognizes_own_posts() {
            return Ok(Claim::Ours);
        }
        let id = &published.platform_post_id;
        Ok(self.store.claim_post(&record.connection, id, delivery, self.clock.now()).await?)
    }
}

/// The error of a publish call that returned the post of another delivery. Some platforms create no
/// post when they receive the same text again, and return the existing one.
pub(crate) fn existing_post_error(connection: &Connection, published: &Published) -> AttemptError {
    let reason = format!(
        "{} did not create a new post: it returned one that existed already ({}). Edit the text and reschedule the post.",
        connection.rules.title, published.platform_post_id
    );
    AttemptError::Refused { reason }
}
