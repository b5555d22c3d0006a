use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::address::EndpointUrl;
use super::kind::EventKind;
use super::response::EndpointResponse;
use crate::event::Event;
use crate::id::{ProfileId, UserId, WebhookId};
use crate::name::ClientName;
use crate::oauth::ClientId;
use crate::profile::ProfileRef;
use crate::schedule::show;

/// Of one user.
pub const MAX_ENDPOINTS: u32 = 10;

pub const DISABLED_AFTER: TimeDelta = TimeDelta::days(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DisabledReason {
    Owner,
    /// It returned 410.
    Gone,
    Failing,
}

impl DisabledReason {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Gone => "gone",
            Self::Failing => "failing",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointStatus {
    /// Receives nothing, not even tests.
    Disabled,
    /// Receives tests. A 2xx response to one of them enables it.
    Unverified,
    Enabled,
}

impl EndpointStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Unverified => "unverified",
            Self::Enabled => "enabled",
        }
    }
}

/// The access token that created an endpoint, and the client that held the token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Creator {
    /// The hash of the token, which is the token's id.
    pub token: String,
    /// The name that the client gave itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_name: Option<ClientName>,
    /// The client id, if the token came by an authorization code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<ClientId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookEndpoint {
    pub user_id: UserId,
    pub webhook_id: WebhookId,
    /// The profile whose events it receives; `None` for all events of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_profile: Option<ProfileRef>,
    pub url: EndpointUrl,
    /// The events that it receives; empty means all.
    pub events: Vec<EventKind>,
    /// `None` when a browser session created it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<Creator>,
    pub is_verified: bool,
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub disabled_at: Option<DateTime<Utc>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled_reason: Option<DisabledReason>,
    /// Start of the current series of failed attempts; `None` after a success.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub failing_since: Option<DateTime<Utc>>,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub created_at: DateTime<Utc>,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub updated_at: DateTime<Utc>,
    pub revision: u64,
}

impl WebhookEndpoint {
    /// A new endpoint for all events of the user, which is unverified.
    pub fn new(
        user_id: UserId,
        webhook_id: WebhookId,
        url: EndpointUrl,
        events: Vec<EventKind>,
        created_by: Option<Creator>,
        now: DateTime<Utc>,
    ) -> Self {
        Self {
            user_id,
            webhook_id,
            of_profile: None,
            url,
            events,
            created_by,
            is_verified: false,
            disabled_at: None,
            disabled_reason: None,
            failing_since: None,
            created_at: now,
            updated_at: now,
            revision: 1,
        }
    }

    pub fn is_disabled(&self) -> bool {
        self.disabled_at.is_some()
    }

    pub fn status(&self) -> EndpointStatus {
        match (self.is_disabled(), self.is_verified) {
            (true, _) => EndpointStatus::Disabled,
            (false, false) => EndpointStatus::Unverified,
            (false, true) => EndpointStatus::Enabled,
        }
    }

    /// Whether messages of this kind may be sent to it: tests also while it is unverified.
    pub fn accepts(&self, kind: EventKind) -> bool {
        match self.status() {
            EndpointStatus::Disabled => false,
            EndpointStatus::Unverified => kind == EventKind::WebhookTest,
            EndpointStatus::Enabled => true,
        }
    }

    /// Whether it receives this event now. The event that an endpoint was disabled goes to the
    /// other endpoints only.
    pub fn wants(&self, kind: EventKind) -> bool {
        self.status() == EndpointStatus::Enabled && (self.events.is_empty() || self.events.contains(&kind))
    }

    pub fn receives_events_of(&self, profile: Option<ProfileId>) -> bool {
        self.of_profile.as_ref().is_none_or(|it| profile == Some(it.profile_id))
    }

    #[must_use]
    pub fn with_changes(
        &self,
        url: Option<EndpointUrl>,
        events: Option<Vec<EventKind>>,
        disabled: Option<bool>,
        now: DateTime<Utc>,
    ) -> Self {
        let mut after = Self { updated_at: now, revision: self.revision + 1, ..self.clone() };
        if let Some(url) = url.filter(|it| *it != self.url) {
            after.url = url;
            // Failures and verification belong to the old URL.
            after.failing_since = None;
            after.is_verified = false;
        }
        after.events = events.unwrap_or(after.events);
        match disabled {
            Some(true) if !self.is_disabled() => after.disable(DisabledReason::Owner, now),
            Some(false) => {
                after.disabled_at = None;
                after.disabled_reason = None;
                after.failing_since = None;
            }
            _ => {}
        }
        after
    }

    /// Records the response to an attempt; `None` when nothing changes. `is_last` marks the last
    /// attempt of a delivery: single failures, days apart, do not disable an endpoint that accepts
    /// other deliveries in between. An accepted test verifies the endpoint; a failed one changes
    /// nothing, unless the response is 410.
    pub fn record_response(
        &self,
        kind: EventKind,
        response: &EndpointResponse,
        is_last: bool,
        now: DateTime<Utc>,
    ) -> Option<Self> {
        if self.is_disabled() {
            return None;
        }
        let is_test = kind == EventKind::WebhookTest;
        let mut after = Self { revision: self.revision + 1, ..self.clone() };
        if response.is_accepted() {
            after.is_verified |= is_test;
            after.failing_since = None;
            if (after.is_verified, after.failing_since) == (self.is_verified, self.failing_since) {
                return None;
            }
        } else if is_test && !response.is_gone() {
            return None;
        } else if response.is_gone() {
            after.disable(DisabledReason::Gone, now);
        } else {
            match self.failing_since {
                None => after.failing_since = Some(now),
                Some(since) if is_last && since + DISABLED_AFTER <= now => after.disable(DisabledReason::Failing, now),
                Some(_) => return None,
            }
        }
        Some(after)
    }

    /// The event that it was disabled; `None` if its owner disabled it.
    pub fn disabled_event(&self) -> Option<Event> {
        let reason = self.disabled_reason.filter(|it| *it != DisabledReason::Owner)?;
        let at = self.disabled_at?;
        let event = Event {
            detail_type: EventKind::WebhookDisabled.as_str(),
            detail: json!({
                "id": format!("webhook.disabled:{}:{}:{}", self.user_id, self.webhook_id, self.revision),
                "occurred_at": show(at),
                "user_id": self.user_id.to_string(),
                "webhook_id": self.webhook_id,
                "sequence": self.revision,
                "disabled_at": show(at),
                "reason": reason.as_str(),
            }),
        };
        Some(event.in_profile(self.of_profile.as_ref()))
    }

    fn disable(&mut self, reason: DisabledReason, now: DateTime<Utc>) {
        self.disabled_at = Some(now);
        self.disabled_reason = Some(reason);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{an_endpoint, noon};

    const KIND: EventKind = EventKind::PostPublished;

    fn answered(status: u16) -> EndpointResponse {
        EndpointResponse { status: Some(status), ..EndpointResponse::none("", 0) }
    }

    #[test]
    fn five_days_of_failures_disable_and_a_success_resets() {
        let first = an_endpoint().record_response(KIND, &answered(500), false, noon()).unwrap();
        assert_eq!(first.failing_since, Some(noon()));
        assert_eq!(first.record_response(KIND, &answered(500), true, noon() + TimeDelta::days(4)), None);
        let accepted = first.record_response(KIND, &answered(204), false, noon() + TimeDelta::days(4)).unwrap();
        assert_eq!(accepted.failing_since, None);
        assert_eq!(accepted.record_response(KIND, &answered(200), false, noon()), None, "nothing changes");

        assert_eq!(
            first.record_response(KIND, &answered(302), false, noon() + DISABLED_AFTER),
            None,
            "it is tried again"
        );
        let ended = first.record_response(KIND, &answered(302), true, noon() + DISABLED_AFTER).unwrap();
        assert_eq!(ended.disabled_reason, Some(DisabledReason::Failing));
        assert!(!ended.wants(EventKind::PostPublished));
        let event = ended.disabled_event().unwrap();
        assert_eq!((event.detail_type, &event.detail["reason"]), ("webhook.disabled", &json!("failing")));
    }

    #[test]
    fn endpoint_of_a_profile_is_for_its_events() {
        let profile = crate::testing::a_profile(&crate::testing::a_user()).reference();
        let (own, other) = (Some(profile.profile_id), ProfileId::new(1));
        let all = an_endpoint();
        let limited = WebhookEndpoint { of_profile: Some(profile), ..an_endpoint() };

        assert_eq!([None, own, other].map(|it| all.receives_events_of(it)), [true; 3]);
        assert_eq!([None, own, other].map(|it| limited.receives_events_of(it)), [false, true, false]);
        let gone = limited.record_response(KIND, &answered(410), false, noon()).unwrap();
        assert_eq!(gone.disabled_event().unwrap().detail["profile_id"], json!(own), "for others of the profile");
    }

    #[test]
    fn gone_disables_until_the_owner_enables_it() {
        let gone = an_endpoint().record_response(KIND, &answered(410), false, noon()).unwrap();
        assert_eq!(gone.disabled_reason, Some(DisabledReason::Gone));
        assert_eq!(gone.record_response(KIND, &answered(500), true, noon()), None);
        let back = gone.with_changes(None, None, Some(false), noon());
        assert!(back.wants(EventKind::PostFailed) && back.disabled_event().is_none());
    }

    #[test]
    fn disabling_by_the_owner_emits_no_event() {
        let off = an_endpoint().with_changes(None, None, Some(true), noon());
        assert!(off.is_disabled() && off.disabled_event().is_none());
    }

    #[test]
    fn endpoint_receives_its_chosen_events_or_all() {
        let all = an_endpoint();
        assert!(EventKind::ALL.into_iter().all(|it| all.wants(it)));
        let some = all.with_changes(None, Some(vec![EventKind::PostFailed]), None, noon());
        assert!(some.wants(EventKind::PostFailed) && !some.wants(EventKind::PostPublished));
    }

    #[test]
    fn new_url_resets_the_failures() {
        let failing = an_endpoint().record_response(KIND, &answered(500), false, noon()).unwrap();
        let same = failing.with_changes(Some(failing.url.clone()), None, None, noon());
        assert_eq!(same.failing_since, Some(noon()));
        let moved = failing.with_changes(EndpointUrl::parse("https://b.example").ok(), None, None, noon());
        assert_eq!(moved.failing_since, None);
    }

    #[test]
    fn endpoint_receives_events_only_after_an_accepted_test() {
        let (test, event) = (EventKind::WebhookTest, EventKind::PostPublished);
        let verified = an_endpoint();
        let other = EndpointUrl::parse("https://b.example").ok();
        let moved = verified.with_changes(other, None, None, noon());
        assert_eq!((verified.status(), moved.status()), (EndpointStatus::Enabled, EndpointStatus::Unverified));
        assert!(!moved.wants(event) && !moved.accepts(event) && moved.accepts(test));

        assert_eq!(moved.record_response(test, &answered(500), true, noon()), None);
        assert_eq!(moved.record_response(event, &answered(204), true, noon()), None, "an event verifies nothing");
        let again = moved.record_response(test, &answered(204), true, noon()).unwrap();
        assert!(again.wants(event) && again.accepts(event));
        assert_eq!(again.record_response(test, &answered(204), true, noon()), None, "nothing changes");
        assert_eq!(again.with_changes(Some(again.url.clone()), None, None, noon()).status(), EndpointStatus::Enabled);

        let off = moved.with_changes(None, None, Some(true), noon());
        assert_eq!(off.status(), EndpointStatus::Disabled);
        assert!(!off.accepts(test));
        assert_eq!(off.with_changes(None, None, Some(false), noon()).status(), EndpointStatus::Unverified);
        let gone = moved.record_response(test, &answered(410), true, noon()).unwrap();
        assert_eq!(gone.disabled_reason, Some(DisabledReason::Gone));
    }
}
