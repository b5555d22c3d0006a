//! What an endpoint can be told of.

use serde::{Deserialize, Serialize};

/// The kind of an event, such as `post.published`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub enum EventKind {
    /// A post was scheduled for the first time or again.
    PostScheduled,
    /// Every target of a post is public.
    PostPublished,
    /// A post has ended, and at least one target has failed.
    PostFailed,
    /// A target is public.
    TargetPublished,
    TargetFailed,
    /// An account was connected.
    ConnectionCreated,
    /// The grant of an account ends soon and cannot be renewed.
    ConnectionExpiring,
    /// The grant of an account is gone.
    ConnectionNeedsReconnection,
    /// An account was disconnected.
    ConnectionDeleted,
    /// Another endpoint of the user is told nothing any more.
    WebhookDisabled,
    /// Only what a user asked for to see whether an endpoint works.
    WebhookTest,
}

impl EventKind {
    /// All that an endpoint can be told of without being asked.
    pub const ALL: [Self; 10] = [
        Self::PostScheduled,
        Self::PostPublished,
        Self::PostFailed,
        Self::TargetPublished,
        Self::TargetFailed,
        Self::ConnectionCreated,
        Self::ConnectionExpiring,
        Self::ConnectionNeedsReconnection,
        Self::ConnectionDeleted,
        Self::WebhookDisabled,
    ];

    /// As it stands in payloads.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PostScheduled => "post.scheduled",
            Self::PostPublished => "post.published",
            Self::PostFailed => "post.failed",
            Self::TargetPublished => "target.published",
            Self::TargetFailed => "target.failed",
            Self::ConnectionCreated => "connection.created",
            Self::ConnectionExpiring => "connection.expiring",
            Self::ConnectionNeedsReconnection => "connection.needs_reconnection",
            Self::ConnectionDeleted => "connection.deleted",
            Self::WebhookDisabled => "webhook.disabled",
            Self::WebhookTest => "webhook.test",
        }
    }

    /// Reads one; tests are none that an endpoint can choose.
    pub fn parse(raw: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == raw)
    }
}

impl From<EventKind> for &'static str {
    fn from(kind: EventKind) -> Self {
        kind.as_str()
    }
}

impl TryFrom<String> for EventKind {
    type Error = String;

    fn try_from(raw: String) -> Result<Self, String> {
        let found = Self::parse(&raw).or((raw == Self::WebhookTest.as_str()).then_some(Self::WebhookTest));
        found.ok_or_else(|| format!("{raw} is no kind of an event"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_read_as_it_is_written_and_consists_of_words_with_dots() {
        for kind in EventKind::ALL {
            assert_eq!(EventKind::parse(kind.as_str()), Some(kind));
            let json = serde_json::to_string(&kind).unwrap();
            assert_eq!(serde_json::from_str::<EventKind>(&json).unwrap(), kind);
            assert!(kind.as_str().bytes().all(|it| it.is_ascii_lowercase() || it == b'.' || it == b'_'));
        }
        assert_eq!(EventKind::parse("webhook.test"), None);
    }
}
