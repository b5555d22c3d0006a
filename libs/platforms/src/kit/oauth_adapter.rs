//! What an adapter contributes to connecting an account through OAuth 2. The kit has the rest of [`Platform`] and
//! [`Connect`].

use chrono::{DateTime, Utc};
use domain::connection::Profile;
use domain::delivery::Setback;
use domain::rules::Rules;

use super::api_client::Auth;
use super::call_error::CallError;
use crate::account::{About, Account, Credentials};
use crate::choices::{Choice, Choosing};
use crate::discreet::without_token;
use crate::handoff::{Answers, AuthorizationRequest, Callback, Departure, HandOffRefusal, RefreshRefusal};
use crate::oauth2::OAuth2;
use crate::platform::{Connect, Platform};
use crate::renewal::Renewal;

/// What an adapter contributes to connecting an account through OAuth 2.
#[async_trait::async_trait]
pub(crate) trait OAuthAdapter: Send + Sync {
    /// The platform's name in paths and in `provider`.
    const NAME: &'static str;

    /// How credentials are refreshed.
    const RENEWAL: Renewal;

    fn oauth(&self) -> &OAuth2;

    fn scopes(&self) -> Vec<&str>;

    /// What the platform accepts from every account. For accounts whose own limits are not known yet.
    fn rules(&self) -> Rules;

    /// The accounts that a grant covers, at least one.
    async fn accounts(&self, auth: Auth<'_>) -> Result<Grant, CallError>;

    /// One of them, as it is now; `None` where the grant does not cover it any more.
    async fn account(&self, auth: Auth<'_>, profile: &Profile) -> Result<Option<About>, CallError> {
        let Grant { accounts, .. } = self.accounts(auth).await?;
        Ok(accounts.into_iter().find(|it| it.profile.account_id == profile.account_id))
    }

    /// The values that an option of the kind `Choice` may have for an account.
    async fn choices(&self, asked: &Choosing<'_>, auth: Auth<'_>) -> Result<Vec<Choice>, CallError> {
        let _ = (asked, auth);
        Ok(Vec::new())
    }
}

/// The accounts of a grant.
pub(crate) struct Grant {
    /// The platform's name of the grant, where it covers several accounts.
    pub(crate) name: Option<String>,
    pub(crate) accounts: Vec<About>,
}

impl Grant {
    /// For one account.
    pub(crate) fn of_one(profile: Profile, rules: Rules) -> Self {
        Self { name: None, accounts: vec![About { profile, rules }] }
    }
}

#[async_trait::async_trait]
impl<A: OAuthAdapter> Platform for A {
    fn name(&self) -> &'static str {
        A::NAME
    }

    fn renewal(&self) -> Renewal {
        A::RENEWAL
    }

    async fn refresh(&self, old: &Credentials, now: DateTime<Utc>) -> Result<Credentials, RefreshRefusal> {
        self.oauth().refresh(old, now).await
    }

    async fn about(
        &self,
        profile: &Profile,
        credentials: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<About>, Setback> {
        Ok(self.account(Auth::account(credentials, now), profile).await?)
    }
}

#[async_trait::async_trait]
impl<A: OAuthAdapter> Connect for A {
    fn rules(&self) -> Rules {
        OAuthAdapter::rules(self)
    }

    async fn authorize(
        &self,
        _: &Answers,
        request: &AuthorizationRequest,
        _: DateTime<Utc>,
    ) -> Result<Departure, HandOffRefusal> {
        let url = self.oauth().authorization_url(request, &self.scopes(), &[]).await?;
        Ok(Departure::Page { url, memory: None })
    }

    async fn complete(&self, callback: &Callback, now: DateTime<Utc>) -> Result<Vec<Account>, HandOffRefusal> {
        let tokens = self.oauth().complete(callback).await?;
        let grant = self.accounts(Auth::token(&tokens.access_token, now)).await;
        let Grant { name, accounts } = grant.map_err(|it| without_token(it, &tokens.access_token))?;
        let (scopes, credentials) = (tokens.granted(&self.scopes()), tokens.credentials(None, now));
        let account = |About { profile, rules }| Account {
            profile,
            rules,
            scopes: scopes.clone(),
            grant: name.clone(),
            credentials: credentials.clone(),
        };
        Ok(accounts.into_iter().map(account).collect())
    }

    async fn choices(&self, asked: &Choosing<'_>, now: DateTime<Utc>) -> Result<Vec<Choice>, Setback> {
        Ok(OAuthAdapter::choices(self, asked, Auth::account(asked.credentials, now)).await?)
    }

    async fn revoke(&self, credentials: &Credentials, now: DateTime<Utc>) -> Result<(), Setback> {
        self.oauth().revoke(credentials, now).await
    }
}
