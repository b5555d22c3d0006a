//! Mastodon, and other software with its API: `GoToSocial`, Pleroma and Akkoma, Pixelfed.
//!
//! What the adapter relies on (documentation of Mastodon 4.6; where it is silent, the source of
//! Mastodon and of the others):
//!
//! - Every server has its own accounts, limits and apps. This service registers itself once per
//!   server, with a redirect URI for that server alone. Servers before 4.3 remove apps that seem
//!   unused.
//! - Authorization code with PKCE, which servers before 4.3 ignore. Access tokens do not expire,
//!   except on Pleroma and Pixelfed, which also issue refresh tokens.
//! - A file is uploaded before the status that shows it; a video is processed for a while (202,
//!   then 206 until 200). A file that no status shows is removed after about a day.
//! - `Idempotency-Key`: Mastodon remembers for an hour which status a key created, and checks the
//!   key before anything else of the request. Other software is not sent one: `GoToSocial` ignores
//!   it, Pixelfed refuses every repeat, whatever the outcome of the first call, and Pleroma and
//!   Akkoma repeat the first response for hours, even if it was an error.
//! - A reply has the id of the status that it follows. Mastodon and `GoToSocial` refuse a reply to a
//!   status that is gone, and check this before the key; Pleroma (in part) and snac publish it as a
//!   status that follows none.
//! - An account's statuses can be listed, newest first, with the ids of the files that they show;
//!   not every server pages, and some give files new ids. The text that a status was made from is
//!   at `/source`, or in its `text`; servers rewrite the HTML that they show in many ways.
//! - Servers issue the same token to an app again, and some remove an app when one of its tokens is
//!   revoked.

mod account;
mod api;
mod apps;
mod connect;
mod content;
mod errors;
mod grant;
mod instance;
mod look_up;
mod preparation;
mod publish;
mod rate_limit;
#[cfg(any(test, feature = "testing"))]
pub(crate) mod recordings;
mod server;
mod software;

use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::AccountInfo;
use domain::delivery::AttemptError;
use domain::options::{OptionKind, OptionSpec};
use serde::Deserialize;

use self::api::Api;
use self::apps::Apps;
use self::errors::ends_grant;
use self::grant::Grant;
use self::preparation::LOOK_BACK;
use crate::account::{AccountDetails, Credentials};
use crate::connect_flow::RefreshError;
use crate::lead_times::LeadTimes;
use crate::platform::Platform;
use crate::platform_info::Access;
use crate::refresh_policy::RefreshPolicy;
use crate::setup::{Setup, SetupError};

pub(crate) const NAME: &str = "mastodon";

pub(crate) const TITLE: &str = "Mastodon";

pub(crate) const ACCESS: Access = Access::Open;

pub(crate) const PERMISSIONS: &str = "publish, read and delete posts, and see your profile";

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        "visibility",
        OptionKind::OneOf(&["public", "unlisted", "private"]),
        "Who can see the post: everyone, everyone but not in public timelines, or followers only. Defaults to the \
         account's own setting.",
    ),
    OptionSpec::new(
        "content_warning",
        OptionKind::Text { max: 500 },
        "A content warning. It is shown before the text and hides the post until a reader opens it.",
    ),
    OptionSpec::new("sensitive", OptionKind::Flag, "Whether the media is hidden until a reader opens it."),
    OptionSpec::new(
        "language",
        OptionKind::Language,
        "The language of the post. Defaults to the account's own setting.",
    ),
];

/// The account's listing is read before every post. A picture can be shown as soon as it is
/// uploaded; a server takes minutes to transcode a video.
pub(crate) const LEAD: LeadTimes = LeadTimes {
    always: Some(LOOK_BACK),
    images: Some(TimeDelta::seconds(60)),
    videos: Some(TimeDelta::minutes(10)),
    ..LeadTimes::NONE
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(default = "client_name")]
    client_name: String,
}

fn client_name() -> String {
    "Social Publishing".to_owned()
}

pub(crate) fn set_up(setup: &Setup) -> Result<Option<Mastodon>, SetupError> {
    let Some(Settings { client_name }) = setup.settings(NAME)? else { return Ok(None) };
    let api = Api::new(setup.http.clone());
    let apps = Apps::new(api.clone(), std::sync::Arc::clone(&setup.vault), client_name);
    Ok(Some(Mastodon { api, apps }))
}

pub(crate) struct Mastodon {
    api: Api,
    apps: Apps,
}

#[async_trait::async_trait]
impl Platform for Mastodon {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Only credentials with a refresh token can be refreshed; Mastodon itself issues none.
    fn refresh_policy(&self) -> RefreshPolicy {
        RefreshPolicy::Rotating
    }

    fn host(&self, credentials: &Credentials) -> Option<String> {
        Grant::load(credentials).ok().map(|it| it.server.name().to_owned())
    }

    async fn refresh(&self, old: &Credentials, now: DateTime<Utc>) -> Result<Credentials, RefreshError> {
        let gone = |reason: &str| RefreshError::Gone(reason.to_owned());
        let grant = Grant::load(old).map_err(|it| gone(&it.to_string()))?;
        let Some(refresh_token) = &old.refresh_token else { return Err(gone("there is no refresh token")) };
        match self.api.refresh(&grant, refresh_token).await {
            Ok(tokens) => Ok(tokens.refreshed(old, now)),
            Err(error) if ends_grant(&error, grant.software) => Err(RefreshError::Gone(error.message)),
            Err(error) => Err(RefreshError::Unreachable(error.message)),
        }
    }

    async fn account_details(
        &self,
        profile: &AccountInfo,
        credentials: &Credentials,
        _now: DateTime<Utc>,
    ) -> Result<Option<AccountDetails>, AttemptError> {
        let grant = Grant::load(credentials)?;
        let me = self.api.me(&grant.server, &credentials.access_token).await?;
        let mut shown = account::profile(&grant.server, &grant.server, me);
        // The domain of a server's accounts was looked up when the account was connected.
        let name = |it: &AccountInfo| it.username.as_ref().and_then(|it| it.split_once('@')).map(|it| it.0.to_owned());
        if name(&shown) == name(profile) {
            shown.username.clone_from(&profile.username);
        }
        let rules = self.api.rules_of(&grant.server).await;
        Ok(rules.map(|rules| AccountDetails { profile: shown, rules }))
    }
}
