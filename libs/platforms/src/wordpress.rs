//! WordPress: sites of version 5.6 and later, wherever they are hosted, through their REST API.
//!
//! What the adapter relies on (source of WordPress 6.5, and trials on such a site; the fact sheet
//! of WordPress):
//!
//! - A site names the URL of its REST API, and the API names the page on which the user creates an
//!   application password for this service. The password is sent with every call and lasts until it
//!   is deleted.
//! - A post has a slug that we can choose. A second post with the same slug gets a number appended,
//!   so a post is looked up before it is created.
//! - A draft is not public, and neither is the page of a file that belongs to it. One call by the
//!   draft's id publishes it and changes its slug at the same time. Repeating the call changes
//!   nothing more.
//! - A site does not report how large a file may be before it refuses one.
//!
//! Preparation creates the draft with its full content, under a slug that no other post has. So the
//! draft is found again if a response is lost, and the slug shows later whether the publish call
//! took effect.

mod api;
mod connect;
mod content;
mod draft;
mod errors;
mod json;
mod publish;
mod site;
mod terms;

#[cfg(any(test, feature = "testing"))]
pub(crate) use self::api::recordings;

use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::AccountInfo;
use domain::delivery::AttemptError;
use domain::options::{OptionKind, OptionSpec};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use self::api::{Api, Caller};
use self::site::Root;
use crate::account::{AccountDetails, Credentials, UnreadableGrant};
use crate::http_clients::HttpClients;
use crate::lead_times::LeadTimes;
use crate::platform::Platform;
use crate::platform_info::Access;
use crate::setup::{Setup, SetupError};

pub(crate) const NAME: &str = "wordpress";

pub(crate) const TITLE: &str = "WordPress";

pub(crate) const ACCESS: Access = Access::Open;

pub(crate) const PERMISSIONS: &str = "everything that you may do on the site";

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        "title",
        OptionKind::Text { max: 500 },
        "The title of the post. Defaults to the first line of the text, shortened if it is long.",
    ),
    OptionSpec::new(
        "status",
        OptionKind::OneOf(&["publish", "private", "pending", "draft"]),
        "The status of the post: public, visible to editors only, submitted for review, or a draft. Defaults to \
         `publish`.",
    ),
    OptionSpec::new(
        "categories",
        OptionKind::Texts { most: 10, max: 200 },
        "The names of the categories. Missing ones are created if the account's role allows it. Defaults to the \
         site's default category.",
    ),
    OptionSpec::new(
        "tags",
        OptionKind::Texts { most: 20, max: 200 },
        "The names of the tags. Missing ones are created.",
    ),
    OptionSpec::new(
        "excerpt",
        OptionKind::Text { max: 5_000 },
        "The summary that lists and feeds show. Defaults to the beginning of the post.",
    ),
    OptionSpec::new(
        "slug",
        OptionKind::Text { max: 200 },
        "The last part of the post's URL. By default, WordPress derives it from the title.",
    ),
    OptionSpec::new(
        "featured",
        OptionKind::Flag,
        "Whether the first image becomes the featured image, which themes show separately, and is left out of the \
         post body.",
    ),
];

/// The draft is created shortly before the due second, and files are uploaded before.
pub(crate) const LEAD: LeadTimes = LeadTimes {
    always: Some(TimeDelta::seconds(30)),
    images: Some(TimeDelta::seconds(60)),
    videos: Some(TimeDelta::seconds(180)),
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

pub(crate) fn set_up(setup: &Setup) -> Result<Option<Wordpress>, SetupError> {
    let Some(Settings { client_name }) = setup.settings(NAME)? else { return Ok(None) };
    Ok(Some(Wordpress { http: setup.http.clone(), api: Api::new(setup.http.clone()), client_name }))
}

pub(crate) struct Wordpress {
    http: HttpClients,
    api: Api,
    client_name: String,
}

/// Stored with an application password, so that nothing else is needed to act for its account.
#[derive(Clone, Serialize, Deserialize)]
struct Grant {
    root: Root,
    user: String,
    /// The name that the approval page gave the password; `None` if the user created it.
    password_name: Option<String>,
}

impl Grant {
    fn load(credentials: &Credentials) -> Result<Self, UnreadableGrant> {
        let stored = credentials.extra.as_ref().ok_or(UnreadableGrant)?;
        serde_json::from_str(stored.expose_secret()).map_err(|_| UnreadableGrant)
    }

    /// An application password does not expire.
    fn with(self, password: SecretString) -> Credentials {
        let extra = serde_json::to_string(&self).unwrap_or_default();
        Credentials { extra: Some(extra.into()), ..Credentials::new(password) }
    }

    fn caller<'a>(&'a self, credentials: &'a Credentials, now: DateTime<Utc>) -> Caller<'a> {
        Caller { root: &self.root, user: &self.user, password: &credentials.access_token, now }
    }
}

#[async_trait::async_trait]
impl Platform for Wordpress {
    fn name(&self) -> &'static str {
        NAME
    }

    fn host(&self, credentials: &Credentials) -> Option<String> {
        Grant::load(credentials).ok().map(|it| it.root.host().to_owned())
    }

    async fn account_details(
        &self,
        _: &AccountInfo,
        credentials: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<AccountDetails>, AttemptError> {
        let grant = Grant::load(credentials)?;
        let identity = connect::current_user(&self.api, grant.caller(credentials, now)).await?;
        Ok(Some(AccountDetails { profile: identity.profile(&grant.root), rules: connect::rules() }))
    }
}
