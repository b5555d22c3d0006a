use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use platforms::{Credentials, RefreshPolicy};
use secrecy::ExposeSecret;

use super::spec::Spec;

/// Part of every token, so that a search finds tokens anywhere.
pub(crate) const MARK: &str = "s3cr3t";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rejected {
    Gone,
    /// The refresh token was used before, which has ended the grant.
    Reused,
    Ended,
}

#[derive(Debug, Default)]
pub(crate) struct Grants {
    grants: Vec<Grant>,
    tokens: BTreeMap<String, Token>,
}

#[derive(Debug)]
struct Grant {
    account: String,
    alive: bool,
}

#[derive(Debug)]
struct Token {
    grant: usize,
    ends_at: Option<DateTime<Utc>>,
    spent: bool,
}

impl Grants {
    /// Access tokens that expire are valid for `lasts`.
    pub(crate) fn give(&mut self, account: &str, spec: Spec, lasts: TimeDelta, now: DateTime<Utc>) -> Credentials {
        self.grants.push(Grant { account: account.to_owned(), alive: true });
        let grant = self.grants.len() - 1;
        self.issue(grant, spec, lasts, now)
    }

    fn issue(&mut self, grant: usize, spec: Spec, lasts: TimeDelta, now: DateTime<Utc>) -> Credentials {
        let expires_at = spec.ends.then(|| now + lasts);
        let access_token = self.token("access", grant, expires_at).into();
        let rotates = spec.refresh_policy == RefreshPolicy::Rotating;
        let refresh_token = rotates.then(|| self.token("refresh", grant, None).into());
        Credentials { refresh_token, expires_at, ..Credentials::new(access_token) }
    }

    pub(crate) fn revoke_account(&mut self, account: &str) {
        for grant in self.grants.iter_mut().filter(|it| it.account == account) {
            grant.alive = false;
        }
    }

    pub(crate) fn revoke(&mut self, credentials: &Credentials) {
        if let Some(token) = self.tokens.get(credentials.access_token.expose_secret()) {
            self.grants[token.grant].alive = false;
        }
    }

    pub(crate) fn account(&self, credentials: &Credentials, now: DateTime<Utc>) -> Result<&str, Rejected> {
        let token = self.tokens.get(credentials.access_token.expose_secret()).ok_or(Rejected::Gone)?;
        let grant = &self.grants[token.grant];
        if !grant.alive {
            return Err(Rejected::Gone);
        }
        if token.spent || token.ends_at.is_some_and(|it| it <= now) {
            return Err(Rejected::Ended);
        }
        Ok(&grant.account)
    }

    pub(crate) fn refresh(
        &mut self,
        old: &Credentials,
        spec: Spec,
        lasts: TimeDelta,
        now: DateTime<Utc>,
    ) -> Result<Credentials, Rejected> {
        let spent = match spec.refresh_policy {
            // No simulated platform updates credentials.
            RefreshPolicy::Never | RefreshPolicy::Updating => return Err(Rejected::Gone),
            RefreshPolicy::Extending => &old.access_token,
            RefreshPolicy::Rotating => old.refresh_token.as_ref().ok_or(Rejected::Gone)?,
        };
        let token = self.tokens.get(spent.expose_secret()).ok_or(Rejected::Gone)?;
        let (grant, is_reused, is_expired) = (token.grant, token.spent, token.ends_at.is_some_and(|it| it <= now));
        if !self.grants[grant].alive {
            return Err(Rejected::Gone);
        }
        if is_reused {
            // A second use means that the token was stolen, so the whole grant ends.
            self.grants[grant].alive = false;
            return Err(Rejected::Reused);
        }
        if is_expired {
            return Err(Rejected::Ended);
        }
        if spec.refresh_policy == RefreshPolicy::Rotating {
            // All earlier tokens of the grant become invalid immediately.
            for token in self.tokens.values_mut().filter(|it| it.grant == grant) {
                token.spent = true;
            }
        }
        Ok(self.issue(grant, spec, lasts, now))
    }

    fn token(&mut self, kind: &str, grant: usize, ends_at: Option<DateTime<Utc>>) -> String {
        let text = format!("{MARK}-{kind}-{}", self.tokens.len());
        self.tokens.insert(text.clone(), Token { grant, ends_at, spent: false });
        text
    }
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;

    use super::*;

    #[test]
    fn reused_refresh_token_ends_the_grant() {
        let mut grants = Grants::default();
        let (spec, lasts) = (Spec::named("keyed"), TimeDelta::minutes(5));
        let first = grants.give("1", spec, lasts, noon());

        let second = grants.refresh(&first, spec, lasts, noon()).unwrap();
        assert_eq!(grants.account(&first, noon()), Err(Rejected::Ended));
        assert_eq!(grants.account(&second, noon()), Ok("1"));

        let again = grants.refresh(&first, spec, lasts, noon());
        assert_eq!(again.unwrap_err(), Rejected::Reused);
        assert_eq!(grants.account(&second, noon()), Err(Rejected::Gone));
    }
}
