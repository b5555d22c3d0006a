//! An event from the bus becomes a notice for each endpoint that wants it.

use cloud::webhook_queue::WebhookDeliveryMessage;
use domain::event::Event;
use domain::id::UserId;
use domain::webhook::{
    EventKind, MAX_WAITING, WebhookDelivery, WebhookDeliveryId, WebhookDeliveryStatus, WebhookMessage,
};
use serde_json::Value;

use crate::App;
use crate::error::WebhooksError;

/// The most notices of an endpoint that one event gives up. One event adds one.
const SURPLUS_AT_ONCE: u32 = 25;

impl App {
    /// Tells the endpoints of an event's user of it. When the event comes again,
    /// nobody is told anew.
    pub async fn fan_out(&self, event: &Event) -> Result<(), WebhooksError> {
        let Some(kind) = EventKind::parse(event.detail_type) else { return Ok(()) };
        self.fan_out_detail(kind, &event.detail).await
    }

    /// The same for an event as the bus brings it.
    pub(crate) async fn fan_out_detail(&self, kind: EventKind, detail: &Value) -> Result<(), WebhooksError> {
        let user = detail["user_id"].as_str().and_then(UserId::parse);
        let incomplete = || tracing::error!(kind = kind.as_str(), "an event lacks its user, its id or its time");
        let Some(user) = user else {
            incomplete();
            return Ok(());
        };
        let now = self.api.clock.now();
        let endpoints = self.api.store.webhooks(user).await?;
        // Asked for only where there is something to send: most users have no endpoint.
        if endpoints.is_empty() || self.api.store.user(user).await?.is_none_or(|it| it.disabled) {
            return Ok(());
        }
        let mut hints = Vec::new();
        for endpoint in endpoints.iter().map(|it| &it.endpoint).filter(|it| it.wants(kind)) {
            let Some(message) = WebhookMessage::of(kind, endpoint.webhook_id, detail) else {
                incomplete();
                break;
            };
            let notice = WebhookDelivery::new(user, endpoint.webhook_id, message, now);
            // What is there already has been told, or is about to be. A hint more
            // is harmless, and the first may not have been sent.
            self.api.store.add_webhook_delivery(&notice).await?;
            hints.push(WebhookDeliveryMessage { name: notice.name(), at: now });
        }
        self.queue.send(&hints).await?;
        for WebhookDeliveryMessage { name, .. } in &hints {
            // The next event of this user looks again.
            if let Err(error) = self.give_surplus_up(name).await {
                tracing::warn!(%error, webhook_id = %name.webhook_id, "too many notices may wait for an endpoint");
            }
        }
        Ok(())
    }

    /// Gives up the oldest notices that wait for an endpoint beyond [`MAX_WAITING`]. Their owner
    /// can have them delivered again.
    async fn give_surplus_up(&self, newest: &WebhookDeliveryId) -> Result<(), WebhooksError> {
        let (store, user, webhook) = (&self.api.store, newest.user_id, newest.webhook_id);
        for name in store.surplus_webhook_deliveries(user, webhook, MAX_WAITING, SURPLUS_AT_ONCE).await? {
            let (notice, _) = store.webhook_delivery_and_endpoint(&name).await?;
            let now = self.api.clock.now();
            if let Some(notice) = notice.filter(|it| it.state == WebhookDeliveryStatus::Waiting && !it.is_leased(now)) {
                store.replace_webhook_delivery(&notice, &notice.fail()).await?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::id::WebhookId;
    use futures::{StreamExt, TryStreamExt};

    use super::*;
    use crate::testing::Harness;

    #[tokio::test]
    async fn the_endpoints_of_a_disabled_user_receive_nothing() {
        let world = Harness::new().await;
        world.webhook().await;
        let set = async |disabled| world.app.api.store.set_disabled(world.user.user_id, disabled).await.unwrap();

        set(true).await;
        world.app.fan_out(&world.event(1)).await.unwrap();
        world.work().await;
        assert!(world.got().is_empty());

        set(false).await;
        world.app.fan_out(&world.event(2)).await.unwrap();
        world.work().await;
        assert_eq!(world.got().len(), 1);

        // Nor do they receive what was on its way.
        world.app.fan_out(&world.event(3)).await.unwrap();
        set(true).await;
        world.work().await;
        set(false).await;
        world.clock.advance(TimeDelta::minutes(2));
        world.app.tick().await.unwrap();
        world.work().await;
        assert!(world.got().is_empty());
    }

    #[tokio::test]
    async fn the_oldest_beyond_a_thousand_that_wait_are_given_up_and_can_be_redelivered() {
        let world = Harness::new().await;
        let webhook = world.webhook().await;
        let (store, user) = (&world.app.api.store, world.user.user_id);
        let id = WebhookId::new(webhook["id"].as_u64().unwrap()).unwrap();
        let long_ago = world.clock.now() - TimeDelta::hours(1);
        let notice = |number: u32| {
            let message = WebhookMessage::of(EventKind::PostPublished, id, &world.event(number.into()).detail).unwrap();
            WebhookDelivery::new(user, id, message, long_ago + TimeDelta::milliseconds(number.into()))
        };
        let notices: Vec<_> = (0..MAX_WAITING + 2).map(notice).collect();
        let adding: Vec<_> = notices.iter().map(|it| store.add_webhook_delivery(it)).collect();
        futures::stream::iter(adding).buffer_unordered(32).try_collect::<Vec<_>>().await.unwrap();

        world.app.fan_out(&world.event(5_000)).await.unwrap();

        assert!(store.surplus_webhook_deliveries(user, id, MAX_WAITING, 9).await.unwrap().is_empty());
        let state = async |number: usize| {
            let found = store.webhook_delivery_and_endpoint(&notices[number].name()).await.unwrap();
            found.0.unwrap().state.as_str()
        };
        let states = [state(0).await, state(1).await, state(2).await, state(3).await];
        assert_eq!(states, ["failed", "failed", "failed", "waiting"]);
        let again = format!("/webhooks/{id}/deliveries/{}/redeliver", notices[0].message.id);
        assert_eq!(world.call("POST", &again, None).await.0, 202);
        assert_eq!(state(0).await, "waiting");
    }
}
