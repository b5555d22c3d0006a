//! Which delivery made which post of an account: asked before a post is taken
//! for somebody's, and written down before it is told.

use async_trait::async_trait;
use domain::connection::Connection;
use domain::delivery::{Claim, Delivery, Published, Resolution, Setback};
use platforms::Publish;
use platforms::recognition::{self, ClaimsUnreadable};
use storage::{ConnectionRecord, Store};

use crate::{Publishing, PublishingError};

/// What this delivery and others made on its account.
pub(crate) struct Claims<'a> {
    pub(crate) store: &'a Store,
    pub(crate) connection: &'a Connection,
    pub(crate) delivery: &'a Delivery,
}

#[async_trait]
impl recognition::Claims for Claims<'_> {
    async fn of(&self, ids: &[String]) -> Result<Vec<(String, Claim)>, ClaimsUnreadable> {
        self.store.claims(self.connection, ids, self.delivery).await.map_err(|error| {
            tracing::error!(%error, post_id = %self.delivery.post_id, "claims could not be read");
            ClaimsUnreadable
        })
    }
}

impl Publishing {
    /// What a public call brought, claimed. A platform that answers with
    /// another delivery's post has made none: it takes the same only once.
    pub(crate) async fn claim_published(
        &self,
        delivery: &Delivery,
        platform: &dyn Publish,
        record: &ConnectionRecord,
        published: Published,
    ) -> Result<Result<Published, Setback>, PublishingError> {
        if self.claim(delivery, platform, record, &published).await? == Claim::Ours {
            return Ok(Ok(published));
        }
        let reason = format!(
            "{} took it for a post that was there already ({}). Change its text and give it a new time.",
            record.connection.rules.title, published.platform_post_id
        );
        Ok(Err(Setback::Refused { reason }))
    }

    /// What the platform says of an open intent, once what it found is claimed:
    /// a post that only looks like it when it has been there for long enough.
    pub(crate) async fn claim_resolved(
        &self,
        delivery: &Delivery,
        platform: &dyn Publish,
        record: &ConnectionRecord,
        answer: Resolution,
    ) -> Result<Resolution, PublishingError> {
        let (settles, now) = (platform.settles(), self.clock.now());
        let published = match answer {
            Resolution::Public(published) => published,
            Resolution::Recognised(published) if delivery.believes(&published, settles, now) => published,
            answer => return Ok(answer),
        };
        Ok(match self.claim(delivery, platform, record, &published).await? {
            Claim::Ours => Resolution::Public(published),
            Claim::Others => {
                let reason = format!("the post {} turned out to be another one", published.platform_post_id);
                Resolution::Unclear { reason }
            }
        })
    }

    async fn claim(
        &self,
        delivery: &Delivery,
        platform: &dyn Publish,
        record: &ConnectionRecord,
        published: &Published,
    ) -> Result<Claim, PublishingError> {
        if !platform.recognises() {
            return Ok(Claim::Ours);
        }
        let id = &published.platform_post_id;
        Ok(self.store.claim_post(&record.connection, id, delivery, self.clock.now()).await?)
    }
}
