//! Instagram: professional accounts, through Instagram's own login or through Facebook's.
//!
//! Facts (documentation of the Instagram Platform; fact sheet of Instagram):
//!
//! - With Instagram's login, a token lasts 60 days. Once it is a day old, and until it expires, it
//!   can be exchanged for a new one. With Facebook's login, accounts are found through their Pages,
//!   and calls use Page tokens, which do not expire.
//! - A post is made in two steps: see `meta/containers.rs`. Instagram fetches files from public
//!   URLs; with Facebook's login, the bytes of videos are sent. Pictures must be JPEG, so most are
//!   converted.
//! - There is no idempotency key. A container is published once, and reports whether it was; the
//!   published posts of an account can be listed.

mod account;
mod container;
mod login;
mod options;
mod tag;

use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::AccountInfo;
use domain::delivery::{AttemptError, Published, Resolution};
use domain::media::{Attachment, FileType, PictureBounds};
use domain::post::SegmentKind;
use domain::rules::Rules;
use serde::Deserialize;
use url::Url;

use self::login::{Login, LoginMethod, LoginSettings};
pub(crate) use self::options::OPTIONS;
use crate::account::{Account, AccountDetails, Credentials};
use crate::app::AppSource;
use crate::caller::Caller;
use crate::connect_flow::{AuthorizationRequest, AuthorizeStep, Callback, ConnectError, FieldValues, RefreshError};
use crate::deadline;
use crate::deauthorization::{DeauthorizationCallback, InvalidCallback};
use crate::kit::ErrorTable;
use crate::lead_times::LeadTimes;
use crate::meta::{self, Calls, Containers, Form, Graph, comments, errors, signed_request};
use crate::platform::{Connect, Platform, Publish, Step};
use crate::platform_info::Access;
use crate::publish_request::PublishRequest;
use crate::refresh_policy::RefreshPolicy;
use crate::setup::{Setup, SetupError};

pub(crate) const NAME: &str = "instagram";

pub(crate) const TITLE: &str = "Instagram";

static ERRORS: ErrorTable = errors::table(TITLE);

/// Without app review, only accounts with a role in the app can be connected.
pub(crate) const ACCESS: Access = Access::OwnAccounts;

pub(crate) const PERMISSIONS: &str = "publish posts, read the account's posts, and list your Facebook Pages";

/// The fields of a listed comment. Instagram lists the newest first.
const COMMENTS: &[(&str, &str)] = &[("fields", "id,text,timestamp,username"), ("limit", "50")];

/// Instagram fetches and processes files before the due second.
pub(crate) const LEAD: LeadTimes =
    LeadTimes { images: Some(TimeDelta::minutes(3)), videos: Some(TimeDelta::minutes(15)), ..LeadTimes::NONE };

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Base URL of the websites and APIs, if not Meta's own.
    url: Option<Url>,
    #[serde(default)]
    login: LoginMethod,
    scopes: Option<Vec<String>>,
    config_id: Option<String>,
}

pub(crate) fn set_up(setup: &Setup) -> Result<Option<Instagram>, SetupError> {
    let Some(Settings { url, login: by, scopes, config_id }) = setup.settings(NAME)? else { return Ok(None) };
    Ok(Some(Instagram { login: Login::new(setup, url.as_ref(), LoginSettings { by, scopes, config_id }) }))
}

pub(crate) struct Instagram {
    login: Login,
}

#[async_trait::async_trait]
impl Platform for Instagram {
    fn name(&self) -> &'static str {
        NAME
    }

    fn refresh_policy(&self) -> RefreshPolicy {
        self.login.refresh_policy()
    }

    async fn refresh(&self, old: &Credentials, now: DateTime<Utc>) -> Result<Credentials, RefreshError> {
        self.login.refresh(old, now).await
    }

    async fn account_details(
        &self,
        profile: &AccountInfo,
        credentials: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<AccountDetails>, AttemptError> {
        let caller = Caller { token: credentials.account_token(), now };
        let info = self.login.account_details(caller, profile).await?;
        Ok(info.map(|profile| AccountDetails { profile, rules: self.rules() }))
    }
}

#[async_trait::async_trait]
impl Connect for Instagram {
    fn rules(&self) -> Rules {
        options::rules()
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
        Ok(AuthorizeStep::Redirect { url: self.login.page(request).await?, memory: None })
    }

    async fn complete(&self, callback: &Callback, now: DateTime<Utc>) -> Result<Vec<Account>, ConnectError> {
        self.login.complete(callback, &self.rules(), now).await
    }

    fn revokes_all(&self) -> bool {
        self.login.revokes_all()
    }

    async fn read_deauthorization(
        &self,
        message: &str,
        now: DateTime<Utc>,
    ) -> Result<DeauthorizationCallback, InvalidCallback> {
        signed_request::read(self.login.app(), message, now).await
    }

    async fn revoke(&self, credentials: &Credentials, now: DateTime<Utc>) -> Result<(), AttemptError> {
        self.login.revoke(credentials, now).await
    }
}

impl Containers for Instagram {
    fn graph(&self) -> &Graph {
        &self.login.graph
    }

    fn calls(&self) -> Calls {
        Calls {
            media: "media",
            publish: "media_publish",
            limit: "content_publishing_limit",
            status: "status_code,status",
            listed: "id,caption,timestamp,permalink",
        }
    }

    fn fields(&self, request: &PublishRequest<'_>, form: Form<'_>) -> Vec<(&'static str, String)> {
        container::fields(request, form)
    }

    fn bounds(&self, request: &PublishRequest<'_>, _: &Attachment) -> Option<PictureBounds> {
        Some(container::bounds(request))
    }

    fn sends_bytes(&self, file: &Attachment) -> bool {
        self.login.accepts_bytes() && file.mime_type.file_type() == FileType::Video
    }

    fn list(&self, request: &PublishRequest<'_>) -> &'static str {
        if container::is_story(request) { "stories" } else { "media" }
    }

    /// Stories have no text.
    fn caption<'a>(&self, request: &PublishRequest<'a>) -> &'a str {
        if container::is_story(request) { "" } else { request.text }
    }
}

#[async_trait::async_trait]
impl Publish for Instagram {
    async fn prepare(&self, request: &PublishRequest<'_>) -> Result<Step, AttemptError> {
        if request.segment == SegmentKind::Comment {
            return Ok(Step::Ready { progress: None });
        }
        meta::prepare(self, request).await
    }

    async fn publish(&self, request: &PublishRequest<'_>) -> Result<Published, AttemptError> {
        if let Some(post) = request.commented_post() {
            return comments::publish(self.graph(), request, post).await;
        }
        meta::publish(self, request).await
    }

    async fn look_up(&self, request: &PublishRequest<'_>, since: DateTime<Utc>) -> Resolution {
        if let Some(post) = request.commented_post() {
            let looked_up = comments::resolve(self.graph(), request, (post, since), COMMENTS);
            return deadline::look_up(TITLE, request, looked_up).await;
        }
        meta::resolve(self, request, since).await
    }

    fn fetches_files(&self) -> bool {
        true
    }
}
