//! Threads: a profile, through an app of the operator's.
//!
//! What it relies on (the documentation of the Threads API; the fact sheet of Threads):
//!
//! - A token lasts 60 days, and is exchanged for another one as long as it lives, once it
//!   is a day old. There is no call that ends a grant: people do that in Threads.
//! - Whatever is posted is first a container, which shows nothing to anybody and is worked
//!   on; then it is published, once. What became of a container can be asked, and what the
//!   profile has published is listed.
//! - Threads fetches files by itself, from addresses that anybody can read.
//!
//! The way from a post to a container, its publication and what became of it is that of
//! Meta: `meta/containers.rs`. Here is what Threads calls things, and `threads/container.rs`
//! has what a container is made of.

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
use crate::app::NoExtraSecrets;
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

/// Its name in paths, and of its settings.
pub(crate) const NAME: &str = "threads";

/// Its name as people know it.
pub(crate) const TITLE: &str = "Threads";

/// What its errors mean.
static ERRORS: ErrorTable = errors::table(TITLE);

/// What an operator needs to have it: without a review, only accounts that the operator
/// has made testers of the app.
pub(crate) const ACCESS: Access = Access::OwnAccounts;

/// The tag under which it is found.
const TOPIC_TAG: &str = "topic_tag";

/// Who may answer.
const REPLY_SETTINGS: &str = "reply_settings";

/// A link that is shown as a card.
const LINK_ATTACHMENT: &str = "link_attachment";

/// What people can choose.
const POLL_OPTIONS: &str = "poll_options";

const TOPIC: TextForm = TextForm {
    pattern: "^[^.&]*[^.&#\\s][^.&]*$",
    has: |it| !container::topic(it).is_empty() && !it.contains(['.', '&']),
    max: 50,
    examples: &["Lighthouses", "Lighthouses at night"],
};

/// What a post can say here alone.
pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        LINK_ATTACHMENT,
        OptionKind::Address(&["https://", "http://"]),
        "A link that is shown as a card under the text, in place of the first link of the text. Not with files.",
    ),
    OptionSpec::new(
        POLL_OPTIONS,
        OptionKind::Ballot { least: 2, most: 4, max: 25 },
        "A poll: what people can choose. Threads sets how long they can. Not with files.",
    ),
    OptionSpec::new(
        REPLY_SETTINGS,
        OptionKind::OneOf(&["everyone", "accounts_you_follow", "followers_only", "mentioned_only"]),
        "Who may answer: everybody, unless this says that only some may.",
    ),
    OptionSpec::new(
        TOPIC_TAG,
        OptionKind::TextOf(&TOPIC),
        "The topic under which it is found, in place of the first hashtag of the text: at most 50 characters, without \
         . and &.",
    ),
];

/// What is asked for: to read the profile and what it posts, and to post.
const SCOPES: &[&str] = &["threads_basic", "threads_content_publish"];

/// How its OAuth differs.
const DIALECT: Dialect = Dialect {
    pkce: false,
    scope_separator: ",",
    lengthening: Some(TokenCall {
        client: ClientAuth::Secret,
        ..TokenCall::longer("th_exchange_token", "access_token")
    }),
    renewal: TokenCall { client: ClientAuth::None, ..TokenCall::longer("th_refresh_token", "access_token") },
    gone: meta::GONE,
    ours: meta::OURS,
    passing: meta::PASSING,
    ..Dialect::STANDARD
};

/// Containers are made before the due second, also of a text. They are good for a day.
pub(crate) const LEAD: LeadTimes = LeadTimes {
    always: Some(TimeDelta::minutes(1)),
    images: Some(TimeDelta::minutes(3)),
    videos: Some(TimeDelta::minutes(10)),
    ..LeadTimes::NONE
};

/// What a picture is made to fit into. Threads makes it 1,440 pixels wide itself, and
/// takes at most ten times as much of its height.
const BOUNDS: PictureBounds = PictureBounds::new(MAX_FETCHED_PICTURE_BYTES, 14_400);

/// How long a public call that was cut off may still take effect, and appear in lists.
const SETTLES: TimeDelta = TimeDelta::seconds(60);

/// The fields of a profile that are asked for.
const PROFILE: &str = "id,username,name,threads_profile_picture_url";

/// What a deployment says of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Where both the website and the API are, if not at the addresses of Threads.
    url: Option<Url>,
}

/// A profile as Threads tells it.
#[derive(Deserialize)]
struct Member {
    id: String,
    username: Option<String>,
    name: Option<String>,
    threads_profile_picture_url: Option<String>,
}

/// The adapter, when it is switched on.
pub(crate) fn set_up(setup: &Setup) -> Result<Option<Threads>, SetupError> {
    let Some(Settings { url }) = setup.settings(NAME)? else { return Ok(None) };
    let plain = |it: &Url| it.as_str().trim_end_matches('/').to_owned();
    let (site, host) = match &url {
        Some(url) => (plain(url), plain(url)),
        None => ("https://www.threads.com".to_owned(), "https://graph.threads.net".to_owned()),
    };
    let endpoints = Endpoints {
        authorization: format!("{site}/oauth/authorize"),
        token: format!("{host}/oauth/access_token"),
        lengthening: Some(format!("{host}/access_token")),
        renewal: Some(format!("{host}/refresh_access_token")),
        revocation: None,
    };
    let oauth = OAuth2::new(setup.http.clone(), setup.app::<NoExtraSecrets>(NAME), &DIALECT, endpoints);
    let graph = Graph::new(setup.http.clone(), &host, Version::THREADS, &ERRORS);
    Ok(Some(Threads { graph, oauth }))
}

pub(crate) struct Threads {
    graph: Graph,
    oauth: OAuth2,
}

impl Threads {
    async fn profile(&self, by: Caller<'_>) -> Result<AccountInfo, CallError> {
        let member: Member = self.graph.get(by, "/me", &[("fields", PROFILE)]).await?.body;
        profile_of(member).ok_or_else(|| CallError::unreadable(TITLE, Effect::Read))
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
            standing: "status,error_message",
            listed: "id,text,timestamp,permalink",
        }
    }

    fn fields(&self, job: &PublishRequest<'_>, form: Form<'_>) -> Vec<(&'static str, String)> {
        container::fields(job, form)
    }

    fn bounds(&self, _: &PublishRequest<'_>, _: &Attachment) -> Option<PictureBounds> {
        Some(BOUNDS)
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

    async fn about(
        &self,
        _: &AccountInfo,
        credentials: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<AccountDetails>, AttemptError> {
        let by = Caller { token: &credentials.access_token, now };
        let profile = self.profile(by).await?;
        Ok(Some(AccountDetails { profile, rules: self.rules() }))
    }
}

#[async_trait::async_trait]
impl Connect for Threads {
    fn rules(&self) -> Rules {
        use MimeType::{Jpeg, Mp4, Png, Quicktime, Webp};
        let only_text = [LINK_ATTACHMENT, POLL_OPTIONS].map(str::to_owned).to_vec();
        Rules::of(
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
        )
    }

    async fn authorize(
        &self,
        _: &FieldValues,
        request: &AuthorizationRequest,
        _: DateTime<Utc>,
    ) -> Result<AuthorizeStep, ConnectError> {
        self.graph.check_reach(&request.urls)?;
        let url = self.oauth.authorization_url(request, SCOPES, &[]).await?;
        Ok(AuthorizeStep::Redirect { url, memory: None })
    }

    async fn complete(&self, callback: &Callback, now: DateTime<Utc>) -> Result<Vec<Account>, ConnectError> {
        let tokens = self.oauth.complete(callback).await?;
        let by = Caller { token: &tokens.access_token, now };
        let profile = self.profile(by).await.map_err(|it| without_token(it, &tokens.access_token))?;
        let (scopes, credentials) = (tokens.granted(SCOPES), tokens.credentials(None, now));
        Ok(vec![Account { profile, scopes, rules: self.rules(), grant: None, credentials }])
    }

    async fn read_deauthorization(
        &self,
        message: &str,
        now: DateTime<Utc>,
    ) -> Result<DeauthorizationCallback, InvalidCallback> {
        signed_request::read(self.oauth.app(), message, now).await
    }

    /// There is no call for it.
    async fn revoke(&self, _: &Credentials, _: DateTime<Utc>) -> Result<(), AttemptError> {
        Ok(())
    }
}

fn profile_of(member: Member) -> Option<AccountInfo> {
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
    async fn prepare(&self, job: &PublishRequest<'_>) -> Result<Step, AttemptError> {
        meta::prepare(self, job).await
    }

    async fn publish(&self, job: &PublishRequest<'_>) -> Result<Published, AttemptError> {
        meta::publish(self, job).await
    }

    async fn look_up(&self, job: &PublishRequest<'_>, since: DateTime<Utc>) -> Resolution {
        meta::resolve(self, job, since).await
    }

    fn fetches_files(&self) -> bool {
        true
    }

    fn settle_time(&self) -> TimeDelta {
        SETTLES
    }
}
