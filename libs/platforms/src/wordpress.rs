//! WordPress: sites of version 5.6 and later, wherever they are hosted, through
//! their REST API.
//!
//! What it relies on (the source of WordPress 6.5, and trials on a site of it; the
//! fact sheet of WordPress):
//!
//! - A site says where its REST API is, and the API where a person makes an
//!   application password for this service. It is sent with every call, and ends
//!   when it is deleted.
//! - A post has a slug that we can choose. A second post with the same one gets a
//!   number behind it, so a post is looked for before it is made.
//! - A draft is seen by nobody, and neither is the page of a file that belongs to it.
//!   One call by the draft's id publishes it, and changes its slug at the same time.
//!   Repeated, it changes nothing more.
//! - Nothing tells how large a file may be, before one is refused.
//!
//! Preparation makes the draft with all that it says and shows, under a slug that
//! nobody else has. So the draft is found again when an answer is lost, and the slug
//! tells later whether the public call took effect.
//!
//! `site.rs` finds a site's API, `api.rs` has its calls, `errors.rs` what errors mean, `json.rs` reads JSON that other
//! text surrounds, `connect.rs` has the connect flow, `content.rs` writes a post in blocks, `terms.rs` finds categories
//! and tags, `draft.rs` prepares, and `publish.rs` has the rest.

mod api;
mod connect;
mod content;
mod draft;
mod errors;
mod json;
mod publish;
mod site;
mod terms;

#[cfg(any(test, feature = "conformance"))]
pub(crate) use self::api::recordings;

use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::AccountInfo;
use domain::delivery::AttemptError;
use domain::options::{OptionKind, OptionSpec};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use self::api::{Api, Caller};
use self::site::Root;
use crate::account::{AccountDetails, Credentials};
use crate::http_clients::HttpClients;
use crate::lead_times::LeadTimes;
use crate::platform::Platform;
use crate::platform_info::Access;
use crate::setup::{Setup, SetupError};

/// Its name in paths, and of its settings.
pub(crate) const NAME: &str = "wordpress";

/// Its name as people know it.
pub(crate) const TITLE: &str = "WordPress";

/// What an operator needs to have it.
pub(crate) const ACCESS: Access = Access::Open;

/// What a post can say here alone.
pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        "title",
        OptionKind::Text { max: 500 },
        "Its title. The first line of the text, unless given, cut where it is long.",
    ),
    OptionSpec::new(
        "status",
        OptionKind::OneOf(&["publish", "private", "pending", "draft"]),
        "What becomes of it: seen by everybody, by editors alone, handed in for review, or kept as a draft. \
         `publish`, unless given.",
    ),
    OptionSpec::new(
        "categories",
        OptionKind::Texts { most: 10, max: 200 },
        "Its categories, by their names. Those that there are not yet are made, where the account may. The site's \
         own default, unless given.",
    ),
    OptionSpec::new(
        "tags",
        OptionKind::Texts { most: 20, max: 200 },
        "Its tags, by their names. Those that there are not yet are made.",
    ),
    OptionSpec::new(
        "excerpt",
        OptionKind::Text { max: 5_000 },
        "What lists and feeds show of it. Its beginning, unless given.",
    ),
    OptionSpec::new(
        "slug",
        OptionKind::Text { max: 200 },
        "The last part of its address. WordPress makes it of the title, unless given.",
    ),
    OptionSpec::new(
        "featured",
        OptionKind::Flag,
        "`true` makes the first picture the featured one, which themes show in a place of their own, and leaves it \
         out of the post.",
    ),
];

/// A draft is made shortly before the due second, and files go up before.
pub(crate) const LEAD: LeadTimes = LeadTimes {
    always: Some(TimeDelta::seconds(30)),
    images: Some(TimeDelta::seconds(60)),
    videos: Some(TimeDelta::seconds(180)),
    gifs: None,
};

/// What a deployment says of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// What people read on a site's page of who wants to act for them.
    #[serde(default = "client_name")]
    client_name: String,
}

fn client_name() -> String {
    "Social Publishing".to_owned()
}

/// The adapter, when it is switched on.
pub(crate) fn set_up(setup: &Setup) -> Result<Option<Wordpress>, SetupError> {
    let Some(Settings { client_name }) = setup.settings(NAME)? else { return Ok(None) };
    Ok(Some(Wordpress { http: setup.http.clone(), api: Api::new(setup.http.clone()), client_name }))
}

/// Every site of WordPress.
pub(crate) struct Wordpress {
    http: HttpClients,
    api: Api,
    client_name: String,
}

/// What is kept with an application password, so that nothing else is needed to act
/// for its account.
#[derive(Clone, Serialize, Deserialize)]
struct Grant {
    root: Root,
    user: String,
    /// The name under which the approval page made it; `None` where a person made it by hand.
    password_name: Option<String>,
}

/// The credentials do not say where they are good for.
#[derive(Debug, thiserror::Error)]
#[error("what was kept of the account's site is unreadable")]
struct UnreadableGrant;

impl From<UnreadableGrant> for AttemptError {
    fn from(unreadable: UnreadableGrant) -> Self {
        Self::Unauthorized { reason: unreadable.to_string() }
    }
}

impl Grant {
    /// That of an account.
    fn of(credentials: &Credentials) -> Result<Self, UnreadableGrant> {
        let stored = credentials.extra.as_ref().ok_or(UnreadableGrant)?;
        serde_json::from_str(stored.expose_secret()).map_err(|_| UnreadableGrant)
    }

    /// The credentials of an account: its application password does not end.
    fn with(self, password: SecretString) -> Credentials {
        let extra = serde_json::to_string(&self).unwrap_or_default();
        Credentials { extra: Some(extra.into()), ..Credentials::new(password) }
    }

    /// Who asks the site.
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
        Grant::of(credentials).ok().map(|it| it.root.host().to_owned())
    }

    async fn about(
        &self,
        _: &AccountInfo,
        credentials: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<AccountDetails>, AttemptError> {
        let grant = Grant::of(credentials)?;
        let who = connect::who(&self.api, grant.caller(credentials, now)).await?;
        Ok(Some(AccountDetails { profile: who.profile(&grant.root), rules: connect::rules() }))
    }
}
