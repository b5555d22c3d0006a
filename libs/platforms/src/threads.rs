//! Threads: a profile, through an app of the operator.
//!
//! Facts (documentation of the Threads API; fact sheet of Threads):
//!
//! - A token lasts 60 days. Once it is a day old, and until it expires, it can be exchanged for a
//!   new one. There is no revocation call: users revoke access in Threads.
//! - Every post is first a container, which is not public and is processed; then it is published,
//!   once. The state of a container can be read, and the published posts of a profile are listed.
//! - Threads fetches files itself, from public URLs.
//! - The container of a reply names the post that it replies to, so it is created once that is
//!   public. The direct replies to a post are listed, those of other profiles among them.
//!
//! Containers, the publish call and look-ups are shared by Meta's platforms: `meta/containers.rs`.
//! Here are the names that Threads uses; `threads/container.rs` has the parameters of a container.

mod container;

use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::AccountInfo;
use domain::delivery::{AttemptError, Published, Resolution};
use domain::media::{Attachment, MAX_FETCHED_PICTURE_BYTES, MimeType, PictureBounds, Ratio, VideoCodec};
use domain::options::{OptionKind, OptionSpec, TextForm};
use domain::rules::{Counting, FileRule, PostRule, Rule, Rules};
use serde::Deserialize;
use url::Url;

use crate::account::{Account, AccountDetails, Credentials};
use crate::app::{AppSource, NoExtraSecrets};
use crate::caller::Caller;
use crate::connect_flow::{AuthorizationRequest, AuthorizeStep, Callback, ConnectError, FieldValues, RefreshError};
use crate::deauthorization::{DeauthorizationCallback, InvalidCallback};
use crate::kit::{CallError, Effect, ErrorTable};
use crate::lead_times::LeadTimes;
use crate::meta::{self, Calls, Containers, Form, Graph, Version, errors, signed_request};
use crate::oauth2::{ClientAuth, Dialect, Endpoints, OAuth2, TokenCall};
use crate::platform::{Connect, Platform, Publish, Step};
use crate::platform_info::Access;
use crate::publish_request::PublishRequest;
use crate::redaction::without_token;
use crate::refresh_policy::RefreshPolicy;
use crate::setup::{Setup, SetupError};

pub(crate) const NAME: &str = "threads";

pub(crate) const TITLE: &str = "Threads";

static ERRORS: ErrorTable = errors::table(TITLE);

/// Without app review, only accounts that the operator has added as testers of the app can be
/// connected.
pub(crate) const ACCESS: Access = Access::OwnAccounts;

pub(crate) const PERMISSIONS: &str = "publish posts and replies, and read replies";

const TOPIC_TAG: &str = "topic_tag";

const REPLY_SETTINGS: &str = "reply_settings";

const LINK_ATTACHMENT: &str = "link_attachment";

const POLL_OPTIONS: &str = "poll_options";

const TOPIC: TextForm = TextForm {
    pattern: "^[^.&]*[^.&#\\s][^.&]*$",
    has: |it| !container::topic(it).is_empty() && !it.contains(['.', '&']),
    max: 50,
    examples: &["Lighthouses", "Lighthouses at night"],
};

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        LINK_ATTACHMENT,
        OptionKind::Address(&["https://", "http://"]),
        "A link to show as a card below the text, instead of the first link in the text. Not allowed with media files.",
    ),
    OptionSpec::new(
        POLL_OPTIONS,
        OptionKind::Ballot { least: 2, most: 4, max: 25 },
        "The choices of a poll. Threads sets its duration. Not allowed with media files.",
    ),
    OptionSpec::new(
        REPLY_SETTINGS,
        OptionKind::OneOf(&["everyone", "accounts_you_follow", "followers_only", "mentioned_only"]),
        "Who can reply. Defaults to everyone.",
    ),
    OptionSpec::new(
        TOPIC_TAG,
        OptionKind::TextOf(&TOPIC),
        "The topic of the post, instead of the first hashtag in the text: at most 50 characters, without `.` and `&`.",
    ),
];

/// To read the profile and its posts, to publish, and to publish and look up replies.
const SCOPES: &[&str] = &["threads_basic", "threads_content_publish", MANAGE_REPLIES, READ_REPLIES];

const MANAGE_REPLIES: &str = "threads_manage_replies";

const READ_REPLIES: &str = "threads_read_replies";

const DIALECT: Dialect = Dialect {
    pkce: false,
    scope_separator: ",",
    lengthening: Some(TokenCall {
        client: ClientAuth::Secret,
        ..TokenCall::longer("th_exchange_token", "access_token")
    }),
    refresh: TokenCall { client: ClientAuth::None, ..TokenCall::longer("th_refresh_token", "access_token") },
    gone: meta::GONE,
    ours: meta::OURS,
    passing: meta::PASSING,
    ..Dialect::STANDARD
};

/// Containers are created before the due second, also for text. They expire after a day.
pub(crate) const LEAD: LeadTimes = LeadTimes {
    always: Some(TimeDelta::minutes(1)),
    images: Some(TimeDelta::minutes(3)),
    videos: Some(TimeDelta::minutes(10)),
    ..LeadTimes::NONE
};

/// Threads scales pictures to a width of 1,440 pixels, and accepts a height of at most ten times
/// that.
const BOUNDS: PictureBounds = PictureBounds::new(MAX_FETCHED_PICTURE_BYTES, 14_400);

const SETTLE_TIME: TimeDelta = TimeDelta::seconds(60);

const PROFILE: &str = "id,username,name,threads_profile_picture_url";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Base URL of the website and the API, if not Threads' own.
    url: Option<Url>,
    scopes: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Member {
    id: String,
    username: Option<String>,
    name: Option<String>,
    threads_profile_picture_url: Option<String>,
}

pub(crate) fn set_up(setup: &Setup) -> Result<Option<Threads>, SetupError> {
    let Some(Settings { url, scopes }) = setup.settings(NAME)? else { return Ok(None) };
    let base_url = |it: &Url| it.as_str().trim_end_matches('/').to_owned();
    let (site, host) = match &url {
        Some(url) => (base_url(url), base_url(url)),
        None => ("https://www.threads.com".to_owned(), "https://graph.threads.net".to_owned()),
    };
    let endpoints = Endpoints {
        authorization: format!("{site}/oauth/authorize"),
        token: format!("{host}/oauth/access_token"),
        lengthening: Some(format!("{host}/access_token")),
        refresh: Some(format!("{host}/refresh_access_token")),
        revocation: None,
    };
    let oauth = OAuth2::new(setup.http.clone(), setup.app::<NoExtraSecrets>(NAME), &DIALECT, endpoints);
    let graph = Graph::new(setup.http.clone(), &host, Version::THREADS, &ERRORS);
    let scopes = scopes.unwrap_or_else(|| SCOPES.iter().map(|it| (*it).to_owned()).collect());
    Ok(Some(Threads { graph, oauth, scopes }))
}

pub(crate) struct Threads {
    graph: Graph,
    oauth: OAuth2,
    scopes: Vec<String>,
}

impl Threads {
    fn scopes(&self) -> Vec<&str> {
        self.scopes.iter().map(String::as_str).collect()
    }

    /// Whether the app may publish replies, and look them up.
    fn has_threads(&self) -> bool {
        [MANAGE_REPLIES, READ_REPLIES].iter().all(|it| self.scopes().contains(it))
    }

    async fn profile(&self, caller: Caller<'_>) -> Result<AccountInfo, CallError> {
        let member: Member = self.graph.get(caller, "/me", &[("fields", PROFILE)]).await?.body;
        account_info(member).ok_or_else(|| CallError::unreadable(TITLE, Effect::Read))
    }
}

impl Containers for Threads {
    fn graph(&self) -> &Graph {
        &self.graph
    }

    fn calls(&self) -> Calls {
        Calls {
            media: "threads",
            publish: "threads_publish",
            limit: "threads_publishing_limit",
            status: "status,error_message",
            listed: "id,text,timestamp,permalink",
        }
    }

    fn fields(&self, request: &PublishRequest<'_>, form: Form<'_>) -> Vec<(&'static str, String)> {
        container::fields(request, form)
    }

    fn bounds(&self, _: &PublishRequest<'_>, _: &Attachment) -> Option<PictureBounds> {
        Some(BOUNDS)
    }

    fn has_replies(&self) -> bool {
        true
    }
}

#[async_trait::async_trait]
impl Platform for Threads {
    fn name(&self) -> &'static str {
        NAME
    }

    fn refresh_policy(&self) -> RefreshPolicy {
        RefreshPolicy::Extending
    }

    async fn refresh(&self, old: &Credentials, now: DateTime<Utc>) -> Result<Credentials, RefreshError> {
        self.oauth.refresh(old, now).await
    }

    async fn account_details(
        &self,
        _: &AccountInfo,
        credentials: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<AccountDetails>, AttemptError> {
        let caller = Caller { token: &credentials.access_token, now };
        let profile = self.profile(caller).await?;
        Ok(Some(AccountDetails { profile, rules: self.rules() }))
    }
}

#[async_trait::async_trait]
impl Connect for Threads {
    fn rules(&self) -> Rules {
        use MimeType::{Jpeg, Mp4, Png, Quicktime, Webp};
        let only_text = [LINK_ATTACHMENT, POLL_OPTIONS].map(str::to_owned).to_vec();
        let rules = Rules::new(
            TITLE,
            [
                Rule::max_text(500, Counting::emoji_bytes()),
                Rule::OfPost(PostRule::MaxLinks { max: 5, option: Some(LINK_ATTACHMENT.to_owned()) }),
                Rule::max_media(20),
                Rule::OfPost(PostRule::NotWithMedia { options: only_text }),
                Rule::mime_types([Jpeg, Png, Webp, Mp4, Quicktime]),
                Rule::OfFiles(FileRule::FittedImageBytes { max: BOUNDS.max_bytes }),
                Rule::OfFiles(FileRule::FittedImageSide { max: BOUNDS.max_side }),
                Rule::OfFiles(FileRule::ImageRatio { min: Ratio::hundredths(10), max: Ratio::hundredths(1_000) }),
                Rule::max_video_bytes(1_000_000_000),
                Rule::OfFiles(FileRule::MaxDuration { max: 300 }),
                Rule::OfFiles(FileRule::MinFrameRate { min: 23 }),
                Rule::OfFiles(FileRule::MaxFrameRate { max: 60 }),
                Rule::OfFiles(FileRule::MaxVideoWidth { max: 1_920 }),
                Rule::OfFiles(FileRule::VideoRatio { min: Ratio::hundredths(1), max: Ratio::hundredths(1_000) }),
                Rule::OfFiles(FileRule::VideoCodecs { codecs: vec![VideoCodec::H264, VideoCodec::Hevc] }),
                Rule::max_alt_text(1_000, Counting::code_points()),
            ],
        );
        if self.has_threads() { rules.with_threads() } else { rules }
    }

    fn app(&self) -> Option<&dyn AppSource> {
        Some(self.oauth.app())
    }

    async fn authorize(
        &self,
        _: &FieldValues,
        request: &AuthorizationRequest,
        _: DateTime<Utc>,
    ) -> Result<AuthorizeStep, ConnectError> {
        self.graph.check_reach(&request.urls)?;
        let url = self.oauth.authorization_url(request, &self.scopes(), &[]).await?;
        Ok(AuthorizeStep::Redirect { url, memory: None })
    }

    async fn complete(&self, callback: &Callback, now: DateTime<Utc>) -> Result<Vec<Account>, ConnectError> {
        let tokens = self.oauth.complete(callback).await?;
        let caller = Caller { token: &tokens.access_token, now };
        let profile = self.profile(caller).await.map_err(|it| without_token(it, &tokens.access_token))?;
        let (scopes, credentials) = (tokens.granted(&self.scopes()), tokens.credentials(None, now));
        Ok(vec![Account { profile, scopes, rules: self.rules(), grant: None, credentials }])
    }

    async fn read_deauthorization(
        &self,
        message: &str,
        now: DateTime<Utc>,
    ) -> Result<DeauthorizationCallback, InvalidCallback> {
        signed_request::read(self.oauth.app(), message, now).await
    }

    /// Threads has no revocation call.
    async fn revoke(&self, _: &Credentials, _: DateTime<Utc>) -> Result<(), AttemptError> {
        Ok(())
    }
}

fn account_info(member: Member) -> Option<AccountInfo> {
    let Member { id, username, name, threads_profile_picture_url: avatar } = member;
    let is_id = (1..=20).contains(&id.len()) && id.bytes().all(|it| it.is_ascii_digit());
    let is_name = |it: &String| it.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'_'));
    let username = username.filter(|it| (1..=30).contains(&it.len()) && is_name(it));
    is_id.then(|| AccountInfo {
        account_id: id,
        profile_url: username.as_ref().map(|it| format!("https://www.threads.com/@{it}")),
        username,
        display_name: name.filter(|it| !it.trim().is_empty()),
        avatar,
    })
}

#[async_trait::async_trait]
impl Publish for Threads {
    async fn prepare(&self, request: &PublishRequest<'_>) -> Result<Step, AttemptError> {
        meta::prepare(self, request).await
    }

    async fn publish(&self, request: &PublishRequest<'_>) -> Result<Published, AttemptError> {
        meta::publish(self, request).await
    }

    async fn look_up(&self, request: &PublishRequest<'_>, since: DateTime<Utc>) -> Resolution {
        meta::resolve(self, request, since).await
    }

    fn fetches_files(&self) -> bool {
        true
    }

    fn settle_time(&self) -> TimeDelta {
        SETTLE_TIME
    }
}
