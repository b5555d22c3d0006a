//! Who may act for an account: grants and the tokens that stand for them.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use domain::token::random_u64;
use platforms::{Credentials, Renewal};
use secrecy::ExposeSecret;

use super::spec::Spec;

/// Every token has it, so that one is found wherever it should not be.
pub(crate) const MARK: &str = "s3cr3t";

/// Why a token is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rejected {
    /// The grant is gone.
    Gone,
    /// A refresh token that was used before. The grant is gone by now.
    Reused,
    /// An access token that has ended.
    Ended,
}

/// Who may act for which account.
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
    /// The person says yes: credentials that last so long, where they end.
    pub(crate) fn give(&mut self, account: &str, spec: Spec, lasts: TimeDelta, now: DateTime<Utc>) -> Credentials {
        self.grants.push(Grant { account: account.to_owned(), alive: true });
        let grant = self.grants.len() - 1;
        self.issue(grant, spec, lasts, now)
    }

    fn issue(&mut self, grant: usize, spec: Spec, lasts: TimeDelta, now: DateTime<Utc>) -> Credentials {
        let expires_at = spec.ends.then(|| now + lasts);
        let access_token = self.token("access", grant, expires_at).into();
        let rotates = spec.renewal == Renewal::Rotating;
        let refresh_token = rotates.then(|| self.token("refresh", grant, None).into());
        Credentials { access_token, refresh_token, expires_at, extra: None }
    }

    /// The person takes every grant of an account back.
    pub(crate) fn revoke_account(&mut self, account: &str) {
        for grant in self.grants.iter_mut().filter(|it| it.account == account) {
            grant.alive = false;
        }
    }

    /// The grant of these credentials ends.
    pub(crate) fn revoke(&mut self, credentials: &Credentials) {
        if let Some(token) = self.tokens.get(credentials.access_token.expose_secret()) {
            self.grants[token.grant].alive = false;
        }
    }

    /// The account that may be acted for.
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

    /// New credentials for old ones.
    pub(crate) fn renew(
        &mut self,
        old: &Credentials,
        spec: Spec,
        lasts: TimeDelta,
        now: DateTime<Utc>,
    ) -> Result<Credentials, Rejected> {
        let spent = match spec.renewal {
            Renewal::Never => return Err(Rejected::Gone),
            Renewal::Extending => &old.access_token,
            Renewal::Rotating => old.refresh_token.as_ref().ok_or(Rejected::Gone)?,
        };
        let token = self.tokens.get(spent.expose_secret()).ok_or(Rejected::Gone)?;
        let (grant, reused, ended) = (token.grant, token.spent, token.ends_at.is_some_and(|it| it <= now));
        if !self.grants[grant].alive {
            return Err(Rejected::Gone);
        }
        if reused {
            // Somebody must have stolen it, so nobody may use what came of it.
            self.grants[grant].alive = false;
            return Err(Rejected::Reused);
        }
        if ended {
            return Err(Rejected::Ended);
        }
        if spec.renewal == Renewal::Rotating {
            // Everything that came before ends at once.
            for token in self.tokens.values_mut().filter(|it| it.grant == grant) {
                token.spent = true;
            }
        }
        Ok(self.issue(grant, spec, lasts, now))
    }

    fn token(&mut self, kind: &str, grant: usize, ends_at: Option<DateTime<Utc>>) -> String {
        let text = format!("{MARK}-{kind}-{}", random_u64());
        self.tokens.insert(text.clone(), Token { grant, ends_at, spent: false });
        text
    }
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;

    use super::*;

    #[test]
    fn a_refresh_token_that_is_used_twice_ends_the_grant() {
        let mut grants = Grants::default();
        let (spec, lasts) = (Spec::named("keyed"), TimeDelta::minutes(5));
        let first = grants.give("1", spec, lasts, noon());

        let second = grants.renew(&first, spec, lasts, noon()).unwrap();
        assert_eq!(grants.account(&first, noon()), Err(Rejected::Ended));
        assert_eq!(grants.account(&second, noon()), Ok("1"));

        let again = grants.renew(&first, spec, lasts, noon());
        assert_eq!(again.unwrap_err(), Rejected::Reused);
        assert_eq!(grants.account(&second, noon()), Err(Rejected::Gone));
    }
}
