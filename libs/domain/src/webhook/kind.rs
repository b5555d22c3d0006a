use serde::{Deserialize, Serialize};

/// The event type, such as `post.published`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub enum EventKind {
    /// A post was scheduled for the first time or again.
    PostScheduled,
    /// Every target of a post is public.
    PostPublished,
    /// A post has ended, and at least one target has failed.
    PostFailed,
    TargetPublished,
    TargetFailed,
    TargetCommentFailed,
    ConnectionCreated,
    /// The grant of an account expires soon and cannot be refreshed.
    ConnectionExpiring,
    ConnectionNeedsReconnection,
    ConnectionDeleted,
    /// Another endpoint of the user was disabled.
    WebhookDisabled,
    WebhookTest,
}

impl EventKind {
    /// All events that an endpoint can choose; tests are not among them.
    pub const ALL: [Self; 11] = [
        Self::PostScheduled,
        Self::PostPublished,
        Self::PostFailed,
        Self::TargetPublished,
        Self::TargetFailed,
        Self::TargetCommentFailed,
        Self::ConnectionCreated,
        Self::ConnectionExpiring,
        Self::ConnectionNeedsReconnection,
        Self::ConnectionDeleted,
        Self::WebhookDisabled,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PostScheduled => "post.scheduled",
            Self::PostPublished => "post.published",
            Self::PostFailed => "post.failed",
            Self::TargetPublished => "target.published",
            Self::TargetFailed => "target.failed",
            Self::TargetCommentFailed => "target.comment_failed",
            Self::ConnectionCreated => "connection.created",
            Self::ConnectionExpiring => "connection.expiring",
            Self::ConnectionNeedsReconnection => "connection.needs_reconnection",
            Self::ConnectionDeleted => "connection.deleted",
            Self::WebhookDisabled => "webhook.disabled",
            Self::WebhookTest => "webhook.test",
        }
    }

    /// Parses an event type that an endpoint can choose, so not that of tests.
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
        found.ok_or_else(|| format!("unknown event type: {raw}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_type_parses_back_and_has_dotted_words() {
        for kind in EventKind::ALL {
            assert_eq!(EventKind::parse(kind.as_str()), Some(kind));
            let json = serde_json::to_string(&kind).unwrap();
            assert_eq!(serde_json::from_str::<EventKind>(&json).unwrap(), kind);
            assert!(kind.as_str().bytes().all(|it| it.is_ascii_lowercase() || it == b'.' || it == b'_'));
        }
        assert_eq!(EventKind::parse("webhook.test"), None);
    }
}
