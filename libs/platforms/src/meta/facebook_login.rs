//! Facebook's own login: a user's grant, and its revocation.
//!
//! Facts: a code is exchanged for a token that lasts an hour or two, and this for one that lasts 60
//! days and cannot be refreshed; Page tokens that are read with it do not expire. An app may
//! request a configuration by name instead of permissions. Users are identified by an id that is
//! valid for our app only. Source: `facebook-login/guides/advanced/manual-flow`,
//! `access-tokens/get-long-lived`.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use domain::connection::AccountInfo;
use domain::delivery::AttemptError;
use domain::rules::Rules;
use http::Method;
use secrecy::SecretString;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::grants::{GONE, OURS, PASSING};
use super::graph::Graph;
use super::pages::{self, Page};
use super::permissions::Permissions;
use super::version::Version;
use crate::account::{Account, Credentials};
use crate::app::AppSource;
use crate::caller::Caller;
use crate::connect_flow::{AuthorizationRequest, Callback, ConnectError};
use crate::http_clients::HttpClients;
use crate::kit::{CallError, Effect, ErrorKind};
use crate::oauth2::{Dialect, Endpoints, OAuth2, ParameterLocation, TokenCall};
use crate::redaction::without_token;

pub(crate) const PORTFOLIOS: &str = "business_management";

const DIALECT: Dialect = Dialect {
    pkce: false,
    scope_separator: ",",
    code: TokenCall { grant_type: None, carried: ParameterLocation::Query, ..TokenCall::CODE },
    lengthening: Some(TokenCall::longer("fb_exchange_token", "fb_exchange_token")),
    gone: GONE,
    ours: OURS,
    passing: PASSING,
    ..Dialect::STANDARD
};

pub(crate) struct FacebookLogin {
    oauth: OAuth2,
    config_id: Option<String>,
}

impl FacebookLogin {
    /// `config_id` names the configuration of Facebook Login for Business with the permissions to
    /// request.
    pub(crate) fn new(
        http: &HttpClients,
        app: Arc<dyn AppSource>,
        (site, host): (&str, &str),
        config_id: Option<String>,
    ) -> Self {
        let version = Version::GRAPH.name;
        let endpoints = Endpoints {
            authorization: format!("{site}/{version}/dialog/oauth"),
            token: format!("{host}/{version}/oauth/access_token"),
            ..Endpoints::default()
        };
        Self { oauth: OAuth2::new(http.clone(), app, &DIALECT, endpoints), config_id }
    }

    /// Our app, with whose secret Meta signs.
    pub(crate) fn app(&self) -> &dyn AppSource {
        self.oauth.app()
    }

    pub(crate) async fn page(&self, request: &AuthorizationRequest, scopes: &[&str]) -> Result<String, ConnectError> {
        match &self.config_id {
            Some(id) => {
                let extra = [("config_id", id.as_str()), ("override_default_response_type", "true")];
                self.oauth.authorization_url(request, &[], &extra).await
            }
            // Otherwise Facebook does not ask again for permissions that the user declined before.
            None => self.oauth.authorization_url(request, scopes, &[("auth_type", "rerequest")]).await,
        }
    }

    /// Reads what the user has granted. Refuses a grant without one of the permissions `needed`.
    pub(crate) async fn complete(
        &self,
        callback: &Callback,
        graph: &Graph,
        needed: &[&str],
        now: DateTime<Utc>,
    ) -> Result<FacebookGrant, ConnectError> {
        let token = self.oauth.complete(callback).await?.access_token;
        let (caller, redact) = (Caller { token: &token, now }, |it: CallError| without_token(it, &token));
        let permissions = Permissions::fetch(graph, caller).await.map_err(redact)?;
        permissions.need(needed)?;
        let me: FacebookUser = graph.get(caller, "/me", &[("fields", "id")]).await.map_err(redact)?.body;
        Ok(FacebookGrant { person: me.id, permissions, token })
    }
}

pub(crate) struct FacebookGrant {
    person: String,
    pub(crate) permissions: Permissions,
    /// A long-lived token of the user: it lists all of their Pages, and revokes the grant.
    token: SecretString,
}

#[derive(Deserialize)]
struct FacebookUser {
    id: String,
}

impl FacebookGrant {
    pub(crate) async fn pages(
        &self,
        graph: &Graph,
        extra_fields: &[&str],
        now: DateTime<Utc>,
    ) -> Result<Vec<Page>, ConnectError> {
        let caller = Caller { token: &self.token, now };
        let all = pages::all(graph, caller, extra_fields, self.permissions.have(PORTFOLIOS)).await;
        all.map_err(|it| without_token(it, &self.token))
    }

    /// `None` if the user may not post to the Page.
    pub(crate) fn account(&self, page: &Page, profile: AccountInfo, rules: Rules) -> Option<Account> {
        let page_token = page.token.clone().filter(|_| page.may_post())?;
        Some(Account {
            profile,
            scopes: self.permissions.granted.clone(),
            rules,
            grant: Some(self.person.clone()),
            credentials: Credentials { own_token: Some(page_token), ..Credentials::new(self.token.clone()) },
        })
    }
}

/// Ends everything that the user of this token has granted to our app. A grant that has already
/// ended counts as revoked.
pub(crate) async fn give_back(graph: &Graph, caller: Caller<'_>) -> Result<(), AttemptError> {
    let revoked = async {
        let request = graph.request(caller, Method::DELETE, "/me/permissions").await?;
        graph.json::<IgnoredAny>(request, caller, Effect::Private).await
    };
    match revoked.await {
        Err(error) if error.kind != ErrorKind::Unauthorized => Err(error.into()),
        Ok(_) | Err(_) => Ok(()),
    }
}
