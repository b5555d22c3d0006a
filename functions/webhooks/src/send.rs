//! One attempt: a notice is held, its endpoint called, and the answer written
//! down.

use cloud::notices::NoticeHint;
use domain::token::random_u32;
use domain::webhook::{Notice, NoticeName, NoticeState, PLANNED_AHEAD};
use storage::{EndpointRecord, Race};

use crate::App;
use crate::calls::Request;
use crate::failure::Failure;

impl App {
    /// Makes the next attempt of a notice, if it is due and nobody makes it.
    pub async fn send(&self, name: &NoticeName) -> Result<(), Failure> {
        let store = &self.api.store;
        let (notice, endpoint) = store.notice_and_endpoint(name).await?;
        let Some(notice) = notice.filter(|it| it.state == NoticeState::Waiting) else { return Ok(()) };
        let Some(record) = endpoint else { return Ok(store.remove_notice(name).await?) };
        let now = self.api.clock.now();
        // Whoever holds it writes down what became of their call.
        if record.endpoint.is_disabled() && !notice.is_held(now) {
            store.swap_notice(&notice, &notice.dropped()).await?;
            return Ok(());
        }
        if !notice.is_due(now) {
            return Ok(());
        }
        // Whatever can fail on our side comes before the notice is held.
        let request = self.request(&notice, &record).await?;
        let held = notice.begun(now);
        if store.swap_notice(&notice, &held).await? == Race::Lost {
            return Ok(());
        }
        let answer = self.calls.call(request).await;
        let settled = held.settled(&answer, now, self.api.clock.now(), random_u32());
        // Before the notice ends: whoever takes over from a worker that dies in between finds it
        // waiting, and the endpoint disabled where it said so.
        let is_last = settled.state == NoticeState::Failed;
        let heard = if notice.is_test() && !answer.is_accepted() && !answer.is_gone() {
            Ok(())
        } else {
            self.heard(record, &answer, is_last).await
        };
        if store.swap_notice(&held, &settled).await? == Race::Lost {
            tracing::info!(webhook_id = %name.webhook_id, "a notice was asked for again while it was sent");
        }
        self.hint(&settled).await?;
        heard
    }

    async fn request(&self, notice: &Notice, record: &EndpointRecord) -> Result<Request, Failure> {
        let at = self.api.clock.now();
        let secrets = self.secrets(record, at).await?;
        let message = &notice.message;
        Ok(Request {
            url: record.endpoint.url.clone(),
            id: message.id.clone(),
            at,
            signatures: message.signatures(at, &secrets, self.keys.key().await?),
            body: message.body.clone(),
        })
    }

    /// Has the queue bring a notice that is tried again soon. The others are found
    /// by the tick, and these too, when the hint is lost.
    pub(crate) async fn hint(&self, notice: &Notice) -> Result<(), Failure> {
        let is_soon = notice.look_at <= self.api.clock.now() + PLANNED_AHEAD;
        if notice.state == NoticeState::Waiting && is_soon {
            self.queue.send(&[NoticeHint { name: notice.name(), at: notice.look_at }]).await?;
        }
        Ok(())
    }

    /// The same where a client waits, to whom it makes no difference.
    pub(crate) async fn hint_or_leave(&self, notice: &Notice) {
        if let Err(error) = self.hint(notice).await {
            tracing::warn!(%error, "a notice is left to the tick");
        }
    }
}

#[cfg(test)]
mod tests;
