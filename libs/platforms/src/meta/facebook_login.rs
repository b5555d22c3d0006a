//! Facebook's own login: a person's grant, and how it is given back.
//!
//! Facts: a code brings a token for an hour or two, and that one another for 60 days, which
//! nothing renews; the tokens of Pages that are read with it do not end by themselves. An
//! app may ask by the name of a configuration instead of by permissions. Source:
//! `facebook-login/guides/advanced/manual-flow`, `access-tokens/get-long-lived`.

use std::sync::Arc;

use domain::delivery::Setback;
use http::Method;
use serde::de::IgnoredAny;

use super::failure::Blame;
use super::graph::Graph;
use super::version::Version;
use crate::app::AppSource;
use crate::caller::Caller;
use crate::handoff::{AuthorizationRequest, Callback, HandOffRefusal};
use crate::http_clients::HttpClients;
use crate::oauth2::{Carried, Dialect, Endpoints, OAuth2, TokenCall, Tokens};

/// How its OAuth differs.
const DIALECT: Dialect = Dialect {
    pkce: false,
    scope_separator: ",",
    code: TokenCall { grant_type: None, carried: Carried::Query, ..TokenCall::CODE },
    lengthening: Some(TokenCall::longer("fb_exchange_token", "fb_exchange_token")),
    // An app that is not known; a secret that is wrong is error 1, like much else.
    ours: &["101"],
    passing: &["1", "2", "4", "17", "341"],
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
    pub(crate) async fn page(&self, request: &AuthorizationRequest, scopes: &[&str]) -> Result<String, HandOffRefusal> {
        match &self.config_id {
            Some(id) => {
                let further = [("config_id", id.as_str()), ("override_default_response_type", "true")];
                self.oauth.authorization_url(request, &[], &further).await
            }
            // What somebody declined before is not asked again otherwise.
            None => self.oauth.authorization_url(request, scopes, &[("auth_type", "rerequest")]).await,
        }
    }

    /// A token of the person that lasts.
    pub(crate) async fn complete(&self, callback: &Callback) -> Result<Tokens, HandOffRefusal> {
        self.oauth.complete(callback).await
    }
}

/// Ends all that the person of this token has granted to our app. What has ended is as good
/// as given back.
pub(crate) async fn give_back(graph: &Graph, by: Caller<'_>) -> Result<(), Setback> {
    let asked = async {
        let request = graph.request(by, Method::DELETE, "/me/permissions").await?;
        graph.json::<IgnoredAny>(request, by).await
    };
    match asked.await {
        Err(failure) if failure.blame() != Some(Blame::Grant) => Err(failure.before_the_call(by.now)),
        Ok(_) | Err(_) => Ok(()),
    }
}
