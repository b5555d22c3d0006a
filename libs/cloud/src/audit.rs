//! The audit trail: sign-ins, denials, and access that was granted, revoked or deleted.
//!
//! Entries are log lines with the target `audit`, written at every log level. They contain ids and
//! IP addresses, never a secret, a text or an e-mail address.

use std::net::IpAddr;

use domain::id::{ConnectionId, ProfileId, UserId};
use domain::token;

pub const TARGET: &str = "audit";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    SignedIn,
    SignInFailed,
    SignedOut,
    SignedOutEverywhere,
    /// A user approved a device, which then fetches its token.
    DeviceApproved,
    DeviceDenied,
    /// A user approved a client, which then exchanges its code.
    ClientApproved,
    ClientDenied,
    /// A code was sent a second time, so the token that it was exchanged for was revoked.
    CodeReplayed,
    TokenIssued,
    TokenRevoked,
    /// A request carried a token that is invalid, expired or revoked.
    TokenRefused,
    LockedOut,
    /// Includes reconnections.
    ConnectionMade,
    ConnectionRemoved,
    ConnectLinkMade,
    /// The consent that a platform requires for a post.
    ConsentGiven,
    WebhookMade,
    WebhookChanged,
    WebhookRotated,
    WebhookRemoved,
    PlanRefused,
    /// All data of a user, or of a profile.
    Erased,
}

impl Event {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SignedIn => "signed_in",
            Self::SignInFailed => "sign_in_failed",
            Self::SignedOut => "signed_out",
            Self::SignedOutEverywhere => "signed_out_everywhere",
            Self::DeviceApproved => "device_approved",
            Self::DeviceDenied => "device_denied",
            Self::ClientApproved => "client_approved",
            Self::ClientDenied => "client_denied",
            Self::CodeReplayed => "code_replayed",
            Self::TokenIssued => "token_issued",
            Self::TokenRevoked => "token_revoked",
            Self::TokenRefused => "token_refused",
            Self::LockedOut => "locked_out",
            Self::ConnectionMade => "connection_made",
            Self::ConnectionRemoved => "connection_removed",
            Self::ConnectLinkMade => "connect_link_made",
            Self::ConsentGiven => "consent_given",
            Self::WebhookMade => "webhook_made",
            Self::WebhookChanged => "webhook_changed",
            Self::WebhookRotated => "webhook_rotated",
            Self::WebhookRemoved => "webhook_removed",
            Self::PlanRefused => "plan_refused",
            Self::Erased => "erased",
        }
    }
}

/// An entry of the audit trail. Nothing is written before [`Entry::write`].
///
/// ```text
/// Entry::new(Event::TokenIssued).user(user).token(&hash).address(address).write();
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "an entry is not in the log until it is written"]
pub struct Entry<'a> {
    event: Event,
    user: Option<UserId>,
    claimed: Option<UserId>,
    token: Option<&'a str>,
    connection: Option<ConnectionId>,
    profile: Option<ProfileId>,
    address: Option<IpAddr>,
    why: Option<&'a str>,
}

impl<'a> Entry<'a> {
    pub const fn new(event: Event) -> Self {
        Self {
            event,
            user: None,
            claimed: None,
            token: None,
            connection: None,
            profile: None,
            address: None,
            why: None,
        }
    }

    pub const fn user(mut self, user: UserId) -> Self {
        self.user = Some(user);
        self
    }

    /// The user that a token claims to belong to, which is not proven.
    pub const fn claimed(mut self, user: UserId) -> Self {
        self.claimed = Some(user);
        self
    }

    /// The hash of the token; only its beginning is logged.
    pub const fn token(mut self, hash: &'a str) -> Self {
        self.token = Some(hash);
        self
    }

    pub const fn connection(mut self, connection: ConnectionId) -> Self {
        self.connection = Some(connection);
        self
    }

    pub const fn limited_to(mut self, profile: Option<ProfileId>) -> Self {
        self.profile = profile;
        self
    }

    pub const fn address(mut self, address: IpAddr) -> Self {
        self.address = Some(address);
        self
    }

    /// The reason, as a text of ours (never a text of a client).
    pub const fn why(mut self, why: &'a str) -> Self {
        self.why = Some(why);
        self
    }

    pub fn write(self) {
        tracing::info!(
            target: TARGET,
            event = self.event.as_str(),
            user_id = self.user.map(UserId::get),
            claimed_user_id = self.claimed.map(UserId::get),
            token_id = self.token.map(token::short_id),
            connection_id = self.connection.map(ConnectionId::get),
            profile_id = self.profile.map(ProfileId::get),
            address = self.address.map(tracing::field::display),
            why = self.why,
            "audit"
        );
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::LogLines;

    #[test]
    fn entry_is_written_at_every_log_level_with_shortened_hash() {
        let log = LogLines::record("error");
        let hash = token::hash("secret");

        tracing::info!("not this");
        let entry = Entry::new(Event::TokenIssued).user(UserId::new(7).unwrap()).token(&hash);
        entry.address([192, 0, 2, 1].into()).write();

        let lines = log.lines();
        assert_eq!((lines.len(), &lines[0]["target"]), (1, &json!("audit")));
        let fields = json!({
            "event": "token_issued",
            "user_id": 7,
            "token_id": &hash[..10],
            "address": "192.0.2.1",
            "message": "audit",
        });
        assert_eq!(lines[0]["fields"], fields);
    }
}
