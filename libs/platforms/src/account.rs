//! An account as a connect flow finds it, and the credentials to act for it.

use chrono::{DateTime, Utc};
use domain::connection::AccountInfo;
use domain::delivery::AttemptError;
use domain::rules::Rules;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug)]
pub struct Account {
    pub profile: AccountInfo,
    pub scopes: Vec<String>,
    pub rules: Rules,
    /// The platform's own id of the grant, where one grant covers several accounts. All of them
    /// have the same id, and it stays the same when the user authorizes again, if the platform has
    /// such an id. `None` where an account is granted alone; then its id names the grant.
    pub grant: Option<String>,
    pub credentials: Credentials,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AccountDetails {
    pub profile: AccountInfo,
    pub rules: Rules,
}

impl Account {
    pub fn grant_name(&self) -> &str {
        self.grant.as_deref().unwrap_or(&self.profile.account_id)
    }
}

/// Secrets with which a platform authorizes calls for an account. `Debug` does not print them.
#[derive(Clone, Debug)]
pub struct Credentials {
    pub access_token: SecretString,
    /// Exchanged for a new access token. `None` where the platform issues none.
    pub refresh_token: Option<SecretString>,
    pub expires_at: Option<DateTime<Utc>>,
    /// When an unused refresh token expires. `None` if it does not, or if the platform does not
    /// report it.
    pub refresh_expires_at: Option<DateTime<Utc>>,
    /// Further data of the adapter, such as a server or a key, in its own format.
    pub extra: Option<SecretString>,
    /// The account's own token, where the grant covers other accounts, too. Stored with the
    /// connection, and not refreshed.
    pub own_token: Option<SecretString>,
}

#[derive(Debug, thiserror::Error)]
#[error("stored credentials are unreadable")]
pub struct UnreadableCredentials;

#[derive(Debug, thiserror::Error)]
#[error("the stored site of this account cannot be read; connect the account again")]
pub(crate) struct UnreadableGrant;

impl From<UnreadableGrant> for AttemptError {
    fn from(unreadable: UnreadableGrant) -> Self {
        Self::Unauthorized { reason: unreadable.to_string() }
    }
}

#[derive(Serialize, Deserialize)]
struct CredentialsJson {
    access_token: String,
    refresh_token: Option<String>,
    expires_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refresh_expires_at: Option<i64>,
    extra: Option<String>,
}

impl Credentials {
    /// A token that does not expire and cannot be refreshed.
    pub fn new(access_token: SecretString) -> Self {
        Self {
            access_token,
            refresh_token: None,
            expires_at: None,
            refresh_expires_at: None,
            extra: None,
            own_token: None,
        }
    }

    /// The token for calls of this account: its own one, else that of the grant.
    pub fn account_token(&self) -> &SecretString {
        self.own_token.as_ref().unwrap_or(&self.access_token)
    }

    /// Whether the end of one grant also ends the other. Several users of a deployment may have
    /// connected the same account, and some platforms give all of them the same token.
    pub fn shares_token_with(&self, other: &Self) -> bool {
        let refresh = |it: &Self| it.refresh_token.as_ref().map(|it| it.expose_secret().to_owned());
        let shares_refresh = refresh(self).is_some_and(|it| Some(it) == refresh(other));
        shares_refresh || self.access_token.expose_secret() == other.access_token.expose_secret()
    }

    /// The form that is encrypted and stored, without the account's own token. The only place that
    /// writes credentials out.
    pub fn to_bytes(&self) -> SecretString {
        let expose = |it: &Option<SecretString>| it.as_ref().map(|it| it.expose_secret().to_owned());
        let stored = CredentialsJson {
            access_token: self.access_token.expose_secret().to_owned(),
            refresh_token: expose(&self.refresh_token),
            expires_at: self.expires_at.map(|it| it.timestamp_millis()),
            refresh_expires_at: self.refresh_expires_at.map(|it| it.timestamp_millis()),
            extra: expose(&self.extra),
        };
        serde_json::to_string(&stored).unwrap_or_default().into()
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Self, UnreadableCredentials> {
        let stored: CredentialsJson = serde_json::from_slice(bytes).map_err(|_| UnreadableCredentials)?;
        Ok(Self {
            access_token: stored.access_token.into(),
            refresh_token: stored.refresh_token.map(Into::into),
            expires_at: stored.expires_at.and_then(DateTime::from_timestamp_millis),
            refresh_expires_at: stored.refresh_expires_at.and_then(DateTime::from_timestamp_millis),
            extra: stored.extra.map(Into::into),
            own_token: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_token_may_be_shared() {
        let credentials = |access: &str, refresh: Option<&str>| Credentials {
            refresh_token: refresh.map(Into::into),
            ..Credentials::new(access.into())
        };
        let one = credentials("a", Some("r"));
        for (other, is_shared) in [
            (credentials("a", None), true),
            (credentials("b", Some("r")), true),
            (credentials("b", Some("s")), false),
            (credentials("b", None), false),
        ] {
            assert_eq!(one.shares_token_with(&other), is_shared);
            assert_eq!(other.shares_token_with(&one), is_shared);
        }
        assert!(!credentials("a", None).shares_token_with(&credentials("b", None)), "none is not the same");
    }

    #[test]
    fn credentials_round_trip_and_debug_omits_secrets() {
        let credentials = Credentials {
            refresh_token: Some("also-secret".into()),
            expires_at: DateTime::from_timestamp_millis(1_795_262_400_000),
            refresh_expires_at: DateTime::from_timestamp_millis(1_798_862_400_000),
            own_token: Some("page-secret".into()),
            ..Credentials::new("very-secret".into())
        };
        let read = Credentials::from_bytes(credentials.to_bytes().expose_secret().as_bytes()).unwrap();
        assert_eq!(read.access_token.expose_secret(), "very-secret");
        assert_eq!(read.expires_at, credentials.expires_at);
        assert_eq!(read.refresh_expires_at, credentials.refresh_expires_at);
        assert!(read.own_token.is_none(), "what is the account's own is kept elsewhere");
        assert!(!format!("{read:?}").contains("secret\""), "{read:?}");
        assert!(!format!("{read:?}").contains("very-secret"));
    }
}
