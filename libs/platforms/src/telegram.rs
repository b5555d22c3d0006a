//! Telegram: a channel or a group, through the user's own bot.
//!
//! What the adapter relies on (the fact sheet of Telegram; Bot API 10.1):
//!
//! - A bot's token does not expire. The bot's rights in the chat are checked when it is connected.
//! - Files are part of the publish call, so only pictures that are too large are prepared.
//! - There is no idempotency key, and a bot cannot read the messages of a channel: the outcome of a
//!   call whose response was lost stays unknown, and the post is not sent again.
//! - A reply refers to a message of the same chat, an album by its first message. Telegram refuses a
//!   reply to a message that does not exist, unless the call permits it.
//! - A group that becomes a supergroup gets another id. The new id is requested when the old one is
//!   refused, and stored.

mod api;
mod bot;
mod message;

#[cfg(any(test, feature = "testing"))]
pub(crate) use self::api::recordings;

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::AccountInfo;
use domain::delivery::{AttemptError, Published, Resolution};
use domain::media::{Attachment, MimeType, PictureBounds, Ratio};
use domain::options::{OptionKind, OptionSpec};
use domain::rules::{Counting, FileRule, OptionCondition, PostRule, Rule, Rules};
use serde::{Deserialize, Serialize};
use url::Url;

use self::api::{Api, Bot};
use self::bot::Chat;
use crate::account::{Account, AccountDetails, Credentials};
use crate::connect_flow::{
    AuthorizationRequest, AuthorizeStep, Callback, ConnectError, Field, FieldValues, RefreshError,
};
use crate::deadline::Deadline;
use crate::kit::{CallError, Effect, ErrorKind};
use crate::lead_times::LeadTimes;
use crate::picture::{self, PendingPicture, PictureState};
use crate::platform::{Connect, Platform, Publish, Step};
use crate::platform_info::Access;
use crate::publish_request::PublishRequest;
use crate::refresh_policy::RefreshPolicy;
use crate::setup::{self, Setup, SetupError};
use crate::transport_error::TransportError;

pub(crate) const NAME: &str = "telegram";

pub(crate) const TITLE: &str = "Telegram";

pub(crate) const ACCESS: Access = Access::Open;

pub(crate) const PERMISSIONS: &str = "post messages in the chats where you make the bot an administrator";

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new("silent", OptionKind::Flag, "Whether subscribers are notified without a sound."),
    OptionSpec::new("protect_content", OptionKind::Flag, "Whether forwarding and saving the message are disabled."),
    OptionSpec::new(
        "link_preview",
        OptionKind::Flag,
        "Whether the first link of a post without files is shown with a preview. Defaults to true.",
    ),
    OptionSpec::new(
        "parse_mode",
        OptionKind::OneOf(&["none", "html", "markdown"]),
        "The markup of the text: HTML or MarkdownV2. By default, the text is plain.",
    ),
    OptionSpec::new(
        "thread",
        OptionKind::Number { min: 1, max: 2_147_483_647 },
        "The ID of the forum topic, as in the link to the topic. Defaults to the General topic.",
    ),
];

/// Only pictures that are too large are prepared.
pub(crate) const LEAD: LeadTimes = LeadTimes { images: Some(TimeDelta::seconds(60)), ..LeadTimes::NONE };

/// Photos have at most 10 MB, and 10,000 pixels of width plus height.
const BOUNDS: PictureBounds = PictureBounds::new(10_000_000, 5_000);

/// Any other uploaded file has at most 50 MB.
const MAX_FILE_BYTES: u64 = 50_000_000;

/// For all files of a post; less than [`STEP_LIMIT`](crate::platform::STEP_LIMIT).
const TIMEOUT: Duration = Duration::from_secs(38);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// URL of the Bot API: Telegram's own, or a server of the operator.
    #[serde(default = "official")]
    url: Url,
}

fn official() -> Url {
    setup::official("https://api.telegram.org")
}

pub(crate) fn set_up(setup: &Setup) -> Result<Option<Telegram>, SetupError> {
    let Some(Settings { url }) = setup.settings(NAME)? else { return Ok(None) };
    Ok(Some(Telegram { api: Api::new(setup.http.clone(), url) }))
}

pub(crate) struct Telegram {
    api: Api,
}

#[derive(Default, Serialize, Deserialize)]
struct Progress {
    /// How many pictures are done or need nothing.
    done: usize,
    picture: Option<PendingPicture>,
}

#[async_trait::async_trait]
impl Platform for Telegram {
    fn name(&self) -> &'static str {
        NAME
    }

    fn refresh_policy(&self) -> RefreshPolicy {
        RefreshPolicy::Updating
    }

    async fn refresh(&self, old: &Credentials, now: DateTime<Utc>) -> Result<Credentials, RefreshError> {
        let chat = Chat::load(old).map_err(|it| RefreshError::Gone(it.into_reason()))?;
        match self.api.current_id(Bot { token: &old.access_token, now }, chat.id).await {
            Ok(id) => Ok(Chat { id }.store_with(old.clone())),
            Err(error) if error.kind == ErrorKind::Unauthorized => Err(RefreshError::Gone(error.message)),
            Err(error) => Err(RefreshError::Unreachable(error.message)),
        }
    }

    async fn account_details(
        &self,
        profile: &AccountInfo,
        credentials: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<AccountDetails>, AttemptError> {
        let chat = Chat::load(credentials)?.id.to_string();
        let found = self.api.chat(Bot { token: &credentials.access_token, now }, &chat).await?;
        // A group that moved is still the connected account.
        let account_id = profile.account_id.clone();
        Ok(Some(AccountDetails { profile: AccountInfo { account_id, ..bot::profile_of(found) }, rules: self.rules() }))
    }
}

#[async_trait::async_trait]
impl Connect for Telegram {
    fn rules(&self) -> Rules {
        Rules::new(
            TITLE,
            [
                Rule::max_media(10),
                // Telegram may show other videos than MPEG-4 as documents, which cannot be in an
                // album with photos.
                Rule::mime_types([
                    MimeType::Jpeg,
                    MimeType::Png,
                    MimeType::Gif,
                    MimeType::Webp,
                    MimeType::Mp4,
                    MimeType::Pdf,
                ]),
                // In an album, a GIF would be a photo without animation.
                Rule::GifAlone,
                Rule::DocumentAlone,
                Rule::max_video_bytes(MAX_FILE_BYTES),
                Rule::max_document_bytes(MAX_FILE_BYTES),
                Rule::OfFiles(FileRule::ReadableDocuments),
                Rule::OfFiles(FileRule::ImageRatio { min: Ratio::hundredths(5), max: Ratio::hundredths(2_000) }),
                Rule::OfFiles(FileRule::FittedImageBytes { max: BOUNDS.max_bytes }),
                Rule::OfFiles(FileRule::FittedImageSide { max: BOUNDS.max_side }),
            ],
        )
        // Telegram counts the text as shown. Only Telegram can tell how long marked-up text is when
        // shown.
        .with_rules_when(
            OptionCondition::option("parse_mode", ["none"]).or_absent(),
            [
                Rule::max_text(4096, Counting::utf16()),
                Rule::OfPost(PostRule::MaxTextWithMedia { max: 1024, counting: Counting::utf16() }),
            ],
        )
        .with_threads()
    }

    fn fields(&self) -> &'static [Field] {
        bot::FIELDS
    }

    async fn authorize(
        &self,
        values: &FieldValues,
        _: &AuthorizationRequest,
        now: DateTime<Utc>,
    ) -> Result<AuthorizeStep, ConnectError> {
        let (profile, credentials) = bot::connect(&self.api, values, now).await?;
        let scopes = vec!["post_messages".to_owned()];
        Ok(AuthorizeStep::Accounts(vec![Account { profile, scopes, rules: self.rules(), grant: None, credentials }]))
    }

    /// Never called: Telegram has no authorization page.
    async fn complete(&self, _: &Callback, _: DateTime<Utc>) -> Result<Vec<Account>, ConnectError> {
        Err(ConnectError::Refused("Telegram has no page to come back from".to_owned()))
    }

    /// Does nothing: the bot belongs to the user and may have other uses.
    async fn revoke(&self, _: &Credentials, _: DateTime<Utc>) -> Result<(), AttemptError> {
        Ok(())
    }
}

#[async_trait::async_trait]
impl Publish for Telegram {
    async fn prepare(&self, request: &PublishRequest<'_>) -> Result<Step, AttemptError> {
        let late = || AttemptError::RetryLater { retry_at: None, reason: "this service's storage is slow".to_owned() };
        Deadline::begin(request.now).within(TIMEOUT, self.step(request)).await.ok_or_else(late)?
    }

    async fn publish(&self, request: &PublishRequest<'_>) -> Result<Published, AttemptError> {
        let chat = Chat::load(request.credentials)?.id;
        let sending = async {
            let message = message::build(request, chat).await?;
            self.api.send(Bot::new(request), message, TIMEOUT).await
        };
        let late = || CallError::from_transport(TransportError::Late, Effect::Public, TITLE);
        let id = Deadline::begin(request.now).within(TIMEOUT, sending).await.ok_or_else(late).flatten()?;
        let link = bot::message_url(chat, request.profile.profile_url.as_deref(), id);
        Ok(Published::new(id.to_string(), request.now).with_url(link))
    }

    async fn look_up(&self, _: &PublishRequest<'_>, _: DateTime<Utc>) -> Resolution {
        Resolution::Undeterminable { advice: "a bot cannot read the messages of a chat".to_owned() }
    }

    /// False: nothing can be looked up.
    fn recognizes_own_posts(&self) -> bool {
        false
    }
}

impl Telegram {
    async fn step(&self, request: &PublishRequest<'_>) -> Result<Step, AttemptError> {
        let mut progress: Progress = request.progress();
        while let Some(file) = request.media.get(progress.done) {
            if is_photo(file)
                && is_too_large(request, file).await?
                && let PictureState::Again(awaited, at) =
                    picture::fitted(request, file, BOUNDS, progress.picture).await?
            {
                progress.picture = Some(awaited);
                return Ok(Step::Again { progress: serde_json::to_string(&progress).unwrap_or_default(), at });
            }
            progress = Progress { done: progress.done + 1, picture: None };
        }
        Ok(Step::Ready { progress: None })
    }
}

fn is_photo(file: &Attachment) -> bool {
    matches!(file.mime_type, MimeType::Jpeg | MimeType::Png | MimeType::Webp)
}

async fn is_too_large(request: &PublishRequest<'_>, file: &Attachment) -> Result<bool, AttemptError> {
    Ok(BOUNDS.max_bytes < file.size_bytes || picture::is_longer(request, file, BOUNDS.max_side).await?)
}
