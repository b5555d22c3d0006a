//! Mastodon, and what else speaks its API: `GoToSocial`, Pleroma and Akkoma,
//! Pixelfed.
//!
//! What it relies on (documentation of Mastodon 4.6, source of Mastodon and of
//! the others where it says nothing):
//!
//! - Every server has its own accounts, limits and apps. This service registers
//!   itself once per server, with a redirect URI for that server alone. Servers
//!   before 4.3 remove apps that they think nobody uses.
//! - Authorization code with PKCE, which servers before 4.3 ignore. Access
//!   tokens do not end, except on Pleroma and Pixelfed, which give refresh
//!   tokens along.
//! - A file is uploaded before the status that shows it; a video is processed
//!   for a while (202, then 206 until 200). A file that no status shows is removed
//!   after about a day.
//! - `Idempotency-Key`: Mastodon remembers for an hour which status a key made,
//!   and looks at the key before anything else of the request. No other software
//!   is sent one: `GoToSocial` ignores it, Pixelfed refuses every repeat, whatever
//!   came of the first call, and Pleroma and Akkoma repeat the first answer for
//!   hours, even if it was an error.
//! - An account's statuses can be listed, newest first, with the ids of the
//!   files that they show; not every server pages, and some give files new ids.
//!   The text that a status was made from is at `/source`, or in its `text`; the
//!   HTML that servers show of it is rewritten in many ways.
//! - Servers give an app the same token again, and some remove an app when one of
//!   its tokens is given back.
//!
//! `api.rs` knows the addresses and answers of servers. What they mean for a
//! grant is in `connect.rs`, and for a post in `publish.rs`.

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
#[cfg(any(test, feature = "conformance"))]
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

/// Its name in paths, and of its settings.
pub(crate) const NAME: &str = "mastodon";

/// Its name as people know it.
pub(crate) const TITLE: &str = "Mastodon";

/// What an operator needs to have it.
pub(crate) const ACCESS: Access = Access::Open;

/// What a post can say here alone.
pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        "visibility",
        OptionKind::OneOf(&["public", "unlisted", "private"]),
        "Who sees it: everybody, everybody but in no public timeline, or followers. The account's own setting, unless given.",
    ),
    OptionSpec::new(
        "content_warning",
        OptionKind::Text { max: 500 },
        "Stands before it, and hides it until somebody opens it.",
    ),
    OptionSpec::new("sensitive", OptionKind::Flag, "Whether its files are hidden until somebody opens them."),
    OptionSpec::new(
        "language",
        OptionKind::Language,
        "The language it is written in. The account's own setting, unless given.",
    ),
];

/// For every post the account's listing is read beforehand. A picture can be
/// shown as soon as it is uploaded; a server takes minutes to transcode a video.
pub(crate) const LEAD: LeadTimes = LeadTimes {
    always: Some(LOOK_BACK),
    images: Some(TimeDelta::seconds(60)),
    videos: Some(TimeDelta::minutes(10)),
    ..LeadTimes::NONE
};

/// What a deployment says of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// What people read on a server's page of who wants to act for them.
    #[serde(default = "client_name")]
    client_name: String,
}

fn client_name() -> String {
    "Social Publishing".to_owned()
}

/// The adapter, when it is switched on.
pub(crate) fn set_up(setup: &Setup) -> Result<Option<Mastodon>, SetupError> {
    let Some(Settings { client_name }) = setup.settings(NAME)? else { return Ok(None) };
    let api = Api::new(setup.http.clone());
    let apps = Apps::new(api.clone(), std::sync::Arc::clone(&setup.vault), client_name);
    Ok(Some(Mastodon { api, apps }))
}

/// Every server that speaks Mastodon's API.
pub(crate) struct Mastodon {
    api: Api,
    apps: Apps,
}

#[async_trait::async_trait]
impl Platform for Mastodon {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Only credentials with a refresh token can be renewed; Mastodon itself
    /// gives none.
    fn refresh_policy(&self) -> RefreshPolicy {
        RefreshPolicy::Rotating
    }

    fn host(&self, credentials: &Credentials) -> Option<String> {
        Grant::of(credentials).ok().map(|it| it.server.name().to_owned())
    }

    async fn refresh(&self, old: &Credentials, now: DateTime<Utc>) -> Result<Credentials, RefreshError> {
        let gone = |reason: &str| RefreshError::Gone(reason.to_owned());
        let grant = Grant::of(old).map_err(|it| gone(&it.to_string()))?;
        let Some(refresh_token) = &old.refresh_token else { return Err(gone("there is no refresh token")) };
        match self.api.refresh(&grant, refresh_token).await {
            Ok(tokens) => Ok(tokens.renewed(old, now)),
            Err(error) if ends_grant(&error, grant.software) => Err(RefreshError::Gone(error.message)),
            Err(error) => Err(RefreshError::Unreachable(error.message)),
        }
    }

    async fn about(
        &self,
        profile: &AccountInfo,
        credentials: &Credentials,
        _now: DateTime<Utc>,
    ) -> Result<Option<AccountDetails>, AttemptError> {
        let grant = Grant::of(credentials)?;
        let me = self.api.me(&grant.server, &credentials.access_token).await?;
        let mut shown = account::profile(&grant.server, &grant.server, me);
        // By which domain a server names its accounts was looked up once.
        let name = |it: &AccountInfo| it.username.as_ref().and_then(|it| it.split_once('@')).map(|it| it.0.to_owned());
        if name(&shown) == name(profile) {
            shown.username.clone_from(&profile.username);
        }
        let rules = self.api.rules_of(&grant.server).await;
        Ok(rules.map(|rules| AccountDetails { profile: shown, rules }))
    }
}
