//! The two logins that connect accounts.
//!
//! Facts (`instagram-api-with-instagram-login/business-login`, `reference/access_token`,
//! `reference/refresh_access_token`; `instagram-api-with-facebook-login/get-started`):
//!
//! - Instagram's own login: one account. A code is exchanged for a token that lasts an hour, and
//!   this for one that lasts 60 days, which can be exchanged for the next one once it is a day old
//!   and until it expires. There is no revocation call: users revoke access in Instagram.
//! - Facebook's login: accounts that are linked to Pages on which the user may create content.

use chrono::{DateTime, Utc};
use domain::connection::AccountInfo;
use domain::delivery::AttemptError;
use domain::rules::Rules;
use serde::Deserialize;
use url::Url;

use super::account::{self, Member};
use super::{ERRORS, NAME};
use crate::account::{Account, Credentials};
use crate::app::{AppSource, NoExtraSecrets};
use crate::caller::Caller;
use crate::connect_flow::{AuthorizationRequest, Callback, ConnectError, RefreshError};
use crate::kit::CallError;
use crate::meta::facebook_login::{FacebookLogin, PORTFOLIOS, give_back};
use crate::meta::pages::Page;
use crate::meta::{self, Graph, Permissions, Version};
use crate::oauth2::{ClientAuth, Dialect, Endpoints, OAuth2, TokenCall};
use crate::redaction::without_token;
use crate::refresh_policy::RefreshPolicy;
use crate::setup::Setup;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LoginMethod {
    #[default]
    Instagram,
    Facebook,
}

pub(super) struct LoginSettings {
    pub(super) by: LoginMethod,
    pub(super) scopes: Option<Vec<String>>,
    pub(super) config_id: Option<String>,
}

const DIALECT: Dialect = Dialect {
    pkce: false,
    scope_separator: ",",
    lengthening: Some(TokenCall {
        client: ClientAuth::Secret,
        ..TokenCall::longer("ig_exchange_token", "access_token")
    }),
    refresh: TokenCall { client: ClientAuth::None, ..TokenCall::longer("ig_refresh_token", "access_token") },
    gone: meta::GONE,
    ours: meta::OURS,
    passing: meta::PASSING,
    ..Dialect::STANDARD
};

/// Without these scopes, nothing works with Instagram's login; then the one for first comments.
const NEEDED: &[&str] = &["instagram_business_basic", "instagram_business_content_publish"];
const SCOPES: &[&str] =
    &["instagram_business_basic", "instagram_business_content_publish", "instagram_business_manage_comments"];

const NEEDED_OF_FACEBOOK: &[&str] =
    &["instagram_basic", "instagram_content_publish", "pages_show_list", "pages_read_engagement"];
const SCOPES_OF_FACEBOOK: &[&str] = &[
    "instagram_basic",
    "instagram_content_publish",
    "instagram_manage_comments",
    "pages_show_list",
    "pages_read_engagement",
    PORTFOLIOS,
];

const OF_A_PAGE: &str = "instagram_business_account{id,username,name,profile_picture_url}";

pub(super) struct Login {
    pub(super) graph: Graph,
    way: LoginOAuth,
    scopes: Vec<String>,
}

enum LoginOAuth {
    Instagram(OAuth2),
    Facebook(FacebookLogin),
}

impl Login {
    /// `url` is the base URL of Meta's websites and APIs, if not Meta's own.
    pub(super) fn new(setup: &Setup, url: Option<&Url>, chosen: LoginSettings) -> Self {
        let at =
            |official: &str| url.map_or_else(|| official.to_owned(), |it| it.as_str().trim_end_matches('/').to_owned());
        let (http, app) = (&setup.http, setup.app::<NoExtraSecrets>(NAME));
        let (graph, way, usual) = match chosen.by {
            LoginMethod::Instagram => {
                let host = at("https://graph.instagram.com");
                let endpoints = Endpoints {
                    authorization: format!("{}/oauth/authorize", at("https://www.instagram.com")),
                    token: format!("{}/oauth/access_token", at("https://api.instagram.com")),
                    lengthening: Some(format!("{host}/access_token")),
                    refresh: Some(format!("{host}/refresh_access_token")),
                    revocation: None,
                };
                let oauth = OAuth2::new(http.clone(), app, &DIALECT, endpoints);
                let graph = Graph::new(http.clone(), &host, Version::GRAPH, &ERRORS);
                (graph, LoginOAuth::Instagram(oauth), SCOPES)
            }
            LoginMethod::Facebook => {
                let (site, host) = (at("https://www.facebook.com"), at("https://graph.facebook.com"));
                let login = FacebookLogin::new(http, app.clone(), (&site, &host), chosen.config_id);
                let graph = Graph::new(http.clone(), &host, Version::GRAPH, &ERRORS).with_app_proof(app);
                (graph, LoginOAuth::Facebook(login), SCOPES_OF_FACEBOOK)
            }
        };
        let scopes = chosen.scopes.unwrap_or_else(|| usual.iter().map(|it| (*it).to_owned()).collect());
        Self { graph, way, scopes }
    }

    /// Our app, with whose secret Meta signs.
    pub(super) fn app(&self) -> &dyn AppSource {
        match &self.way {
            LoginOAuth::Instagram(oauth) => oauth.app(),
            LoginOAuth::Facebook(login) => login.app(),
        }
    }

    pub(super) fn refresh_policy(&self) -> RefreshPolicy {
        match self.way {
            LoginOAuth::Instagram(_) => RefreshPolicy::Extending,
            LoginOAuth::Facebook(_) => RefreshPolicy::Never,
        }
    }

    pub(super) async fn refresh(&self, old: &Credentials, now: DateTime<Utc>) -> Result<Credentials, RefreshError> {
        match &self.way {
            LoginOAuth::Instagram(oauth) => oauth.refresh(old, now).await,
            LoginOAuth::Facebook(_) => Err(RefreshError::Unreachable("Page tokens cannot be refreshed".to_owned())),
        }
    }

    pub(super) async fn page(&self, request: &AuthorizationRequest) -> Result<String, ConnectError> {
        self.graph.check_reach(&request.urls)?;
        let scopes = self.scopes();
        match &self.way {
            LoginOAuth::Instagram(oauth) => oauth.authorization_url(request, &scopes, &[]).await,
            LoginOAuth::Facebook(login) => login.page(request, &scopes).await,
        }
    }

    pub(super) async fn complete(
        &self,
        callback: &Callback,
        rules: &Rules,
        now: DateTime<Utc>,
    ) -> Result<Vec<Account>, ConnectError> {
        match &self.way {
            LoginOAuth::Instagram(oauth) => {
                let tokens = oauth.complete(callback).await?;
                let scopes = tokens.granted(&self.scopes());
                Permissions { granted: scopes.clone() }.need(NEEDED)?;
                let caller = Caller { token: &tokens.access_token, now };
                let response = account::me(&self.graph, caller).await;
                let member = response.map_err(|it| without_token(it, &tokens.access_token))?;
                member.check()?;
                let profile = member.profile().ok_or(ConnectError::Unreachable)?;
                // Meta identifies the user by this id when the app is removed; calls accept another
                // id.
                let grant = tokens.text("user_id");
                let credentials = tokens.credentials(None, now);
                Ok(vec![Account { profile, scopes, rules: rules.clone(), grant, credentials }])
            }
            LoginOAuth::Facebook(login) => {
                let granted = login.complete(callback, &self.graph, NEEDED_OF_FACEBOOK, now).await?;
                let pages = granted.pages(&self.graph, &[OF_A_PAGE], now).await?;
                let account = |page: &Page| {
                    let linked = page.instagram.clone()?;
                    let picture = linked.profile_picture_url;
                    let profile = account::profile(linked.id, linked.username?, linked.name, picture)?;
                    granted.account(page, profile, rules.clone())
                };
                let accounts: Vec<_> = pages.iter().filter_map(account).collect();
                if accounts.is_empty() { Err(no_usable_account(&pages)) } else { Ok(accounts) }
            }
        }
    }

    /// `None` if it cannot be an account.
    pub(super) async fn account_details(
        &self,
        caller: Caller<'_>,
        profile: &AccountInfo,
    ) -> Result<Option<AccountInfo>, CallError> {
        let member = match self.way {
            LoginOAuth::Instagram(_) => account::me(&self.graph, caller).await?,
            LoginOAuth::Facebook(_) => account::one(&self.graph, caller, &profile.account_id).await?,
        };
        Ok(Member::profile(member))
    }

    /// Whether the bytes of videos can be sent: "available only for apps that have implemented Facebook Login for
    /// Business" (`content-publishing/resumable-uploads`). By Instagram's login the parameter is ignored.
    pub(super) fn accepts_bytes(&self) -> bool {
        matches!(self.way, LoginOAuth::Facebook(_))
    }

    pub(super) fn revokes_all(&self) -> bool {
        matches!(self.way, LoginOAuth::Facebook(_))
    }

    pub(super) async fn revoke(&self, credentials: &Credentials, now: DateTime<Utc>) -> Result<(), AttemptError> {
        match self.way {
            LoginOAuth::Instagram(_) => Ok(()),
            LoginOAuth::Facebook(_) => give_back(&self.graph, Caller { token: &credentials.access_token, now }).await,
        }
    }

    fn scopes(&self) -> Vec<&str> {
        self.scopes.iter().map(String::as_str).collect()
    }
}

fn no_usable_account(pages: &[Page]) -> ConnectError {
    let linked: Vec<_> = pages.iter().filter_map(|it| it.instagram.as_ref()?.username.as_deref()).collect();
    ConnectError::Refused(if pages.is_empty() {
        "you have no Facebook Page, or selected none: connect again and select the Pages that your Instagram \
         accounts are linked to"
            .to_owned()
    } else if linked.is_empty() {
        "none of the Pages that you selected has a professional Instagram account: link the account to its Page in \
         Instagram's settings, then connect again"
            .to_owned()
    } else {
        format!(
            "you may not create content on the Pages of {}: ask an admin of the Page to give you that task in \
             the Page's settings (Page access), then connect again",
            linked.join(", ")
        )
    })
}
