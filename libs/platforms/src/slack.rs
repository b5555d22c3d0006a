//! Slack: channels of a workspace, through a bot of the operator's app.
//!
//! What the adapter relies on (documentation of the Web API; the fact sheet of Slack):
//!
//! - A workspace grants the app a bot. Its token does not expire; if the app has token rotation
//!   enabled, the token lasts 12 hours and is refreshed.
//! - The bot posts in the channels that it was invited to, and can read their messages. Each post
//!   names its channel.
//! - A message carries our reference as metadata, which shows the outcome of a call whose response
//!   was lost. Files are known by their ids, which they have before they are shared: a file that
//!   Slack does not know was not shared.
//! - Files are uploaded before, and are not visible until one call shares them all, with the text.
//!   Its success means only that Slack has begun to share them: the files appear seconds later, or
//!   never. So the call is looked up like one whose response was lost. Files that do not appear
//!   within minutes are deleted and uploaded again, once, without alternative texts: Slack is known
//!   to lose files that have one.
//! - All replies of a thread name its first message by its timestamp, and never another reply
//!   (`thread_ts`). They are listed in the thread, not in the channel.

mod api;
mod content;
mod errors;
mod look_up;

#[cfg(any(test, feature = "testing"))]
pub(crate) use self::api::recordings;

use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::AccountInfo;
use domain::delivery::{AttemptError, Published, Resolution};
use domain::media::{AltText, FileType, MimeType};
use domain::options::{OptionKind, OptionSpec};
use domain::rules::{Counting, FileRule, Rule, Rules};
use serde::{Deserialize, Serialize};
use url::Url;

use self::api::{Api, Bot, ShareStatus, Team};
use crate::account::{Account, AccountDetails, Credentials};
use crate::app::{AppSource, NoExtraSecrets};
use crate::choices::{Choice, ChoicesRequest};
use crate::connect_flow::{AuthorizationRequest, AuthorizeStep, Callback, ConnectError, FieldValues, RefreshError};
use crate::deadline::{self, Deadline, WITHIN};
use crate::kit::{CallError, Effect};
use crate::lead_times::LeadTimes;
use crate::oauth2::{ClientAuth, Dialect, OAuth2, TokenCall, TokenKind, Tokens};
use crate::platform::{Connect, Platform, Publish, Step};
use crate::platform_info::Access;
use crate::publish_request::PublishRequest;
use crate::redaction::without_token;
use crate::refresh_policy::RefreshPolicy;
use crate::setup::{self, Setup, SetupError};
use crate::transport_error::TransportError;

pub(crate) const NAME: &str = "slack";

pub(crate) const TITLE: &str = "Slack";

pub(crate) const ACCESS: Access = Access::Open;

pub(crate) const PERMISSIONS: &str = "post messages and files, and read the channels that the app is in";

const CHANNEL: &str = "channel";

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        CHANNEL,
        OptionKind::Choice { max: 20 },
        "The ID of the channel. Invite the app to the channel first, for example with /invite.",
    )
    .required(),
    OptionSpec::new(
        "unfurl_links",
        OptionKind::Flag,
        "Whether links of a post without files are shown with a preview. By default, Slack decides.",
    ),
];

/// Permissions of the bot: posts, their files, the list of channels (public ones, and private ones
/// that it was invited to), and look-ups of messages and files.
const SCOPES: &[&str] =
    &["chat:write", "files:write", "channels:read", "groups:read", "channels:history", "groups:history", "files:read"];

const DIALECT: Dialect = Dialect {
    // Slack needs no PKCE from an app with a secret.
    pkce: false,
    scope_separator: ",",
    revocation: TokenCall { token: TokenKind::Access, client: ClientAuth::None, ..TokenCall::REVOCATION },
    gone: &["invalid_refresh_token", "token_revoked", "token_expired", "invalid_auth", "account_inactive"],
    ours: &["bad_client_secret", "invalid_client_id"],
    passing: errors::PASSING,
    ..Dialect::STANDARD.with_client(ClientAuth::Basic)
};

pub(crate) const LEAD: LeadTimes = LeadTimes {
    images: Some(TimeDelta::seconds(60)),
    videos: Some(TimeDelta::seconds(180)),
    documents: Some(TimeDelta::seconds(180)),
    ..LeadTimes::NONE
};

/// The largest file that can be uploaded within one step. Slack itself accepts 1 GB.
const MAX_FILE_BYTES: u64 = 100_000_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(default = "official")]
    url: Url,
}

fn official() -> Url {
    setup::official("https://slack.com")
}

pub(crate) fn set_up(setup: &Setup) -> Result<Option<Slack>, SetupError> {
    let Some(Settings { url }) = setup.settings(NAME)? else { return Ok(None) };
    let api = Api::new(setup.http.clone(), url);
    let oauth = OAuth2::new(setup.http.clone(), setup.app::<NoExtraSecrets>(NAME), &DIALECT, api.oauth());
    Ok(Some(Slack { api, oauth }))
}

pub(crate) struct Slack {
    api: Api,
    oauth: OAuth2,
}

/// The ids of the files uploaded so far, in the order of the post.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Progress {
    files: Vec<String>,
    /// Whether an earlier share of this post was given up, so that these files have no alternative
    /// texts.
    is_again: bool,
}

const UPLOADED_AGAIN: &str = "Slack did not show the files in the channel. They are uploaded again without alt texts";

const NOT_SHOWN_YET: &str = "Slack has the files but does not show them in the channel yet";

#[async_trait::async_trait]
impl Platform for Slack {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Only apps with token rotation have a refresh token.
    fn refresh_policy(&self) -> RefreshPolicy {
        RefreshPolicy::Rotating
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
        let bot = Bot { token: &credentials.access_token, now };
        let team = self.api.team(bot).await?;
        Ok(Some(AccountDetails { profile: account_info(team), rules: self.rules() }))
    }
}

#[async_trait::async_trait]
impl Connect for Slack {
    fn rules(&self) -> Rules {
        Rules::new(
            TITLE,
            [
                Rule::max_text(content::MAX_TEXT, Counting::code_points()),
                Rule::max_media(10),
                Rule::DocumentAlone,
                Rule::mime_types(MimeType::ALL),
                Rule::max_image_bytes(MAX_FILE_BYTES),
                Rule::max_video_bytes(MAX_FILE_BYTES),
                Rule::max_document_bytes(MAX_FILE_BYTES),
                Rule::OfFiles(FileRule::ReadableDocuments),
                Rule::max_alt_text(1000, Counting::code_points()),
            ],
        )
        .with_threads()
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
        let url = self.oauth.authorization_url(request, SCOPES, &[]).await?;
        Ok(AuthorizeStep::Redirect { url, memory: None })
    }

    async fn complete(&self, callback: &Callback, now: DateTime<Utc>) -> Result<Vec<Account>, ConnectError> {
        let tokens = self.oauth.complete(callback).await?;
        check_workspace(&tokens)?;
        let bot = Bot { token: &tokens.access_token, now };
        let team = self.api.team(bot).await.map_err(|it| without_token(it, &tokens.access_token))?;
        Ok(vec![Account {
            profile: account_info(team),
            scopes: tokens.granted(SCOPES),
            rules: self.rules(),
            grant: None,
            credentials: tokens.credentials(None, now),
        }])
    }

    /// Channels are the only option with choices: those that the bot was invited to.
    async fn choices(&self, choosing: &ChoicesRequest<'_>, now: DateTime<Utc>) -> Result<Vec<Choice>, AttemptError> {
        let bot = Bot { token: &choosing.credentials.access_token, now };
        Ok(self.api.channels(bot).await?)
    }

    /// Revoking deactivates the bot and removes it from all channels, for every user who connected
    /// the workspace.
    fn revokes_all(&self) -> bool {
        true
    }

    async fn revoke(&self, credentials: &Credentials, now: DateTime<Utc>) -> Result<(), AttemptError> {
        self.oauth.revoke(credentials, now).await
    }
}

fn account_info(team: Team) -> AccountInfo {
    AccountInfo {
        account_id: team.id,
        username: subdomain(&team.url).or_else(|| Some(team.name.clone())),
        display_name: Some(team.name),
        // The avatar needs another permission.
        avatar: None,
        profile_url: Some(team.url),
    }
}

/// Refuses tokens that are not a bot's in one workspace.
fn check_workspace(tokens: &Tokens) -> Result<(), ConnectError> {
    if tokens.text("token_type").as_deref() != Some("bot") {
        return Err(ConnectError::Refused("the app has no bot; give it bot token scopes".to_owned()));
    }
    if tokens.field("is_enterprise_install").and_then(serde_json::Value::as_bool) == Some(true) {
        let why = "the app was installed for a whole organization: choose one workspace on Slack's page";
        return Err(ConnectError::Refused(why.to_owned()));
    }
    Ok(())
}

fn subdomain(url: &str) -> Option<String> {
    let host = Url::parse(url).ok()?.host_str()?.to_owned();
    host.split_once('.').map(|(name, _)| name.to_owned()).filter(|it| !it.is_empty())
}

#[async_trait::async_trait]
impl Publish for Slack {
    /// One file per step. An uploaded file is not visible until it is shared.
    async fn prepare(&self, request: &PublishRequest<'_>) -> Result<Step, AttemptError> {
        let mut progress = Progress::load(request);
        let Some(next) = request.media.get(progress.files.len()) else {
            return Ok(Step::Ready { progress: progress.store() });
        };
        // Files that Slack never received are `Absent`: the outcome is known, so they keep their
        // alternative texts.
        progress.is_again |= progress.files.is_empty() && request.may_have_published;
        let place = format!("file {} of {}", progress.files.len() + 1, request.media.len());
        let bytes = request.files.open(next).await.map_err(CallError::from)?;
        let name = format!("{}.{}", progress.files.len() + 1, next.mime_type.extension());
        // A description is "of image". Slack accepts one for other files, but then shares nothing
        // and returns no error (slackapi/python-slack-sdk, issue 1818).
        let is_described = next.mime_type.file_type() == FileType::Image && !progress.is_again;
        let alt_text = next.alt_text.as_ref().filter(|_| is_described).map(AltText::as_str);
        let file = (name.as_str(), next.mime_type, next.size_bytes);
        let uploading = self.api.upload(Bot::new(request), file, alt_text, bytes, WITHIN);
        let late = || CallError::from_transport(TransportError::Late, Effect::Private, TITLE);
        let uploaded = Deadline::begin(request.now).within(WITHIN, uploading).await.ok_or_else(late).flatten();
        progress.files.push(uploaded.map_err(|it| it.with_message(|why| format!("{place}: {why}")))?);
        let is_complete = progress.files.len() == request.media.len();
        match progress.store() {
            Some(progress) if !is_complete => Ok(Step::Again { progress, at: request.now }),
            progress => Ok(Step::Ready { progress }),
        }
    }

    async fn publish(&self, request: &PublishRequest<'_>) -> Result<Published, AttemptError> {
        let (channel, thread) = (channel(request)?, thread(request)?);
        let text = content::written(request.text)?;
        let bot = Bot::new(request);
        let Progress { files, .. } = Progress::load(request);
        if files.len() != request.media.len() {
            return Err(AttemptError::PreparationExpired { reason: "not all files are uploaded".to_owned() });
        }
        let Some(first) = files.first() else {
            let message = api::Message {
                channel,
                text: &text,
                reference: request.reference,
                unfurl: request.options.flag("unfurl_links"),
                thread,
            };
            let ts = self.api.send(bot, &message).await?;
            return Ok(look_up::message(request, channel, &ts));
        };
        let shared = self.api.share(bot, (channel, thread), &text, &files).await;
        let is_deleted_upload = |it: &CallError| request.may_have_published && errors::is_missing_file(it);
        shared
            .map_err(|it| if is_deleted_upload(&it) { it.with_message(|_| UPLOADED_AGAIN.to_owned()) } else { it })?;
        match self.api.share_status(bot, first, channel).await {
            Ok(ShareStatus::Shared { ts }) => Ok(look_up::shared(request, channel, first, &ts)),
            // Slack carries out the share, whatever this call returns.
            _ => Err(AttemptError::Accepted { progress: None, reason: NOT_SHOWN_YET.to_owned() }),
        }
    }

    async fn look_up(&self, request: &PublishRequest<'_>, since: DateTime<Utc>) -> Resolution {
        deadline::look_up(TITLE, request, look_up::resolve(&self.api, request, since)).await
    }

    /// False: a message is known by our reference, files by their ids.
    fn recognizes_own_posts(&self) -> bool {
        false
    }
}

/// The channel of a post. Slack would also accept its name, but could then not list its messages
/// later.
fn channel<'a>(request: &PublishRequest<'a>) -> Result<&'a str, AttemptError> {
    let named = request.options.text(CHANNEL).map(str::trim).filter(|it| is_channel(it));
    let reason = "option channel: this is not a channel ID such as C0123456789; choose one of the listed channels";
    named.ok_or_else(|| AttemptError::Refused { reason: reason.to_owned() })
}

/// The timestamp of the first message, to which all replies of a thread refer.
fn thread<'a>(request: &PublishRequest<'a>) -> Result<Option<&'a str>, AttemptError> {
    let Some(reply_to) = request.reply_to else { return Ok(None) };
    let reason = "the first message of the thread has no timestamp; look in the channel";
    let ts = reply_to.root.handle.as_deref();
    ts.map(Some).ok_or_else(|| AttemptError::Refused { reason: reason.to_owned() })
}

/// Matches the ids that Slack's own check of `channel_id` accepts, without direct messages.
fn is_channel(named: &str) -> bool {
    let is_id = |it: u8| it.is_ascii_uppercase() || it.is_ascii_digit();
    named.starts_with(['C', 'G']) && (9..=20).contains(&named.len()) && named.bytes().all(is_id)
}

impl Progress {
    fn load(request: &PublishRequest<'_>) -> Self {
        request.progress()
    }

    fn store(&self) -> Option<String> {
        if self.files.is_empty() { None } else { serde_json::to_string(self).ok() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_channel_ids_are_accepted() {
        for id in ["C0123456789", "G024BE91L"] {
            assert!(is_channel(id), "{id}");
        }
        for other in ["", "#general", "general", "U0123456789", "D0123456789", "C012", "C01234567-9", "c0123456789"] {
            assert!(!is_channel(other), "{other}");
        }
    }

    #[test]
    fn workspace_username_is_its_subdomain() {
        assert_eq!(subdomain("https://lighthouse.slack.com/").as_deref(), Some("lighthouse"));
        assert_eq!(subdomain("https://lighthouse.enterprise.slack.com/").as_deref(), Some("lighthouse"));
        assert_eq!(subdomain("no address"), None);
    }
}
