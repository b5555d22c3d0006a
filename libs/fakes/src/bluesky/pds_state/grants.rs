//! Grants and their tokens.

use std::collections::HashSet;

use chrono::{DateTime, TimeDelta, Utc};

use super::client::{Client, ClientAuth};
use super::requests::ConsentRequest;
use crate::bluesky::api_error::ApiError;
use crate::bluesky::jose;

/// Lifetime of an access token.
pub(in crate::bluesky) const ACCESS_LIVES: TimeDelta = TimeDelta::minutes(60);

#[derive(Debug)]
pub(in crate::bluesky) struct Grant {
    client_id: String,
    auth: ClientAuth,
    /// Thumbprint of the key that all tokens of the grant are bound to.
    pub(in crate::bluesky) jkt: String,
    pub(in crate::bluesky) scope: String,
    code: String,
    pub(in crate::bluesky) access: String,
    pub(in crate::bluesky) access_ends: DateTime<Utc>,
    pub(in crate::bluesky) refresh: String,
    /// Used refresh tokens.
    used: HashSet<String>,
    created: DateTime<Utc>,
    refreshed: DateTime<Utc>,
}

/// The grants that were not revoked; some may have expired.
#[derive(Default)]
pub(in crate::bluesky) struct Grants(Vec<Grant>);

impl Grants {
    /// Adds a grant with its first access token.
    pub(in crate::bluesky) fn add(
        &mut self,
        request: ConsentRequest,
        auth: ClientAuth,
        code: &str,
        access: String,
        now: DateTime<Utc>,
    ) -> &Grant {
        self.0.push(Grant {
            client_id: request.client_id,
            auth,
            jkt: request.jkt,
            scope: request.scope,
            code: code.to_owned(),
            access,
            access_ends: now + ACCESS_LIVES,
            refresh: jose::random("ref-"),
            used: HashSet::new(),
            created: now,
            refreshed: now,
        });
        self.0.last().expect("one was just added")
    }

    /// The grant of an access token, which may have expired.
    pub(in crate::bluesky) fn with_access(&self, token: &str) -> Option<&Grant> {
        self.0.iter().find(|it| it.access == token)
    }

    /// Exchanges a refresh token for the next pair of tokens. The grant ends when the
    /// token was used before, the session has expired, or the client or the key differs.
    pub(in crate::bluesky) fn rotate(
        &mut self,
        refresh: &str,
        by: (&Client, &ClientAuth, &str),
        access: String,
        now: DateTime<Utc>,
    ) -> Result<&Grant, ApiError> {
        let invalid = |why: &str| ApiError::oauth("invalid_grant", why);
        let index = self.0.iter().position(|it| it.refresh == refresh || it.used.contains(refresh));
        let index = index.ok_or_else(|| invalid("Invalid refresh token"))?;
        let grant = &self.0[index];
        let checked = if grant.refresh == refresh {
            grant.check_client(by).and_then(|()| if grant.is_expired(now) { Err("Session expired") } else { Ok(()) })
        } else {
            Err("Refresh token replayed")
        };
        if let Err(why) = checked {
            self.0.remove(index);
            return Err(invalid(why));
        }
        let grant = &mut self.0[index];
        let used = std::mem::replace(&mut grant.refresh, jose::random("ref-"));
        grant.used.insert(used);
        grant.access = access;
        grant.access_ends = now + ACCESS_LIVES;
        grant.refreshed = now;
        Ok(grant)
    }

    /// Ends the grant of a token, if the grant belongs to this client.
    pub(in crate::bluesky) fn revoke(&mut self, token: &str, by: (&Client, &ClientAuth, &str)) {
        self.0.retain(|it| {
            let named = it.access == token || it.refresh == token || it.used.contains(token);
            !(named && it.check_client(by).is_ok())
        });
    }

    /// Ends the grant of a code that was used a second time.
    pub(in crate::bluesky) fn revoke_by_code(&mut self, code: &str) {
        self.0.retain(|it| it.code != code);
    }

    /// Ends all grants.
    pub(in crate::bluesky) fn clear(&mut self) {
        self.0.clear();
    }

    /// Expires all access tokens now.
    pub(in crate::bluesky) fn end_access(&mut self, now: DateTime<Utc>) {
        for grant in &mut self.0 {
            grant.access_ends = now;
        }
    }

    /// How many grants can still be refreshed.
    pub(in crate::bluesky) fn usable(&self, now: DateTime<Utc>) -> usize {
        self.0.iter().filter(|it| !it.is_expired(now)).count()
    }
}

impl Grant {
    /// Checks that the client, its authentication key and the token key match the grant.
    fn check_client(&self, (client, auth, jkt): (&Client, &ClientAuth, &str)) -> Result<(), &'static str> {
        if self.client_id != client.id {
            Err("Token was not issued to this client")
        } else if self.jkt != jkt {
            Err("DPoP proof does not match the expected JKT")
        } else if self.auth != *auth {
            Err("The session was initiated with a different key than the client assertion currently used")
        } else {
            Ok(())
        }
    }

    /// A grant lasts two weeks for public clients. For others it lasts two years, and
    /// three months without a refresh.
    fn is_expired(&self, now: DateTime<Utc>) -> bool {
        let (session, refresh) = match self.auth {
            ClientAuth::None => (TimeDelta::weeks(2), TimeDelta::weeks(2)),
            ClientAuth::PrivateKeyJwt(_) => (TimeDelta::days(730), TimeDelta::days(91)),
        };
        self.created + session < now || self.refreshed + refresh < now
    }
}
