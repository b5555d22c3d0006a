//! The kinds of faults: the affected calls and the effect of each.

use chrono::TimeDelta;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::operation::Operation::{self, Comment, LookUp, Publish, Refresh, Upload};
use crate::conformance::fake_platform::InjectedFault;

/// In JSON, its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FaultKind {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) text: &'static str,
    operation: Operation,
    pub(super) effect: Effect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// A fault that every fake has. A rate limit takes its time from the order.
    OfKit(InjectedFault),
    /// 429 without `Retry-After`.
    Busy,
    /// 429 with the delay in `Retry-After`.
    BusyUntil,
    /// The call is carried out after the delay, even if the client has closed the connection.
    Slow,
    /// The connection is cut at once, and the call is carried out after the delay.
    Late,
    /// Posts cannot use the file before the delay is over.
    Processing,
    /// The grant ends.
    Revoke,
    /// The access token expires; the grant and its refresh token stay valid.
    Expire,
}

pub(super) struct Group {
    pub(super) title: &'static str,
    pub(super) kinds: &'static [FaultKind],
}

const REFUSED: Effect = Effect::OfKit(InjectedFault::Refused);
const RATE_LIMITED: Effect = Effect::OfKit(InjectedFault::RateLimited { retry_after: TimeDelta::zero() });
const SERVER_ERROR: Effect = Effect::OfKit(InjectedFault::ServerError);
const SERVER_ERROR_AFTER: Effect = Effect::OfKit(InjectedFault::ServerErrorAfter);
const CUT_BEFORE: Effect = Effect::OfKit(InjectedFault::CutBefore);
const LOSE_RESPONSE: Effect = Effect::OfKit(InjectedFault::LoseResponse);
const UNAVAILABLE: Effect = Effect::OfKit(InjectedFault::Unavailable);

const PUBLISHING: &[FaultKind] = &[
    FaultKind::new("refuse", "Refuse permanently", Publish, REFUSED).with_text("The content is refused: 422."),
    FaultKind::new("busy", "Refuse temporarily", Publish, Effect::Busy)
        .with_text("Nothing is published: 429 without Retry-After."),
    FaultKind::new("busy_until", "Refuse temporarily, with a time", Publish, Effect::BusyUntil)
        .with_text("Nothing is published: 429, with the delay in Retry-After."),
    FaultKind::new("rate_limit", "Rate limit", Publish, RATE_LIMITED)
        .with_text("Too many posts: 429, with the delay, or 2 seconds, in Retry-After."),
    FaultKind::new("error_before", "Error, not published", Publish, SERVER_ERROR)
        .with_text("Nothing is published, and the response is 500."),
    FaultKind::new("error_after", "Error, but published", Publish, SERVER_ERROR_AFTER)
        .with_text("The post is published, but the response is 500."),
    FaultKind::new("lose_call", "Connection cut, not published", Publish, CUT_BEFORE)
        .with_text("Nothing is published, and the connection is cut."),
    FaultKind::new("lose_answer", "Connection cut, but published", Publish, LOSE_RESPONSE)
        .with_text("The post is published, but the connection is cut before the response."),
    FaultKind::new("slow", "Slow", Publish, Effect::Slow)
        .with_text("The post is published after the delay, even if the client stops waiting."),
    FaultKind::new("late", "Connection cut, published later", Publish, Effect::Late)
        .with_text("The connection is cut at once; the post is published after the delay."),
    FaultKind::new("look_error", "Look-up fails", LookUp, SERVER_ERROR)
        .with_text("A look-up of published posts gets 500. Combine it with another fault."),
];

const COMMENTING: &[FaultKind] = &[
    FaultKind::new("comment_busy", "Refuse a comment temporarily", Comment, Effect::BusyUntil)
        .with_text("The comment is not added: 429, with the delay in Retry-After."),
    FaultKind::new("comment_refuse", "Refuse a comment", Comment, REFUSED).with_text("The comment is refused: 422."),
    FaultKind::new("comment_lose_answer", "Connection cut, but added", Comment, LOSE_RESPONSE)
        .with_text("The comment is added, but the connection is cut before the response."),
];

const UPLOADING: &[FaultKind] = &[
    FaultKind::new("media_slow", "Slow upload", Upload, Effect::Slow)
        .with_text("The file is accepted after the delay."),
    FaultKind::new("media_error", "Error during the upload", Upload, SERVER_ERROR)
        .with_text("The file is not stored, and the response is 500."),
    FaultKind::new("media_refuse", "Refuse a file", Upload, REFUSED).with_text("The file is refused: 422."),
    FaultKind::new("media_processing", "Slow processing", Upload, Effect::Processing)
        .with_text("The file is accepted, but posts cannot use it until the delay is over."),
];

const ACCESS: &[FaultKind] = &[
    FaultKind::new("revoke", "Revoke the grant", Publish, Effect::Revoke)
        .with_text("The next call gets 401. The account must be reconnected."),
    FaultKind::new("expire", "Expire the access token", Publish, Effect::Expire)
        .with_text("The next call gets 401. The token can be refreshed."),
    FaultKind::new("refuse_refresh", "Refuse the refresh", Refresh, REFUSED)
        .with_text("The access token expires now, and its refresh is refused. The account must be reconnected."),
    FaultKind::new("refresh_unreachable", "Refresh unavailable", Refresh, UNAVAILABLE)
        .with_text("The access token expires now, and its refresh gets 503."),
    FaultKind::new("lose_refresh", "Connection cut, but refreshed", Refresh, LOSE_RESPONSE).with_text(
        "The access token expires now. Its refresh uses up the old refresh token, but the connection is cut before \
         the response.",
    ),
];

/// In the order of the page.
pub(super) const GROUPS: [Group; 4] = [
    Group { title: "When a post is published", kinds: PUBLISHING },
    Group { title: "When a comment is added", kinds: COMMENTING },
    Group { title: "When a file is uploaded", kinds: UPLOADING },
    Group { title: "Access to the account", kinds: ACCESS },
];

impl FaultKind {
    pub(super) const fn new(name: &'static str, title: &'static str, operation: Operation, effect: Effect) -> Self {
        Self { name, title, text: "", operation, effect }
    }

    const fn with_text(self, text: &'static str) -> Self {
        Self { text, ..self }
    }

    pub(super) fn find(name: &str) -> Option<Self> {
        GROUPS.iter().flat_map(|it| it.kinds).find(|it| it.name == name).copied()
    }

    pub(super) fn affects(self, operation: Operation) -> bool {
        let is_of_access = matches!(self.effect, Effect::Revoke | Effect::Expire);
        self.operation == operation || is_of_access && operation == Upload
    }

    /// Posts are not affected, so an order may select the file.
    pub(super) fn is_for_files(self) -> bool {
        self.operation == Upload
    }

    pub(super) fn has_delay(self) -> bool {
        matches!(self.effect, Effect::BusyUntil | Effect::Slow | Effect::Late | Effect::Processing)
            || self.effect == RATE_LIMITED
    }

    /// The fault affects refreshes. Unless access tokens expire when it is armed, no token would be
    /// refreshed for most of an hour.
    pub(super) fn is_for_refresh(self) -> bool {
        self.operation == Refresh
    }
}

impl Serialize for FaultKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

impl<'de> Deserialize<'de> for FaultKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::find(&name)
            .ok_or_else(|| D::Error::custom(format!("there is no fault {name}; /sandbox/switches lists all")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_name() {
        let all: Vec<_> = GROUPS.iter().flat_map(|it| it.kinds).collect();
        assert_eq!(all.len(), 23);
        for kind in all {
            assert_eq!(FaultKind::find(kind.name), Some(*kind), "{}", kind.name);
        }
    }
}
