//! Facebook: Pages.
//!
//! Facts (documentation of the Pages API, of videos, reels and stories; fact sheet of Facebook):
//!
//! - A user grants permissions, and may decline each of them. Page tokens that are read with a
//!   long-lived user token do not expire.
//! - There is no idempotency key, and no id that we choose. Pictures are uploaded unpublished, and
//!   each is in one post only; a video has its id before it is public.
//! - The same text twice in a row is refused.
//! - The published posts of a Page can be listed.

mod accounts;
mod comment;
mod kind;
mod look_up;
mod preparation;
mod public_call;
mod status;
mod video;

use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::AccountInfo;
use domain::delivery::{AttemptError, Published, Resolution};
use domain::options::{OptionKind, OptionSpec};
use domain::post::{FIRST_COMMENT, SegmentKind};
use domain::rules::Rules;
use serde::Deserialize;
use url::Url;

use crate::account::{Account, AccountDetails, Credentials};
use crate::app::{AppSource, NoExtraSecrets};
use crate::caller::Caller;
use crate::connect_flow::{AuthorizationRequest, AuthorizeStep, Callback, ConnectError, FieldValues};
use crate::deadline;
use crate::deauthorization::{DeauthorizationCallback, InvalidCallback};
use crate::kit::ErrorTable;
use crate::lead_times::LeadTimes;
use crate::meta::facebook_login::{FacebookLogin, give_back};
use crate::meta::{Graph, Version, errors, signed_request};
use crate::platform::{Connect, Platform, Publish, Step};
use crate::platform_info::Access;
use crate::publish_request::PublishRequest;
use crate::setup::{Setup, SetupError};

pub(crate) const NAME: &str = "facebook";

pub(crate) const TITLE: &str = "Facebook";

static ERRORS: ErrorTable = errors::table(TITLE);

/// Other users' Pages can be connected only after Meta's app review.
pub(crate) const ACCESS: Access = Access::OwnAccounts;

pub(crate) const PERMISSIONS: &str =
    "publish posts and comments on the Pages that you choose, read these Pages, and list your business portfolios";

const KIND: &str = "kind";

const LINK: &str = "link";

const VIDEO_TITLE: &str = "title";

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        FIRST_COMMENT,
        OptionKind::Text { max: 8_000 },
        "A comment that the Page adds below the post. If it fails, the post stays published.",
    ),
    OptionSpec::new(
        KIND,
        OptionKind::OneOf(&["post", "reel", "story"]),
        "Whether to publish a post, a reel or a story. Defaults to a post.",
    ),
    OptionSpec::new(
        LINK,
        OptionKind::Address(&["https://", "http://"]),
        "A link to show as a card below the text. Not allowed with media files.",
    ),
    OptionSpec::new(VIDEO_TITLE, OptionKind::Text { max: 255 }, "The title of the video or reel."),
];

/// Files are uploaded before the due second. Meta keeps unpublished files for a day.
pub(crate) const LEAD: LeadTimes =
    LeadTimes { images: Some(TimeDelta::minutes(3)), videos: Some(TimeDelta::minutes(10)), ..LeadTimes::NONE };

const SETTLE_TIME: TimeDelta = TimeDelta::seconds(60);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Base URL of the website, the API and the video API, if not Facebook's own.
    url: Option<Url>,
    config_id: Option<String>,
    scopes: Option<Vec<String>>,
}

pub(crate) fn set_up(setup: &Setup) -> Result<Option<Facebook>, SetupError> {
    let Some(Settings { url, config_id, scopes }) = setup.settings(NAME)? else { return Ok(None) };
    let at = |official: &str| {
        url.as_ref().map_or_else(|| official.to_owned(), |it| it.as_str().trim_end_matches('/').to_owned())
    };
    let (site, host) = (at("https://www.facebook.com"), at("https://graph.facebook.com"));
    let app = setup.app::<NoExtraSecrets>(NAME);
    let login = FacebookLogin::new(&setup.http, app.clone(), (&site, &host), config_id);
    let graph = |host: &str| Graph::new(setup.http.clone(), host, Version::GRAPH, &ERRORS).with_app_proof(app.clone());
    let (graph, videos) = (graph(&host), graph(&at("https://graph-video.facebook.com")));
    let scopes = scopes.unwrap_or_else(|| accounts::SCOPES.iter().map(|it| (*it).to_owned()).collect());
    Ok(Some(Facebook { graph, videos, login, scopes }))
}

pub(crate) struct Facebook {
    graph: Graph,
    videos: Graph,
    login: FacebookLogin,
    scopes: Vec<String>,
}

#[async_trait::async_trait]
impl Platform for Facebook {
    fn name(&self) -> &'static str {
        NAME
    }

    async fn account_details(
        &self,
        profile: &AccountInfo,
        credentials: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<AccountDetails>, AttemptError> {
        let caller = Caller { token: credentials.account_token(), now };
        let info = accounts::one(&self.graph, caller, &profile.account_id).await?;
        Ok(info.map(|profile| AccountDetails { profile, rules: kind::rules(accounts::may_comment(credentials)) }))
    }
}

#[async_trait::async_trait]
impl Connect for Facebook {
    fn rules(&self) -> Rules {
        kind::rules(true)
    }

    fn app(&self) -> Option<&dyn AppSource> {
        Some(self.login.app())
    }

    async fn authorize(
        &self,
        _: &FieldValues,
        request: &AuthorizationRequest,
        _: DateTime<Utc>,
    ) -> Result<AuthorizeStep, ConnectError> {
        let scopes: Vec<_> = self.scopes.iter().map(String::as_str).collect();
        let url = self.login.page(request, &scopes).await?;
        Ok(AuthorizeStep::Redirect { url, memory: None })
    }

    async fn complete(&self, callback: &Callback, now: DateTime<Utc>) -> Result<Vec<Account>, ConnectError> {
        let granted = self.login.complete(callback, &self.graph, accounts::NEEDED, now).await?;
        accounts::list(&self.graph, granted, now).await
    }

    /// Revocation ends everything that the user granted to the app.
    fn revokes_all(&self) -> bool {
        true
    }

    async fn read_deauthorization(
        &self,
        message: &str,
        now: DateTime<Utc>,
    ) -> Result<DeauthorizationCallback, InvalidCallback> {
        signed_request::read(self.login.app(), message, now).await
    }

    async fn revoke(&self, credentials: &Credentials, now: DateTime<Utc>) -> Result<(), AttemptError> {
        give_back(&self.graph, Caller { token: &credentials.access_token, now }).await
    }
}

#[async_trait::async_trait]
impl Publish for Facebook {
    async fn prepare(&self, request: &PublishRequest<'_>) -> Result<Step, AttemptError> {
        if request.segment == SegmentKind::Comment {
            return deadline::step(TITLE, request, comment::prepare(self, request)).await;
        }
        deadline::step(TITLE, request, preparation::step(self, request)).await
    }

    async fn publish(&self, request: &PublishRequest<'_>) -> Result<Published, AttemptError> {
        if let Some(post) = request.commented_post() {
            return comment::publish(self, request, post).await;
        }
        public_call::publish(self, request).await
    }

    async fn look_up(&self, request: &PublishRequest<'_>, since: DateTime<Utc>) -> Resolution {
        if let Some(post) = request.commented_post() {
            return deadline::look_up(TITLE, request, comment::resolve(self, request, (post, since))).await;
        }
        deadline::look_up(TITLE, request, look_up::resolve(self, request, since)).await
    }

    fn settle_time(&self) -> TimeDelta {
        SETTLE_TIME
    }
}
