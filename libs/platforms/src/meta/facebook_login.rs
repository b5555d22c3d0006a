//! Facebook's own login: a person's grant, and how it is given back.
//!
//! Facts: a code brings a token for an hour or two, and that one another for 60 days, which
//! nothing renews; the tokens of Pages that are read with it do not end by themselves. An
//! app may ask by the name of a configuration instead of by permissions. The person is told
//! apart by an id that our app alone knows them by. Source:
//! `facebook-login/guides/advanced/manual-flow`, `access-tokens/get-long-lived`.

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
use crate::oauth2::{Carried, Dialect, Endpoints, OAuth2, TokenCall};
use crate::redaction::without_token;

/// The permission to see the Pages of portfolios.
pub(crate) const PORTFOLIOS: &str = "business_management";

/// How its OAuth differs.
const DIALECT: Dialect = Dialect {
    pkce: false,
    scope_separator: ",",
    code: TokenCall { grant_type: None, carried: Carried::Query, ..TokenCall::CODE },
    lengthening: Some(TokenCall::longer("fb_exchange_token", "fb_exchange_token")),
    gone: GONE,
    ours: OURS,
    passing: PASSING,
    ..Dialect::STANDARD
};

/// Facebook's login for one platform.
pub(crate) struct FacebookLogin {
    oauth: OAuth2,
    config_id: Option<String>,
}

impl FacebookLogin {
    /// At this website and this API, for this app. `config_id` names the configuration of
    /// Facebook Login for Business that says what is asked for.
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

    /// Our app, whose secret Meta signs with.
    pub(crate) fn app(&self) -> &dyn AppSource {
        self.oauth.app()
    }

    /// The page on which the person decides.
    pub(crate) async fn page(&self, request: &AuthorizationRequest, scopes: &[&str]) -> Result<String, ConnectError> {
        match &self.config_id {
            Some(id) => {
                let further = [("config_id", id.as_str()), ("override_default_response_type", "true")];
                self.oauth.authorization_url(request, &[], &further).await
            }
            // What somebody declined before is not asked again otherwise.
            None => self.oauth.authorization_url(request, scopes, &[("auth_type", "rerequest")]).await,
        }
    }

    /// What the person has granted; refused without one of the permissions `needed`. The API
    /// is this `graph`.
    pub(crate) async fn complete(
        &self,
        callback: &Callback,
        graph: &Graph,
        needed: &[&str],
        now: DateTime<Utc>,
    ) -> Result<Granted, ConnectError> {
        let token = self.oauth.complete(callback).await?.access_token;
        let (by, said) = (Caller { token: &token, now }, |it: CallError| without_token(it, &token));
        let permissions = Permissions::of(graph, by).await.map_err(said)?;
        permissions.need(needed)?;
        let person: Person = graph.get(by, "/me", &[("fields", "id")]).await.map_err(said)?.body;
        Ok(Granted { person: person.id, permissions, token })
    }
}

/// What a person has granted.
pub(crate) struct Granted {
    person: String,
    pub(crate) permissions: Permissions,
    /// A token of the person that lasts: it lists all of their Pages and gives them back.
    token: SecretString,
}

#[derive(Deserialize)]
struct Person {
    id: String,
}

impl Granted {
    /// The Pages that were chosen, with these fields beside the usual.
    pub(crate) async fn pages(
        &self,
        graph: &Graph,
        further: &[&str],
        now: DateTime<Utc>,
    ) -> Result<Vec<Page>, ConnectError> {
        let by = Caller { token: &self.token, now };
        let all = pages::all(graph, by, further, self.permissions.have(PORTFOLIOS)).await;
        all.map_err(|it| without_token(it, &self.token))
    }

    /// The account behind a Page: `None` where the person may not post for it.
    pub(crate) fn account(&self, page: &Page, profile: AccountInfo, rules: Rules) -> Option<Account> {
        let own = page.token.clone().filter(|_| page.may_post())?;
        Some(Account {
            profile,
            scopes: self.permissions.granted.clone(),
            rules,
            grant: Some(self.person.clone()),
            credentials: Credentials { own: Some(own), ..Credentials::new(self.token.clone()) },
        })
    }
}

/// Ends all that the person of this token has granted to our app. What has ended is as good
/// as given back.
pub(crate) async fn give_back(graph: &Graph, by: Caller<'_>) -> Result<(), AttemptError> {
    let asked = async {
        let request = graph.request(by, Method::DELETE, "/me/permissions").await?;
        graph.json::<IgnoredAny>(request, by, Effect::Private).await
    };
    match asked.await {
        Err(error) if error.kind != ErrorKind::Unauthorized => Err(error.into()),
        Ok(_) | Err(_) => Ok(()),
    }
}
