//! Ghost: sites of version 5 and later, wherever they are hosted, through their Admin API.
//!
//! What the adapter relies on (the fact sheet of Ghost, and trials on Ghost 6):
//!
//! - The owner of a site creates an integration. Its Admin API key signs a token for each call, and lasts until it is
//!   deleted or regenerated.
//! - A post has a slug that we can choose. A second post with the same slug gets a number appended, so a draft is
//!   looked up before it is created.
//! - One call by the draft's id publishes it and changes its slug at the same time. The call names the time of the
//!   last change, which is read right before, and is refused if the draft has been changed since.
//! - An e-mail cannot be called back. It is sent by the publish call, only if that names a newsletter.
//!
//! Preparation uploads the files and creates the draft with its full content, under a slug that no other post has. So
//! the draft is found again if a response is lost, and its status shows later whether the publish call took effect.

mod api;
mod connect;
mod content;
mod errors;
mod key;
mod publish;

#[cfg(any(test, feature = "testing"))]
pub(crate) use self::api::recordings;

use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::AccountInfo;
use domain::delivery::AttemptError;
use domain::options::{OptionKind, OptionSpec};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use self::api::Api;
use self::key::Key;
use crate::account::{AccountDetails, Credentials, UnreadableGrant};
use crate::lead_times::LeadTimes;
use crate::named_site::host_of;
use crate::platform::Platform;
use crate::platform_info::Access;
use crate::setup::{Setup, SetupError};

pub(crate) const NAME: &str = "ghost";

pub(crate) const TITLE: &str = "Ghost";

pub(crate) const ACCESS: Access = Access::Open;

pub(crate) const PERMISSIONS: &str =
    "everything that an integration may do on the site: create, change and delete posts and files, and read members";

/// The option whose values only the site knows.
const NEWSLETTER: &str = "newsletter";

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        "title",
        OptionKind::Text { max: 255 },
        "The title of the post. Defaults to the first line of the text, shortened if it is long.",
    ),
    OptionSpec::new(
        "status",
        OptionKind::OneOf(&["publish", "draft"]),
        "The status of the post: public, or a draft. Defaults to `publish`.",
    ),
    OptionSpec::new(
        "visibility",
        OptionKind::OneOf(&["public", "members", "paid"]),
        "Who can read the post on the site: everyone, members, or paying members. Defaults to the site's setting.",
    ),
    OptionSpec::new(
        "tags",
        OptionKind::Texts { most: 20, max: 191 },
        "The names of the tags. Missing ones are created. A name that begins with `#` is an internal tag.",
    ),
    OptionSpec::new("excerpt", OptionKind::Text { max: 300 }, "The summary that lists and feeds show."),
    OptionSpec::new(
        "slug",
        OptionKind::Text { max: 185 },
        "The last part of the post's URL. By default, Ghost derives it from the title.",
    ),
    OptionSpec::new(
        "featured",
        OptionKind::Flag,
        "Whether the first image becomes the feature image, which themes show above the post, and is left out of the \
         post body.",
    ),
    OptionSpec::new(
        "canonical_url",
        OptionKind::Address(&["https://", "http://"]),
        "The URL at which the post was published first, for search engines.",
    ),
    OptionSpec::new(
        NEWSLETTER,
        OptionKind::Choice { max: 191 },
        "The newsletter that sends the post to all its subscribers by e-mail. Without it, no e-mail is sent.",
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
struct Settings {}

pub(crate) fn set_up(setup: &Setup) -> Result<Option<Ghost>, SetupError> {
    let Some(Settings {}) = setup.settings(NAME)? else { return Ok(None) };
    Ok(Some(Ghost { api: Api::new(setup.http.clone()) }))
}

pub(crate) struct Ghost {
    api: Api,
}

struct Grant {
    /// Such as `https://blog.example.com/`, to which `ghost/api/admin/` is added.
    admin: Url,
    key: Key,
}

impl Grant {
    fn load(credentials: &Credentials) -> Result<Self, UnreadableGrant> {
        let admin = credentials.extra.as_ref().and_then(|it| Url::parse(it.expose_secret()).ok());
        let key = Key::parse(credentials.access_token.expose_secret());
        admin.zip(key).map(|(admin, key)| Self { admin, key }).ok_or(UnreadableGrant)
    }

    /// The key does not expire.
    fn credentials(admin: &Url, key: SecretString) -> Credentials {
        Credentials { extra: Some(admin.as_str().to_owned().into()), ..Credentials::new(key) }
    }
}

#[async_trait::async_trait]
impl Platform for Ghost {
    fn name(&self) -> &'static str {
        NAME
    }

    fn host(&self, credentials: &Credentials) -> Option<String> {
        let grant = Grant::load(credentials).ok()?;
        Some(host_of(&grant.admin).to_owned())
    }

    /// The site reports its profile to everyone, so the key is checked, too.
    async fn account_details(
        &self,
        _: &AccountInfo,
        credentials: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<AccountDetails>, AttemptError> {
        let grant = Grant::load(credentials)?;
        self.api.check_key(&grant, now).await?;
        let site = self.api.site(&grant.admin, now).await?;
        Ok(Some(AccountDetails { profile: site.profile(&grant.admin), rules: connect::rules() }))
    }
}
