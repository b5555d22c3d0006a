//! The two ways in which somebody connects accounts.
//!
//! Facts (`instagram-api-with-instagram-login/business-login`, `reference/access_token`,
//! `reference/refresh_access_token`; `instagram-api-with-facebook-login/get-started`):
//!
//! - Instagram's own: one account. A code brings a token for an hour, that one another for
//!   60 days, and that one the next, once it is a day old and as long as it lives. There is
//!   no call that ends a grant: people do that in Instagram.
//! - Facebook's: accounts that belong to Pages on which the person may create content.

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

/// Through whose login.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum By {
    /// Instagram's own.
    #[default]
    Instagram,
    /// Facebook's.
    Facebook,
}

/// What an operator says of it.
pub(super) struct Chosen {
    pub(super) by: By,
    /// What is asked for instead of the usual.
    pub(super) scopes: Option<Vec<String>>,
    /// The configuration of Facebook Login for Business.
    pub(super) config_id: Option<String>,
}

/// How Instagram's OAuth differs.
const DIALECT: Dialect = Dialect {
    pkce: false,
    scope_separator: ",",
    lengthening: Some(TokenCall {
        client: ClientAuth::Secret,
        ..TokenCall::longer("ig_exchange_token", "access_token")
    }),
    renewal: TokenCall { client: ClientAuth::None, ..TokenCall::longer("ig_refresh_token", "access_token") },
    gone: meta::GONE,
    ours: meta::OURS,
    passing: meta::PASSING,
    ..Dialect::STANDARD
};

/// What nothing can be done without, by Instagram's login; and, for first comments.
const NEEDED: &[&str] = &["instagram_business_basic", "instagram_business_content_publish"];
const SCOPES: &[&str] =
    &["instagram_business_basic", "instagram_business_content_publish", "instagram_business_manage_comments"];

/// The same by Facebook's.
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

/// What is asked of each Page beside the usual.
const OF_A_PAGE: &str = "instagram_business_account{id,username,name,profile_picture_url}";

/// How accounts are connected, and where the API is that they are asked by.
pub(super) struct Login {
    pub(super) graph: Graph,
    way: Way,
    scopes: Vec<String>,
}

enum Way {
    Instagram(OAuth2),
    Facebook(FacebookLogin),
}

impl Login {
    /// By an operator's choice; `url` is where Meta's websites and APIs are, if not at its
    /// own addresses.
    pub(super) fn new(setup: &Setup, url: Option<&Url>, chosen: Chosen) -> Self {
        let at =
            |official: &str| url.map_or_else(|| official.to_owned(), |it| it.as_str().trim_end_matches('/').to_owned());
        let (http, app) = (&setup.http, setup.app::<NoExtraSecrets>(NAME));
        let (graph, way, usual) = match chosen.by {
            By::Instagram => {
                let host = at("https://graph.instagram.com");
                let endpoints = Endpoints {
                    authorization: format!("{}/oauth/authorize", at("https://www.instagram.com")),
                    token: format!("{}/oauth/access_token", at("https://api.instagram.com")),
                    lengthening: Some(format!("{host}/access_token")),
                    renewal: Some(format!("{host}/refresh_access_token")),
                    revocation: None,
                };
                let oauth = OAuth2::new(http.clone(), app, &DIALECT, endpoints);
                let graph = Graph::new(http.clone(), &host, Version::GRAPH, &ERRORS);
                (graph, Way::Instagram(oauth), SCOPES)
            }
            By::Facebook => {
                let (site, host) = (at("https://www.facebook.com"), at("https://graph.facebook.com"));
                let login = FacebookLogin::new(http, app.clone(), (&site, &host), chosen.config_id);
                let graph = Graph::new(http.clone(), &host, Version::GRAPH, &ERRORS).proving(app);
                (graph, Way::Facebook(login), SCOPES_OF_FACEBOOK)
            }
        };
        let scopes = chosen.scopes.unwrap_or_else(|| usual.iter().map(|it| (*it).to_owned()).collect());
        Self { graph, way, scopes }
    }

    /// Our app, whose secret Meta signs with.
    pub(super) fn app(&self) -> &dyn AppSource {
        match &self.way {
            Way::Instagram(oauth) => oauth.app(),
            Way::Facebook(login) => login.app(),
        }
    }

    /// Tokens of Pages do not end.
    pub(super) fn renewal(&self) -> RefreshPolicy {
        match self.way {
            Way::Instagram(_) => RefreshPolicy::Extending,
            Way::Facebook(_) => RefreshPolicy::Never,
        }
    }

    pub(super) async fn refresh(&self, old: &Credentials, now: DateTime<Utc>) -> Result<Credentials, RefreshError> {
        match &self.way {
            Way::Instagram(oauth) => oauth.refresh(old, now).await,
            Way::Facebook(_) => Err(RefreshError::Unreachable("Page tokens cannot be refreshed".to_owned())),
        }
    }

    /// The page on which the person decides.
    pub(super) async fn page(&self, request: &AuthorizationRequest) -> Result<String, ConnectError> {
        self.graph.check_reach(&request.urls)?;
        let scopes = self.scopes();
        match &self.way {
            Way::Instagram(oauth) => oauth.authorization_url(request, &scopes, &[]).await,
            Way::Facebook(login) => login.page(request, &scopes).await,
        }
    }

    /// The accounts that a person's decision covers.
    pub(super) async fn complete(
        &self,
        callback: &Callback,
        rules: &Rules,
        now: DateTime<Utc>,
    ) -> Result<Vec<Account>, ConnectError> {
        match &self.way {
            Way::Instagram(oauth) => {
                let tokens = oauth.complete(callback).await?;
                let scopes = tokens.granted(&self.scopes());
                Permissions { granted: scopes.clone() }.need(NEEDED)?;
                let by = Caller { token: &tokens.access_token, now };
                let told = account::me(&self.graph, by).await;
                let member = told.map_err(|it| without_token(it, &tokens.access_token))?;
                member.check()?;
                let profile = member.profile().ok_or(ConnectError::Unreachable)?;
                // By this Meta names who has removed the app; calls take another id.
                let grant = tokens.text("user_id");
                let credentials = tokens.credentials(None, now);
                Ok(vec![Account { profile, scopes, rules: rules.clone(), grant, credentials }])
            }
            Way::Facebook(login) => {
                let granted = login.complete(callback, &self.graph, NEEDED_OF_FACEBOOK, now).await?;
                let pages = granted.pages(&self.graph, &[OF_A_PAGE], now).await?;
                let account = |page: &Page| {
                    let linked = page.instagram.clone()?;
                    let picture = linked.profile_picture_url;
                    let profile = account::profile(linked.id, linked.username?, linked.name, picture)?;
                    granted.account(page, profile, rules.clone())
                };
                let accounts: Vec<_> = pages.iter().filter_map(account).collect();
                if accounts.is_empty() { Err(none(&pages)) } else { Ok(accounts) }
            }
        }
    }

    /// An account as it shows itself now; `None` where that cannot be one.
    pub(super) async fn about(&self, by: Caller<'_>, profile: &AccountInfo) -> Result<Option<AccountInfo>, CallError> {
        let told = match self.way {
            Way::Instagram(_) => account::me(&self.graph, by).await?,
            Way::Facebook(_) => account::one(&self.graph, by, &profile.account_id).await?,
        };
        Ok(Member::profile(told))
    }

    /// Whether the bytes of videos can be sent: "available only for apps that have implemented Facebook Login for
    /// Business" (`content-publishing/resumable-uploads`). By Instagram's login the parameter is ignored.
    pub(super) fn takes_bytes(&self) -> bool {
        matches!(self.way, Way::Facebook(_))
    }

    /// Whether a grant that is given back was one for all accounts of its person.
    pub(super) fn revokes_all(&self) -> bool {
        matches!(self.way, Way::Facebook(_))
    }

    pub(super) async fn revoke(&self, credentials: &Credentials, now: DateTime<Utc>) -> Result<(), AttemptError> {
        match self.way {
            Way::Instagram(_) => Ok(()),
            Way::Facebook(_) => give_back(&self.graph, Caller { token: &credentials.access_token, now }).await,
        }
    }

    fn scopes(&self) -> Vec<&str> {
        self.scopes.iter().map(String::as_str).collect()
    }
}

/// Why there is nothing to connect.
fn none(pages: &[Page]) -> ConnectError {
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
