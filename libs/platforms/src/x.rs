//! X: an account, through an app that pays for each call.
//!
//! Source: the fact sheet of X (API v2, description 2.167).
//!
//! - Access tokens last two hours. Each refresh token works once.
//! - Files are uploaded in parts, each of which may be sent again, and are processed. X forgets a
//!   file that no post shows after a day.
//! - X accepts no key and no id of ours. The posts of an account can be listed: a file that we
//!   uploaded is in one post only, and X does not accept the same text twice within a short time.
//! - A reply has the id of the post that it follows, which has to be visible already. Apps without
//!   an enterprise contract may reply only to an author who mentions or quotes the account. X's
//!   error message excepts the account's own posts; its documentation does not.
//! - Reads are billed by the post: a look-up reads the posts since the publish call, page by page,
//!   until it finds ours. Nothing is read before the call.
//!
//! X keeps its own `Platform` and `Connect`, because the app depends on the account.

mod errors;
mod listed_text;
mod own_app;
mod post;
mod publishing;

#[cfg(any(test, feature = "testing"))]
pub(crate) use self::publishing::recordings;

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use domain::budget::MilliDollars;
use domain::connection::AccountInfo;
use domain::delivery::AttemptError;
use domain::media::{MimeType, Ratio};
use domain::options::{AddressForm, OptionKind, OptionSpec};
use domain::rules::{Counting, FileRule, PostRule, Price, Rule, Rules, Unit};
use http::StatusCode;
use serde::Deserialize;
use url::Url;

use self::errors::{ERRORS, OWN_APP_ERRORS};
use self::own_app::OwnApp;
use self::publishing::BOUNDS;
use crate::account::{Account, AccountDetails, Credentials};
use crate::app::{AppSource, NoExtraSecrets};
use crate::budget::Budget;
use crate::connect_flow::{
    AuthorizationRequest, AuthorizeStep, Callback, ConnectError, Field, FieldValues, RefreshError,
};
use crate::kit::{ApiClient, Auth, CallError, Effect};
use crate::lead_times::LeadTimes;
use crate::oauth2::{ClientAuth, Dialect, Endpoints, OAuth2};
use crate::platform::{Connect, Platform};
use crate::platform_info::Access;
use crate::redaction::without_token;
use crate::refresh_policy::RefreshPolicy;
use crate::setup::{Setup, SetupError};

pub(crate) const NAME: &str = "x";

pub(crate) const TITLE: &str = "X";

/// Needs credits: $0.015 for a post and $0.20 for a post with a link.
pub(crate) const ACCESS: Access = Access::Paid;

pub(crate) const PERMISSIONS: &str = "publish, read and delete posts, and see your profile";

/// X's price of a post (August 2026).
const PRICE: Price = Price { post: MilliDollars::new(15), with_link: MilliDollars::cents(20), links: Unit::Weighted };

const REPLY_SETTINGS: &str = "reply_settings";

const QUOTE_URL: &str = "quote_url";

const COMMUNITY: &str = "community";

const MADE_WITH_AI: &str = "made_with_ai";

const PAID_PARTNERSHIP: &str = "paid_partnership";

const POLL_OPTIONS: &str = "poll_options";

const POLL_DURATION: &str = "poll_duration_minutes";

const POST_ADDRESS: AddressForm = AddressForm {
    starts: &["https://x.com/", "https://twitter.com/"],
    has: |it| post::quoted(it).is_some(),
    examples: &["https://x.com/XDevelopers/status/1460323737035677698"],
};

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        COMMUNITY,
        OptionKind::Text { max: 19 },
        "The ID of the community, as in its URL. The account must be a member. A thread follows its first post there.",
    ),
    OptionSpec::new(MADE_WITH_AI, OptionKind::Flag, "Whether X labels the post as made with AI."),
    OptionSpec::new(PAID_PARTNERSHIP, OptionKind::Flag, "Whether X labels the post as a paid partnership."),
    OptionSpec::new(
        POLL_DURATION,
        OptionKind::Number { min: 5, max: 10_080 },
        "How long the poll is open, in minutes. Defaults to one day.",
    )
    .needs(POLL_OPTIONS),
    OptionSpec::new(
        POLL_OPTIONS,
        OptionKind::Ballot { least: 2, most: 4, max: 25 },
        "The choices of a poll. Cannot be combined with media or quote_url.",
    )
    .not_with(QUOTE_URL),
    OptionSpec::new(
        QUOTE_URL,
        OptionKind::AddressOf(&POST_ADDRESS),
        "The URL of the post to quote. X permits quotes to few apps, and not together with media.",
    ),
    OptionSpec::new(
        REPLY_SETTINGS,
        OptionKind::OneOf(&["everyone", "following", "mentioned_users", "subscribers"]),
        "Who can reply. Defaults to everyone.",
    ),
];

/// Without `offline.access` there is no refresh token.
const SCOPES: &[&str] = &["tweet.read", "tweet.write", "users.read", "media.write", "offline.access"];

const DIALECT: Dialect = Dialect {
    // "Value passed for the token was invalid."
    gone: &["invalid_request", "invalid_grant"],
    ..Dialect::STANDARD
}
.with_client(ClientAuth::Basic);

/// Like [`DIALECT`], for a user's own app: a user who changes its secret connects again.
const OWN_DIALECT: Dialect = Dialect {
    gone: &["invalid_request", "invalid_grant", "invalid_client", "unauthorized_client"],
    ours: &[],
    ..DIALECT
};

/// Files are uploaded before the due second. The URL of an upload lasts a day.
pub(crate) const LEAD: LeadTimes =
    LeadTimes { images: Some(TimeDelta::minutes(3)), videos: Some(TimeDelta::minutes(10)), ..LeadTimes::NONE };

/// The longest video of an account without a paid plan, in seconds.
const MAX_SECONDS: u32 = 140;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Base URL of both the website and the API, if not X's own.
    url: Option<Url>,
    /// Whether the operator has an app. Without it, users need their own.
    #[serde(default = "enabled")]
    app: bool,
    /// See [`budgets`](crate::budgets).
    #[serde(default, rename = "budget")]
    _budget: Option<Budget>,
}

const fn enabled() -> bool {
    true
}

pub(crate) fn set_up(setup: &Setup) -> Result<Option<X>, SetupError> {
    let Some(Settings { url, app, .. }) = setup.settings(NAME)? else { return Ok(None) };
    let official =
        |it: &str| serde_json::from_value(it.into()).map_err(|source| SetupError::Settings { name: NAME, source });
    let (site, base_url) = match url {
        Some(url) => (url.clone(), url),
        None => (official("https://x.com")?, official("https://api.x.com")?),
    };
    let http = || setup.http.clone();
    let oauth = OAuth2::new(http(), setup.app::<NoExtraSecrets>(NAME), &DIALECT, endpoints(&site, &base_url));
    let api = ApiClient::known(http(), base_url.clone(), &ERRORS);
    let api_of_own_apps = ApiClient::known(http(), base_url, &OWN_APP_ERRORS);
    Ok(Some(X { api, api_of_own_apps, oauth, has_app: app }))
}

/// The authorization page is on the website, the other endpoints are at the API.
fn endpoints(site: &Url, base_url: &Url) -> Endpoints {
    let at = |host: &Url, path: &str| format!("{}/{path}", host.as_str().trim_end_matches('/'));
    Endpoints {
        authorization: at(site, "i/oauth2/authorize"),
        token: at(base_url, "2/oauth2/token"),
        revocation: Some(at(base_url, "2/oauth2/revoke")),
        ..Endpoints::default()
    }
}

#[derive(Deserialize)]
struct Data<T> {
    data: T,
}

#[derive(Deserialize)]
struct Member {
    id: String,
    username: String,
    name: Option<String>,
    profile_image_url: Option<String>,
    subscription_type: Option<String>,
}

pub(crate) struct X {
    /// For accounts that were connected with the operator's app.
    api: ApiClient,
    /// For accounts that were connected with an app of their owner's.
    api_of_own_apps: ApiClient,
    oauth: OAuth2,
    has_app: bool,
}

impl X {
    fn oauth(&self, own: Option<&OwnApp>) -> OAuth2 {
        match own {
            Some(own) => self.oauth.by(Arc::new(own.clone()), &OWN_DIALECT),
            None => self.oauth.clone(),
        }
    }

    fn api(&self, credentials: &Credentials) -> &ApiClient {
        self.api_with(credentials.extra.is_some())
    }

    fn api_with(&self, has_own_app: bool) -> &ApiClient {
        if has_own_app { &self.api_of_own_apps } else { &self.api }
    }

    /// The account of a token. Some plans are reported to refuse `subscription_type`; without it,
    /// the account is treated as one without a paid plan.
    async fn member(&self, auth: Auth<'_>, has_own_app: bool) -> Result<AccountDetails, CallError> {
        let api = self.api_with(has_own_app);
        let ask = async |fields| {
            let call = api.get(auth, &["2", "users", "me"]).query(&[("user.fields", fields)]);
            call.read::<Data<Member>>().await
        };
        let member = match ask("profile_image_url,username,name,subscription_type").await {
            Err(error) if error.is_status(StatusCode::BAD_REQUEST) => ask("profile_image_url,username,name").await,
            member => member,
        };
        let Data { data: member } = member?;
        let rules = member_rules(&member, has_own_app);
        let profile = profile_of(member).ok_or_else(|| api.unreadable(Effect::Read))?;
        Ok(AccountDetails { profile, rules })
    }
}

#[async_trait::async_trait]
impl Platform for X {
    fn name(&self) -> &'static str {
        NAME
    }

    fn refresh_policy(&self) -> RefreshPolicy {
        RefreshPolicy::Rotating
    }

    async fn refresh(&self, old: &Credentials, now: DateTime<Utc>) -> Result<Credentials, RefreshError> {
        self.oauth(OwnApp::load(old).as_ref()).refresh(old, now).await
    }

    async fn account_details(
        &self,
        _: &AccountInfo,
        credentials: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<AccountDetails>, AttemptError> {
        Ok(Some(self.member(Auth::account(credentials, now), credentials.extra.is_some()).await?))
    }
}

#[async_trait::async_trait]
impl Connect for X {
    fn rules(&self) -> Rules {
        rules(false)
    }

    fn fields(&self) -> &'static [Field] {
        if self.has_app { own_app::FIELDS } else { own_app::REQUIRED }
    }

    fn app(&self) -> Option<&dyn AppSource> {
        self.has_app.then(|| self.oauth.app())
    }

    async fn authorize(
        &self,
        values: &FieldValues,
        request: &AuthorizationRequest,
        _: DateTime<Utc>,
    ) -> Result<AuthorizeStep, ConnectError> {
        let own = OwnApp::typed(values)?;
        let url = self.oauth(own.as_ref()).authorization_url(request, SCOPES, &[]).await?;
        Ok(AuthorizeStep::Redirect { url, memory: own.map(|it| it.kept()) })
    }

    async fn complete(&self, callback: &Callback, now: DateTime<Utc>) -> Result<Vec<Account>, ConnectError> {
        let own = callback.adapter_state.as_ref().map(OwnApp::read);
        let tokens = self.oauth(own.as_ref()).complete(callback).await?;
        let member = self.member(Auth::token(&tokens.access_token, now), own.is_some()).await;
        let AccountDetails { profile, rules } = member.map_err(|it| without_token(it, &tokens.access_token))?;
        let (scopes, credentials) = (tokens.granted(SCOPES), tokens.credentials(own.map(|it| it.kept()), now));
        Ok(vec![Account { profile, scopes, rules, grant: None, credentials }])
    }

    async fn revoke(&self, credentials: &Credentials, now: DateTime<Utc>) -> Result<(), AttemptError> {
        self.oauth(OwnApp::load(credentials).as_ref()).revoke(credentials, now).await
    }
}

/// `pays`: whether the account has a paid plan, which allows more.
fn rules(pays: bool) -> Rules {
    use MimeType::{Gif, Jpeg, Mp4, Png, Webp};
    let mut rules = vec![
        Rule::max_text(if pays { 25_000 } else { 280 }, Counting::weighted()),
        Rule::max_images(4),
        Rule::max_videos(1),
        Rule::NotMixed,
        Rule::GifAlone,
        Rule::mime_types([Jpeg, Png, Gif, Webp, Mp4]),
        Rule::max_video_bytes(512_000_000),
        Rule::OfFiles(FileRule::MaxGifBytes { max: 15_000_000 }),
        Rule::OfFiles(FileRule::MaxFrameRate { max: 60 }),
        Rule::OfFiles(FileRule::VideoRatio { min: Ratio::hundredths(33), max: Ratio::hundredths(300) }),
        Rule::OfFiles(FileRule::FittedImageBytes { max: BOUNDS.max_bytes }),
        Rule::max_alt_text(1_000, Counting::code_points()),
        Rule::OfPost(PostRule::NotWithMedia { options: vec![POLL_OPTIONS.to_owned(), QUOTE_URL.to_owned()] }),
    ];
    if !pays {
        rules.push(Rule::OfFiles(FileRule::MaxDuration { max: MAX_SECONDS }));
    }
    Rules::new(TITLE, rules).with_threads()
}

/// It is not documented that "Basic" allows more. X bills an app of the user to its owner.
fn member_rules(member: &Member, has_own_app: bool) -> Rules {
    let rules = rules(matches!(member.subscription_type.as_deref(), Some("Premium" | "PremiumPlus")));
    if has_own_app { rules } else { rules.with_price(PRICE) }
}

fn profile_of(member: Member) -> Option<AccountInfo> {
    let Member { id, username, name, profile_image_url, .. } = member;
    let is_name =
        (1..=50).contains(&username.len()) && username.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
    (is_id(&id) && is_name).then(|| AccountInfo {
        account_id: id,
        profile_url: Some(format!("https://x.com/{username}")),
        username: Some(username),
        display_name: name,
        // The original picture, not the one of 48 pixels.
        avatar: profile_image_url.map(|it| it.replacen("_normal.", ".", 1)),
    })
}

fn is_id(it: &str) -> bool {
    (1..=19).contains(&it.len()) && it.bytes().all(|it| it.is_ascii_digit())
}
