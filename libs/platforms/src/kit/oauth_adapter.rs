//! What an adapter contributes to connecting an account through OAuth 2. The kit has the rest of [`Platform`] and
//! [`Connect`].

use std::future::ready;

use chrono::{DateTime, Utc};
use domain::connection::AccountInfo;
use domain::delivery::AttemptError;
use domain::rules::Rules;

use super::api_client::Auth;
use super::call_error::CallError;
use crate::account::{Account, AccountDetails, Credentials};
use crate::app::AppSource;
use crate::choices::{Choice, ChoicesRequest};
use crate::connect_flow::{AuthorizationRequest, AuthorizeStep, Callback, ConnectError, FieldValues, RefreshError};
use crate::creator_info::CreatorInfo;
use crate::oauth2::OAuth2;
use crate::platform::{Connect, Platform};
use crate::redaction::without_token;
use crate::refresh_policy::RefreshPolicy;

pub(crate) trait OAuthAdapter: Send + Sync {
    /// The platform's name in paths and in `provider`.
    const NAME: &'static str;

    const REFRESH_POLICY: RefreshPolicy;

    const REVOKES_ALL: bool = false;

    fn oauth(&self) -> &OAuth2;

    fn scopes(&self) -> Vec<&str>;

    fn rules(&self) -> Rules;

    /// At least one.
    fn accounts(&self, auth: Auth<'_>) -> impl Future<Output = Result<Grant, CallError>> + Send;

    /// The current account info; `None` if the grant no longer covers the account.
    fn account(
        &self,
        auth: Auth<'_>,
        profile: &AccountInfo,
    ) -> impl Future<Output = Result<Option<AccountDetails>, CallError>> + Send {
        async move {
            let Grant { accounts, .. } = self.accounts(auth).await?;
            Ok(accounts.into_iter().find(|it| it.profile.account_id == profile.account_id))
        }
    }

    fn choices(
        &self,
        request: &ChoicesRequest<'_>,
        auth: Auth<'_>,
    ) -> impl Future<Output = Result<Vec<Choice>, CallError>> + Send {
        let _ = (request, auth);
        ready(Ok(Vec::new()))
    }

    fn creator_info(&self, auth: Auth<'_>) -> impl Future<Output = Result<Option<CreatorInfo>, CallError>> + Send {
        let _ = auth;
        ready(Ok(None))
    }
}

pub(crate) struct Grant {
    /// The id of the grant, if it covers several accounts.
    pub(crate) name: Option<String>,
    pub(crate) accounts: Vec<AccountDetails>,
}

impl Grant {
    pub(crate) fn for_account(profile: AccountInfo, rules: Rules) -> Self {
        Self { name: None, accounts: vec![AccountDetails { profile, rules }] }
    }
}

#[async_trait::async_trait]
impl<A: OAuthAdapter> Platform for A {
    fn name(&self) -> &'static str {
        A::NAME
    }

    fn refresh_policy(&self) -> RefreshPolicy {
        A::REFRESH_POLICY
    }

    async fn refresh(&self, old: &Credentials, now: DateTime<Utc>) -> Result<Credentials, RefreshError> {
        self.oauth().refresh(old, now).await
    }

    async fn account_details(
        &self,
        profile: &AccountInfo,
        credentials: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<AccountDetails>, AttemptError> {
        Ok(self.account(Auth::account(credentials, now), profile).await?)
    }
}

#[async_trait::async_trait]
impl<A: OAuthAdapter> Connect for A {
    fn rules(&self) -> Rules {
        OAuthAdapter::rules(self)
    }

    fn app(&self) -> Option<&dyn AppSource> {
        Some(self.oauth().app())
    }

    async fn authorize(
        &self,
        _: &FieldValues,
        request: &AuthorizationRequest,
        _: DateTime<Utc>,
    ) -> Result<AuthorizeStep, ConnectError> {
        let url = self.oauth().authorization_url(request, &self.scopes(), &[]).await?;
        Ok(AuthorizeStep::Redirect { url, memory: None })
    }

    async fn complete(&self, callback: &Callback, now: DateTime<Utc>) -> Result<Vec<Account>, ConnectError> {
        let tokens = self.oauth().complete(callback).await?;
        let grant = self.accounts(Auth::token(&tokens.access_token, now)).await;
        let Grant { name, accounts } = grant.map_err(|it| without_token(it, &tokens.access_token))?;
        let (scopes, credentials) = (tokens.granted(&self.scopes()), tokens.credentials(None, now));
        let account = |AccountDetails { profile, rules }| Account {
            profile,
            rules,
            scopes: scopes.clone(),
            grant: name.clone(),
            credentials: credentials.clone(),
        };
        Ok(accounts.into_iter().map(account).collect())
    }

    async fn choices(&self, request: &ChoicesRequest<'_>, now: DateTime<Utc>) -> Result<Vec<Choice>, AttemptError> {
        Ok(OAuthAdapter::choices(self, request, Auth::account(request.credentials, now)).await?)
    }

    async fn creator_info(
        &self,
        credentials: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<CreatorInfo>, AttemptError> {
        Ok(OAuthAdapter::creator_info(self, Auth::account(credentials, now)).await?)
    }

    fn revokes_all(&self) -> bool {
        A::REVOKES_ALL
    }

    async fn revoke(&self, credentials: &Credentials, now: DateTime<Utc>) -> Result<(), AttemptError> {
        self.oauth().revoke(credentials, now).await
    }
}
