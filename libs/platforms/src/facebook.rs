//! Facebook: Pages.
//!
//! What it relies on (the documentation of the Pages API, of videos, reels and stories;
//! the fact sheet of Facebook):
//!
//! - A person grants permissions, each of which they may decline. With a token of theirs
//!   that lasts, the tokens of their Pages do not end by themselves.
//! - There is no key and no id of ours. Pictures are uploaded without being shown, and
//!   each is in one post alone; a video has its id before it is public.
//! - The same words are not taken twice in a row.
//! - What a Page has published can be read.
//!
//! `meta.rs` knows how calls are made and what errors mean, `facebook/accounts.rs` for
//! which Pages somebody posts, `preparation.rs` and `video.rs` what comes before the
//! public call, `public_call.rs` that call, `look_up.rs` and `status.rs` what became of it,
//! `comment.rs` what follows it.

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
use domain::rules::Rules;
use serde::Deserialize;
use url::Url;

use crate::account::{Account, AccountDetails, Credentials};
use crate::app::NoExtraSecrets;
use crate::caller::Caller;
use crate::connect_flow::{AuthorizationRequest, AuthorizeStep, Callback, ConnectError, FieldValues};
use crate::deadline;
use crate::deauthorization::{DeauthorizationCallback, InvalidCallback};
use crate::kit::ErrorTable;
use crate::lead_times::LeadTimes;
use crate::meta::facebook_login::{FacebookLogin, give_back};
use crate::meta::{Graph, Version, errors, signed_request};
use crate::platform::{Connect, FollowUp, Followed, Platform, Publish, Step};
use crate::platform_info::Access;
use crate::publish_request::PublishRequest;
use crate::setup::{Setup, SetupError};

/// Its name in paths, and of its settings.
pub(crate) const NAME: &str = "facebook";

/// Its name as people know it.
pub(crate) const TITLE: &str = "Facebook";

/// What its errors mean.
static ERRORS: ErrorTable = errors::table(TITLE);

/// What an operator needs to have it. Pages of others take a review.
pub(crate) const ACCESS: Access = Access::OwnAccounts;

/// What becomes of the files.
const KIND: &str = "kind";

/// The link of which a card is shown.
const LINK: &str = "link";

/// What stands above a video.
const VIDEO_TITLE: &str = "title";

/// The one thing that can follow a publication here, by the name of its option.
const FIRST_COMMENT: &str = "first_comment";

/// What a post can say here alone.
pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        FIRST_COMMENT,
        OptionKind::Text { max: 8_000 },
        "Added under the post by the same Page, once it is public; best effort.",
    ),
    OptionSpec::new(
        KIND,
        OptionKind::OneOf(&["post", "reel", "story"]),
        "What is published: a post, unless this says a reel or a story.",
    ),
    OptionSpec::new(
        LINK,
        OptionKind::Address(&["https://", "http://"]),
        "A link that is shown as a card under the text; not with files.",
    ),
    OptionSpec::new(VIDEO_TITLE, OptionKind::Text { max: 255 }, "The title of a video or reel."),
];

/// Files go up before the due second. What is not shown is kept for a day.
pub(crate) const LEAD: LeadTimes =
    LeadTimes { images: Some(TimeDelta::minutes(3)), videos: Some(TimeDelta::minutes(10)), ..LeadTimes::NONE };

/// How long a public call that was cut off may still take effect, and appear in lists.
const SETTLES: TimeDelta = TimeDelta::seconds(60);

/// What a deployment says of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Where the website, the API and the API for videos are, if not at Facebook's own
    /// addresses.
    url: Option<Url>,
    /// The configuration of Facebook Login for Business that says what is asked for.
    config_id: Option<String>,
    /// What is asked for instead of the usual, where the app may not ask for all of it.
    scopes: Option<Vec<String>>,
}

/// The adapter, when it is switched on.
pub(crate) fn set_up(setup: &Setup) -> Result<Option<Facebook>, SetupError> {
    let Some(Settings { url, config_id, scopes }) = setup.settings(NAME)? else { return Ok(None) };
    let at = |official: &str| {
        url.as_ref().map_or_else(|| official.to_owned(), |it| it.as_str().trim_end_matches('/').to_owned())
    };
    let (site, host) = (at("https://www.facebook.com"), at("https://graph.facebook.com"));
    let app = setup.app::<NoExtraSecrets>(NAME);
    let login = FacebookLogin::new(&setup.http, app.clone(), (&site, &host), config_id);
    let graph = |host: &str| Graph::new(setup.http.clone(), host, Version::GRAPH, &ERRORS).proving(app.clone());
    let (graph, videos) = (graph(&host), graph(&at("https://graph-video.facebook.com")));
    let scopes = scopes.unwrap_or_else(|| accounts::SCOPES.iter().map(|it| (*it).to_owned()).collect());
    Ok(Some(Facebook { graph, videos, login, scopes }))
}

pub(crate) struct Facebook {
    graph: Graph,
    /// The same API where it takes videos.
    videos: Graph,
    login: FacebookLogin,
    scopes: Vec<String>,
}

#[async_trait::async_trait]
impl Platform for Facebook {
    fn name(&self) -> &'static str {
        NAME
    }

    async fn about(
        &self,
        profile: &AccountInfo,
        credentials: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<AccountDetails>, AttemptError> {
        let by = Caller { token: credentials.of_the_account(), now };
        let told = accounts::one(&self.graph, by, &profile.account_id).await?;
        Ok(told.map(|profile| AccountDetails { profile, rules: kind::rules(accounts::may_comment(credentials)) }))
    }
}

#[async_trait::async_trait]
impl Connect for Facebook {
    fn rules(&self) -> Rules {
        kind::rules(true)
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
        accounts::of(&self.graph, granted, now).await
    }

    /// All that a person has granted to the app ends at once.
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
    async fn prepare(&self, job: &PublishRequest<'_>) -> Result<Step, AttemptError> {
        deadline::step(TITLE, job, preparation::step(self, job)).await
    }

    async fn publish(&self, job: &PublishRequest<'_>) -> Result<Published, AttemptError> {
        public_call::publish(self, job).await
    }

    async fn look_up(&self, job: &PublishRequest<'_>, since: DateTime<Utc>) -> Resolution {
        deadline::look(TITLE, job, look_up::resolve(self, job, since)).await
    }

    fn follow_ups(&self, job: &PublishRequest<'_>) -> Vec<&'static str> {
        job.options.text(FIRST_COMMENT).map(|_| FIRST_COMMENT).into_iter().collect()
    }

    async fn follow_up(&self, job: &PublishRequest<'_>, it: &FollowUp<'_>) -> Result<Followed, AttemptError> {
        match job.options.text(FIRST_COMMENT).filter(|_| it.name == FIRST_COMMENT) {
            Some(words) => comment::step(self, job, it, words).await,
            None => Ok(Followed::Done),
        }
    }

    fn settle_time(&self) -> TimeDelta {
        SETTLES
    }
}
