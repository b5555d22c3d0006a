//! An event from the bus becomes a notice for each endpoint that wants it.

use cloud::notices::NoticeHint;
use domain::event::Event;
use domain::id::UserId;
use domain::webhook::{EventKind, Message, Notice};
use serde_json::Value;

use crate::App;
use crate::failure::Failure;

impl App {
    /// Tells the endpoints of an event's user of it. When the event comes again,
    /// nobody is told anew.
    pub async fn tell(&self, event: &Event) -> Result<(), Failure> {
        let Some(kind) = EventKind::parse(event.detail_type) else { return Ok(()) };
        self.tell_of(kind, &event.detail).await
    }

    /// The same for an event as the bus brings it.
    pub(crate) async fn tell_of(&self, kind: EventKind, detail: &Value) -> Result<(), Failure> {
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
            let Some(message) = Message::of(kind, endpoint.webhook_id, detail) else {
                incomplete();
                break;
            };
            let notice = Notice::new(user, endpoint.webhook_id, message, now);
            // What is there already has been told, or is about to be. A hint more
            // is harmless, and the first may not have been sent.
            self.api.store.add_notice(&notice).await?;
            hints.push(NoticeHint { name: notice.name(), at: now });
        }
        Ok(self.queue.send(&hints).await?)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::World;

    #[tokio::test]
    async fn the_endpoints_of_a_disabled_user_receive_nothing() {
        let world = World::new().await;
        world.webhook().await;
        let set = async |disabled| world.app.api.store.set_disabled(world.user.user_id, disabled).await.unwrap();

        set(true).await;
        world.app.tell(&world.event(1)).await.unwrap();
        world.work().await;
        assert!(world.got().is_empty());

        set(false).await;
        world.app.tell(&world.event(2)).await.unwrap();
        world.work().await;
        assert_eq!(world.got().len(), 1);
    }
}
