//! Telegram: a channel or a group, through a bot of the user's own.
//!
//! What it relies on (the fact sheet of Telegram; Bot API 10.1):
//!
//! - A bot's token does not end. What it may do in a chat is asked at connecting.
//! - Files go up with the call that makes them public, so nothing is prepared but
//!   pictures that are too large.
//! - There is no key, and a bot cannot read what a channel shows: what became of a
//!   call whose answer was lost is never known, and the post is not sent again.
//!
//! - A group that becomes a supergroup gets another id. It is asked for when the old one is refused, and kept.
//!
//! `telegram/api.rs` has the calls and what errors mean, `message.rs` what a post is sent
//! as, `bot.rs` what a bot may do.

mod api;
mod bot;
mod message;

#[cfg(any(test, feature = "conformance"))]
pub(crate) use self::api::recordings;

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::AccountInfo;
use domain::delivery::{AttemptError, Published, Resolution};
use domain::media::{Attachment, MimeType, PictureBounds, Ratio};
use domain::options::{OptionKind, OptionSpec};
use domain::rules::{Counting, FileRule, PostRule, Rule, Rules, When};
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
use crate::picture::{self, Awaited, Look};
use crate::platform::{Connect, Platform, Publish, Step};
use crate::platform_info::Access;
use crate::publish_request::PublishRequest;
use crate::refresh_policy::RefreshPolicy;
use crate::setup::{Setup, SetupError};
use crate::transport_error::TransportError;

/// Its name in paths, and of its settings.
pub(crate) const NAME: &str = "telegram";

/// Its name as people know it.
pub(crate) const TITLE: &str = "Telegram";

/// What an operator needs to have it.
pub(crate) const ACCESS: Access = Access::Open;

/// What a post can say here alone.
pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new("silent", OptionKind::Flag, "Whether subscribers get it without a sound."),
    OptionSpec::new("protect_content", OptionKind::Flag, "Whether it cannot be forwarded or saved."),
    OptionSpec::new(
        "link_preview",
        OptionKind::Flag,
        "Whether the first link of a post without files is shown with a preview. It is unless this is false.",
    ),
    OptionSpec::new(
        "parse_mode",
        OptionKind::OneOf(&["none", "html", "markdown"]),
        "How the text is marked up: not at all unless this says so, as HTML, or as MarkdownV2.",
    ),
    OptionSpec::new(
        "thread",
        OptionKind::Number { min: 1, max: 2_147_483_647 },
        "The number of the topic of a forum, as in the link to it. The general one where it is left out.",
    ),
];

/// Only pictures that are too large are prepared.
pub(crate) const LEAD: LeadTimes = LeadTimes { images: Some(TimeDelta::seconds(60)), ..LeadTimes::NONE };

/// Photos have at most 10 MB, and 10,000 pixels of width and height together.
const BOUNDS: PictureBounds = PictureBounds::new(10_000_000, 5_000);

/// Anything else that a bot uploads has at most 50 MB.
const MAX_FILE_BYTES: u64 = 50_000_000;

/// The longest time for a step, in which all files of a post are read and go up:
/// less than [`STEP_LIMIT`](crate::platform::STEP_LIMIT).
const WITHIN: Duration = Duration::from_secs(38);

/// What a deployment says of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Where the Bot API is: Telegram's own, unless a server of the operator's is
    /// named.
    #[serde(default = "official")]
    url: Url,
}

fn official() -> Url {
    const OFFICIAL: &str = "https://api.telegram.org";
    Url::parse(OFFICIAL).unwrap_or_else(|error| unreachable!("{OFFICIAL}: {error}"))
}

/// The adapter, when it is switched on.
pub(crate) fn set_up(setup: &Setup) -> Result<Option<Telegram>, SetupError> {
    let Some(Settings { url }) = setup.settings(NAME)? else { return Ok(None) };
    Ok(Some(Telegram { api: Api::new(setup.http.clone(), url) }))
}

pub(crate) struct Telegram {
    api: Api,
}

/// The picture that is being made smaller, and which of the post's it is.
#[derive(Default, Serialize, Deserialize)]
struct Progress {
    /// Pictures that are done or need nothing.
    done: usize,
    picture: Option<Awaited>,
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
        let chat = Chat::of(old).map_err(|it| RefreshError::Gone(it.into_reason()))?;
        match self.api.current_id(Bot { token: &old.access_token, now }, chat.id).await {
            Ok(id) => Ok(Chat { id }.kept_with(old.clone())),
            Err(error) if error.kind == ErrorKind::Unauthorized => Err(RefreshError::Gone(error.message)),
            Err(error) => Err(RefreshError::Unreachable(error.message)),
        }
    }

    async fn about(
        &self,
        profile: &AccountInfo,
        credentials: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<AccountDetails>, AttemptError> {
        let chat = Chat::of(credentials)?.id.to_string();
        let found = self.api.chat(Bot { token: &credentials.access_token, now }, &chat).await?;
        // A group that moved is the account that was connected.
        let account_id = profile.account_id.clone();
        Ok(Some(AccountDetails { profile: AccountInfo { account_id, ..bot::profile_of(found) }, rules: self.rules() }))
    }
}

#[async_trait::async_trait]
impl Connect for Telegram {
    fn rules(&self) -> Rules {
        Rules::of(
            TITLE,
            [
                Rule::max_media(10),
                // Other videos than MPEG-4 may become documents, which have no place among photos.
                Rule::mime_types([MimeType::Jpeg, MimeType::Png, MimeType::Gif, MimeType::Webp, MimeType::Mp4]),
                // In an album it would be a photo that does not move.
                Rule::GifAlone,
                Rule::max_video_bytes(MAX_FILE_BYTES),
                Rule::OfFiles(FileRule::ImageRatio { min: Ratio::hundredths(5), max: Ratio::hundredths(2_000) }),
                Rule::OfFiles(FileRule::FittedImageBytes { max: BOUNDS.max_bytes }),
                Rule::OfFiles(FileRule::FittedImageSide { max: BOUNDS.max_side }),
            ],
        )
        // A text is counted as it is shown. How much of a marked up one that is,
        // Telegram alone says.
        .and_where(
            When::option("parse_mode", ["none"]).or_absent(),
            [
                Rule::max_text(4096, Counting::utf16()),
                Rule::OfPost(PostRule::MaxTextWithMedia { max: 1024, counting: Counting::utf16() }),
            ],
        )
    }

    fn fields(&self) -> &'static [Field] {
        bot::FIELDS
    }

    async fn authorize(
        &self,
        answers: &FieldValues,
        _: &AuthorizationRequest,
        now: DateTime<Utc>,
    ) -> Result<AuthorizeStep, ConnectError> {
        let (profile, credentials) = bot::connect(&self.api, answers, now).await?;
        let scopes = vec!["post_messages".to_owned()];
        Ok(AuthorizeStep::Accounts(vec![Account { profile, scopes, rules: self.rules(), grant: None, credentials }]))
    }

    /// Never asked: there is no page of Telegram's.
    async fn complete(&self, _: &Callback, _: DateTime<Utc>) -> Result<Vec<Account>, ConnectError> {
        Err(ConnectError::Refused("Telegram has no page to come back from".to_owned()))
    }

    /// Does nothing: the bot is its owner's, who may use it for other things.
    async fn revoke(&self, _: &Credentials, _: DateTime<Utc>) -> Result<(), AttemptError> {
        Ok(())
    }
}

#[async_trait::async_trait]
impl Publish for Telegram {
    /// Has pictures made smaller, one after the other.
    async fn prepare(&self, job: &PublishRequest<'_>) -> Result<Step, AttemptError> {
        let late = || AttemptError::RetryLater { retry_at: None, reason: "our own store is slow".to_owned() };
        Deadline::begin(job.now).within(WITHIN, self.step(job)).await.ok_or_else(late)?
    }

    async fn publish(&self, job: &PublishRequest<'_>) -> Result<Published, AttemptError> {
        let chat = Chat::of(job.credentials)?.id;
        let sending = async {
            let message = message::of(job, chat).await?;
            self.api.send(Bot::of(job), message, WITHIN).await
        };
        let late = || CallError::of_transport(TransportError::Late, Effect::Public, TITLE);
        let id = Deadline::begin(job.now).within(WITHIN, sending).await.ok_or_else(late).flatten()?;
        let link = bot::link_to(chat, job.profile.profile_url.as_deref(), id);
        Ok(Published::new(id.to_string(), job.now).with_url(link))
    }

    async fn look_up(&self, _: &PublishRequest<'_>, _: DateTime<Utc>) -> Resolution {
        Resolution::Undeterminable { advice: "A bot cannot read what a chat shows.".to_owned() }
    }

    /// Nothing can be looked up, so nothing is recognised.
    fn recognizes_own_posts(&self) -> bool {
        false
    }
}

impl Telegram {
    /// Has the next picture made smaller that is too large.
    async fn step(&self, job: &PublishRequest<'_>) -> Result<Step, AttemptError> {
        let mut progress: Progress = job.progress();
        while let Some(file) = job.media.get(progress.done) {
            if is_photo(file)
                && is_too_large(job, file).await?
                && let Look::Again(awaited, at) = picture::fitted(job, file, BOUNDS, progress.picture).await?
            {
                progress.picture = Some(awaited);
                return Ok(Step::Again { progress: serde_json::to_string(&progress).unwrap_or_default(), at });
            }
            progress = Progress { done: progress.done + 1, picture: None };
        }
        Ok(Step::Ready { progress: None })
    }
}

/// Whether a file is shown as a photo.
fn is_photo(file: &Attachment) -> bool {
    matches!(file.mime_type, MimeType::Jpeg | MimeType::Png | MimeType::Webp)
}

async fn is_too_large(job: &PublishRequest<'_>, file: &Attachment) -> Result<bool, AttemptError> {
    Ok(BOUNDS.max_bytes < file.size_bytes || picture::is_longer(job, file, BOUNDS.max_side).await?)
}
