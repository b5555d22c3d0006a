//! Events for the event bus and for webhooks. They contain ids, states and times, and never texts,
//! tokens or e-mail addresses.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::{Value, json};

use crate::connection::Connection;
use crate::delivery::FailureClass;
use crate::id::UserId;
use crate::post::{Post, PostStatus, SegmentView, Target, TargetStatus};
use crate::profile::ProfileRef;
use crate::schedule::{parse_instant, show};

pub const SOURCE: &str = "social-publishing";

/// The resource that an event on the bus names while it is in the outbox.
pub const IN_OUTBOX: &str = "outbox";

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    /// The event type, such as `post.published`.
    pub detail_type: &'static str,
    /// The payload. `id` is the same when the event is sent again, so that consumers can drop
    /// duplicates. `occurred_at` is the time of the event. Of two events about the same resource,
    /// the one with the larger `sequence` describes the later state.
    pub detail: Value,
}

impl Event {
    pub fn id(&self) -> &str {
        self.detail["id"].as_str().unwrap_or_default()
    }

    pub fn user(&self) -> Option<UserId> {
        UserId::parse(self.detail["user_id"].as_str()?)
    }

    pub fn occurred_at(&self) -> Option<DateTime<Utc>> {
        parse_instant(self.detail["occurred_at"].as_str()?).ok()
    }

    /// The post was scheduled for the first time or again.
    pub fn scheduled(post: &Post) -> Self {
        Self::for_post("post.scheduled", post)
    }

    /// The post was published or has failed; `None` while it is neither.
    pub fn ended(post: &Post) -> Option<Self> {
        match post.status {
            PostStatus::Published => Some(Self::for_post("post.published", post)),
            PostStatus::Failed => Some(Self::for_post("post.failed", post)),
            _ => None,
        }
    }

    /// `handed_over` is there, and true, if a person finishes the post in the platform's app.
    pub fn target_published(post: &Post, target: &Target) -> Self {
        let mut event = Self::for_target("target.published", post, target);
        if target.published().is_some_and(|it| it.handed_over) {
            event.detail["handed_over"] = true.into();
        }
        event
    }

    pub fn target_failed(post: &Post, target: &Target) -> Self {
        Self::for_target("target.failed", post, target)
    }

    pub fn comment_failed(post: &Post, target: &Target) -> Self {
        let mut event = Self::for_target("target.comment_failed", post, target);
        event.detail["message"] = target.comment_error.clone().into();
        event
    }

    pub fn connected(connection: &Connection, now: DateTime<Utc>) -> Self {
        Self::for_connection("connection.created", connection, now)
    }

    pub fn disconnected(connection: &Connection, now: DateTime<Utc>) -> Self {
        Self::for_connection("connection.deleted", connection, now)
    }

    /// `connection.created`, `connection.needs_reconnection` or `connection.deleted`.
    pub fn for_connection(detail_type: &'static str, connection: &Connection, now: DateTime<Utc>) -> Self {
        let id = format!("{detail_type}:{}:{}", connection.connection_id, connection.generation);
        let status = match detail_type {
            "connection.deleted" => "deleted",
            "connection.needs_reconnection" => "needs_reconnection",
            _ => "active",
        };
        let event = Self {
            detail_type,
            detail: json!({
                "id": id,
                "occurred_at": show(now),
                "user_id": connection.user_id.to_string(),
                "sequence": connection.generation,
                "connection_id": connection.connection_id,
                "platform": connection.provider,
                "status": status,
                "created_at": show(connection.created_at),
            }),
        };
        event.in_profile(connection.of_profile.as_ref())
    }

    /// Both fields are null where the resource is the user's own.
    pub(crate) fn in_profile(mut self, profile: Option<&ProfileRef>) -> Self {
        self.detail["profile_id"] = json!(profile.map(|it| it.profile_id));
        self.detail["profile_external_id"] = json!(profile.and_then(|it| it.profile_external_id.as_ref()));
        self
    }

    pub fn expiring(connection: &Connection, ends_at: DateTime<Utc>, now: DateTime<Utc>) -> Self {
        let mut event = Self::for_connection("connection.expiring", connection, now);
        event.detail["expires_at"] = show(ends_at).into();
        event
    }

    fn for_post(detail_type: &'static str, post: &Post) -> Self {
        let failed = post.targets.iter().find(|it| it.status == TargetStatus::Failed);
        let event = Self {
            detail_type,
            detail: json!({
                "id": format!("{detail_type}:{}:{}", post.post_id, post.revision),
                "occurred_at": show(post.updated_at),
                "user_id": post.user_id.to_string(),
                "post_id": post.post_id,
                "sequence": post.revision,
                "status": post.status.as_str(),
                "scheduled_at": post.scheduled_at.map(show),
                "message": failed.and_then(|it| it.error_message.as_ref()),
                "class": failed.and_then(|it| it.failure).map(FailureClass::as_str),
                "targets": post.targets.iter().map(|it| json!({
                    "target_id": it.target_id,
                    "connection_id": it.connection_id,
                    "status": it.status.as_str(),
                    "segments": segments(post, it),
                })).collect::<Vec<_>>(),
            }),
        };
        event.in_profile(post.of_profile.as_ref())
    }

    fn for_target(detail_type: &'static str, post: &Post, target: &Target) -> Self {
        let event = Self {
            detail_type,
            detail: json!({
                "id": format!("{detail_type}:{}:{}:{}", post.post_id, target.target_id, post.revision),
                "occurred_at": show(post.updated_at),
                "user_id": post.user_id.to_string(),
                "post_id": post.post_id,
                "sequence": post.revision,
                "target_id": target.target_id,
                "connection_id": target.connection_id,
                "platform": target.provider,
                "status": target.status.as_str(),
                "scheduled_at": post.scheduled_at.map(show),
                "published_at": target.published().map(|it| show(it.at)),
                "platform_post_id": target.published().map(|it| &it.platform_post_id),
                "segments": segments(post, target),
                "message": target.error_message,
                "class": target.failure.map(FailureClass::as_str),
            }),
        };
        event.in_profile(post.of_profile.as_ref())
    }
}

fn segments(post: &Post, target: &Target) -> Vec<Value> {
    let view = |it: SegmentView<'_>| {
        json!({
            "kind": it.segment.kind.as_str(),
            "status": it.status.as_str(),
            "published_at": it.published.map(|it| show(it.at)),
            "platform_post_id": it.published.map(|it| &it.platform_post_id),
        })
    };
    post.segment_views(target).into_iter().map(view).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::{AttemptError, Delivery};
    use crate::testing::{a_connection, a_post, a_user, noon};
    use crate::webhook::EventKind;

    #[test]
    fn connection_events_have_the_resulting_status() {
        let connection = a_connection(&a_user());
        for (event, status) in [
            (Event::connected(&connection, noon()), "active"),
            (Event::expiring(&connection, noon(), noon()), "active"),
            (Event::for_connection("connection.needs_reconnection", &connection, noon()), "needs_reconnection"),
            (Event::disconnected(&connection, noon()), "deleted"),
        ] {
            assert_eq!(event.detail["status"], status, "{}", event.detail_type);
            assert_eq!(event.detail["platform"], "sandbox");
        }
    }

    #[test]
    fn every_event_of_a_post_can_be_chosen_by_an_endpoint() {
        let user = a_user();
        let post = a_post(&user, Some(noon()), &[a_connection(&user)]);
        let target = &post.targets[0];
        for event in [
            Event::scheduled(&post),
            Event::target_published(&post, target),
            Event::target_failed(&post, target),
            Event::comment_failed(&post, target),
        ] {
            assert!(EventKind::parse(event.detail_type).is_some(), "{}", event.detail_type);
        }
    }

    #[test]
    fn failure_event_has_message_and_class_without_the_text() {
        let user = a_user();
        let post = a_post(&user, Some(noon()), &[a_connection(&user)]);
        let error = AttemptError::Refused { reason: "not wanted".to_owned() };
        let delivery = Delivery::new(&post, &post.targets[0], None, 1, noon());
        let delivery = delivery.open_intent(noon()).record_publish(Err(error), noon(), 0);
        let post = post.rolled_up(&[delivery], noon());

        for event in [Event::ended(&post).unwrap(), Event::target_failed(&post, &post.targets[0])] {
            assert_eq!(event.detail["message"], "not wanted");
            assert_eq!(event.detail["class"], "refused");
            assert!(!event.detail.to_string().contains(post.text.as_str()));
        }
    }
}
