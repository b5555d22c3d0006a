//! Fans an event from the bus out: one webhook delivery for each endpoint that subscribes to it.

use cloud::webhook_queue::WebhookDeliveryMessage;
use domain::event::Event;
use domain::id::{ProfileId, UserId};
use domain::webhook::{
    EventKind, MAX_WAITING, WebhookDelivery, WebhookDeliveryId, WebhookDeliveryStatus, WebhookEndpoint, WebhookMessage,
};
use serde_json::Value;

use crate::WebhookService;
use crate::error::WebhooksError;

/// The most deliveries of an endpoint that one event gives up. One event adds one.
const SURPLUS_AT_ONCE: u32 = 25;

impl WebhookService {
    /// An event that the bus repeats creates no delivery.
    pub async fn fan_out(&self, event: &Event) -> Result<(), WebhooksError> {
        let Some(kind) = EventKind::parse(event.detail_type) else { return Ok(()) };
        self.fan_out_detail(kind, &event.detail).await
    }

    /// Like [`Self::fan_out`], for an event that its writer put on the bus from the outbox. It leaves
    /// the outbox: it is on the bus, because it arrived from there.
    pub async fn fan_out_from_outbox(&self, event: &Event) -> Result<(), WebhooksError> {
        self.fan_out(event).await?;
        Ok(self.store.remove_from_outbox(event).await?)
    }

    async fn fan_out_detail(&self, kind: EventKind, detail: &Value) -> Result<(), WebhooksError> {
        let user = detail["user_id"].as_str().and_then(UserId::parse);
        let log_incomplete = || tracing::error!(kind = kind.as_str(), "event has no user, id or time");
        let Some(user) = user else {
            log_incomplete();
            return Ok(());
        };
        let now = self.clock.now();
        let endpoints = self.store.webhooks(user).await?;
        // The user is read only if there is something to send: most users have no endpoint.
        if endpoints.is_empty() || self.store.user(user).await?.is_none_or(|it| it.disabled) {
            return Ok(());
        }
        let profile = detail["profile_id"].as_u64().and_then(ProfileId::new);
        let wants = |it: &&WebhookEndpoint| it.wants(kind) && it.receives_events_of(profile);
        let mut messages = Vec::new();
        for endpoint in endpoints.iter().map(|it| &it.endpoint).filter(wants) {
            let Some(message) = WebhookMessage::from_event(kind, endpoint.webhook_id, detail) else {
                log_incomplete();
                break;
            };
            let delivery = WebhookDelivery::new(user, endpoint.webhook_id, message, now);
            // An existing delivery was sent or will be. A second hint is harmless, and the
            // first may not have reached the queue.
            self.store.add_webhook_delivery(&delivery).await?;
            messages.push(WebhookDeliveryMessage { name: delivery.name(), at: now });
        }
        self.queue.send(&messages).await?;
        for WebhookDeliveryMessage { name, .. } in &messages {
            // The next event of this user tries again.
            if let Err(error) = self.give_up_surplus(name).await {
                tracing::warn!(%error, webhook_id = %name.webhook_id, "surplus deliveries of an endpoint were not given up");
            }
        }
        Ok(())
    }

    /// Gives up the oldest waiting deliveries of an endpoint beyond [`MAX_WAITING`]. The user can
    /// redeliver them.
    async fn give_up_surplus(&self, newest: &WebhookDeliveryId) -> Result<(), WebhooksError> {
        let (store, user, webhook) = (&self.store, newest.user_id, newest.webhook_id);
        for name in store.surplus_webhook_deliveries(user, webhook, MAX_WAITING, SURPLUS_AT_ONCE).await? {
            let (delivery, _) = store.webhook_delivery_and_endpoint(&name).await?;
            let now = self.clock.now();
            if let Some(delivery) =
                delivery.filter(|it| it.state == WebhookDeliveryStatus::Waiting && !it.is_leased(now))
            {
                store.replace_webhook_delivery(&delivery, &delivery.fail()).await?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::testing::a_profile;
    use futures::{StreamExt, TryStreamExt};
    use serde_json::json;

    use super::*;
    use crate::testing::WebhookHarness;

    #[tokio::test]
    async fn endpoints_of_disabled_user_receive_nothing() {
        let harness = WebhookHarness::new().await;
        harness.enabled_endpoint().await;
        let set = async |disabled| harness.service.store.set_disabled(harness.user.user_id, disabled).await.unwrap();

        set(true).await;
        harness.service.fan_out(&harness.event(1)).await.unwrap();
        harness.work().await;
        assert!(harness.got().is_empty());

        set(false).await;
        harness.service.fan_out(&harness.event(2)).await.unwrap();
        harness.work().await;
        assert_eq!(harness.got().len(), 1);

        // Nor do they receive what was waiting when the user was disabled.
        harness.service.fan_out(&harness.event(3)).await.unwrap();
        set(true).await;
        harness.work().await;
        set(false).await;
        harness.clock.advance(TimeDelta::minutes(2));
        harness.service.tick().await.unwrap();
        harness.work().await;
        assert!(harness.got().is_empty());
    }

    #[tokio::test]
    async fn endpoint_of_a_profile_receives_only_events_of_the_profile() {
        let harness = WebhookHarness::new().await;
        let all = harness.enabled_endpoint().await.0.webhook_id;
        let profile = a_profile(&harness.user).reference();
        let limited = harness.enabled_endpoint().await.0.webhook_id;
        harness.change(limited, |before| WebhookEndpoint { of_profile: Some(profile.clone()), ..before.clone() }).await;
        let of_profile = |number, profile_id: Value| {
            let mut event = harness.event(number);
            event.detail["profile_id"] = profile_id;
            event
        };

        harness.service.fan_out(&of_profile(1, json!(profile.profile_id))).await.unwrap();
        harness.service.fan_out(&of_profile(2, json!(profile.profile_id.get() + 1))).await.unwrap();
        harness.service.fan_out(&of_profile(3, Value::Null)).await.unwrap();
        harness.service.fan_out(&harness.event(4)).await.unwrap();

        let received = async |webhook| harness.deliveries(webhook).await.len();
        assert_eq!((received(all).await, received(limited).await), (4, 1));
    }

    #[tokio::test]
    async fn oldest_beyond_1000_waiting_are_given_up() {
        let harness = WebhookHarness::new().await;
        let id = harness.enabled_endpoint().await.0.webhook_id;
        let (store, user) = (&harness.service.store, harness.user.user_id);
        let long_ago = harness.clock.now() - TimeDelta::hours(1);
        let delivery = |number: u32| {
            let message =
                WebhookMessage::from_event(EventKind::PostPublished, id, &harness.event(number.into()).detail).unwrap();
            WebhookDelivery::new(user, id, message, long_ago + TimeDelta::milliseconds(number.into()))
        };
        let deliveries: Vec<_> = (0..MAX_WAITING + 2).map(delivery).collect();
        let adding: Vec<_> = deliveries.iter().map(|it| store.add_webhook_delivery(it)).collect();
        futures::stream::iter(adding).buffer_unordered(32).try_collect::<Vec<_>>().await.unwrap();

        harness.service.fan_out(&harness.event(5_000)).await.unwrap();

        assert!(store.surplus_webhook_deliveries(user, id, MAX_WAITING, 9).await.unwrap().is_empty());
        let state = async |number: usize| {
            let found = store.webhook_delivery_and_endpoint(&deliveries[number].name()).await.unwrap();
            found.0.unwrap().state.as_str()
        };
        let states = [state(0).await, state(1).await, state(2).await, state(3).await];
        assert_eq!(states, ["failed", "failed", "failed", "waiting"]);
    }
}
