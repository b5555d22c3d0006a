//! Discord: a channel of a server, through a webhook.
//!
//! What it relies on (the documentation of API v10):
//!
//! - A webhook lasts until somebody deletes it, and needs no other credentials than
//!   its id and token. Who has an app at Discord is given a new one on Discord's page,
//!   with the tokens of OAuth 2; anybody can paste the address of one.
//! - Files go up with the call that makes them public, so nothing is prepared.
//! - Webhooks take no `nonce`, and list nothing: what became of a call whose answer
//!   was lost is never known, and the post is not sent again.
//!
//! `discord/api.rs` knows addresses and answers, `message.rs` what a post is sent as,
//! `webhook.rs` what a webhook is and how it is kept.

mod api;
mod failure;
mod message;
mod webhook;

use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::connection::Profile;
use domain::delivery::{Published, Resolution, Setback};
use domain::media::MimeType;
use domain::options::{OptionKind, OptionSpec};
use domain::rules::{Counting, PostRule, Rule, Rules};
use secrecy::ExposeSecret;
use serde::Deserialize;
use url::Url;

use self::api::Api;
use self::failure::{Blame, Failure};
use self::webhook::{Given, Key};
use crate::account::{About, Account, Credentials};
use crate::app::NoFurther;
use crate::handoff::{Answers, AuthorizationRequest, Callback, Departure, Field, HandOffRefusal, RefreshRefusal};
use crate::job::Job;
use crate::known::Access;
use crate::lead::Lead;
use crate::oauth2::{ClientAuth, Dialect, Endpoints, OAuth2};
use crate::platform::{Connect, Platform, Publish};
use crate::setup::{Setup, SetupError};
use crate::watch::Watch;

/// Its name in paths, and of its settings.
pub(crate) const NAME: &str = "discord";

/// Its name as people know it.
pub(crate) const TITLE: &str = "Discord";

/// What an operator needs to have it.
pub(crate) const ACCESS: Access = Access::Open;

/// What a post can say here alone.
pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        "thread_name",
        OptionKind::Text { max: 100 },
        "The title of the post that it becomes in a forum or media channel. Needed there, and refused elsewhere.",
    ),
    OptionSpec::new("silent", OptionKind::Flag, "Whether members get it without a push or desktop notification."),
    OptionSpec::new("suppress_embeds", OptionKind::Flag, "Whether its links are shown without previews."),
    OptionSpec::new("username", OptionKind::Text { max: 80 }, "The name above it, in place of the webhook's."),
    OptionSpec::new(
        "avatar_url",
        OptionKind::Address(&["https://"]),
        "The address of the picture beside it, in place of the webhook's.",
    ),
];

/// Nothing is prepared.
pub(crate) const LEAD: Lead = Lead::NONE;

/// What may be done with a webhook, as Discord calls it.
const SCOPE: &str = "webhook.incoming";

/// The largest file in servers that nobody boosts.
const MAX_FILE_BYTES: u64 = 10 << 20;

/// The largest request is 25 MiB, with what stands around the files.
const MAX_ALL_BYTES: u64 = 24 << 20;

/// The longest time for the public call, in which all files of a post are read and go
/// up: less than [`STEP_LIMIT`](crate::platform::STEP_LIMIT).
const WITHIN: Duration = Duration::from_secs(38);

/// What a deployment says of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Where Discord's site is.
    #[serde(default = "site")]
    url: Url,
    /// Where people read about the service. Discord wants an address in the name
    /// of every program that calls it.
    #[serde(default = "about")]
    about: Url,
    /// Whether it has our id and secret, so that people can choose a channel on its
    /// page.
    #[serde(default)]
    app: bool,
}

fn site() -> Url {
    address("https://discord.com")
}

/// In the form that Discord wants, and leads nowhere.
fn about() -> Url {
    address("https://social-publishing.invalid")
}

fn address(written: &str) -> Url {
    Url::parse(written).unwrap_or_else(|error| unreachable!("{written}: {error}"))
}

/// The documentation knows no PKCE, and wants the id and secret in the header in its
/// example.
static DIALECT: Dialect = Dialect { pkce: false, ..Dialect::STANDARD.with_client(ClientAuth::Basic) };

/// The adapter, when it is switched on.
pub(crate) fn set_up(setup: &Setup) -> Result<Option<Discord>, SetupError> {
    let Some(Settings { url, about, app }) = setup.settings(NAME)? else { return Ok(None) };
    let user_agent = format!("DiscordBot ({about}, {})", env!("CARGO_PKG_VERSION"));
    let site = url.as_str().trim_end_matches('/');
    let base_url = format!("{site}/api/v10");
    let oauth = app.then(|| {
        let endpoints = Endpoints {
            authorization: format!("{site}/oauth2/authorize"),
            token: format!("{base_url}/oauth2/token"),
            ..Endpoints::default()
        };
        OAuth2::new(setup.http.clone(), setup.app::<NoFurther>(NAME), &DIALECT, endpoints).named(user_agent.clone())
    });
    Ok(Some(Discord { api: Api::new(setup.http.clone(), base_url, user_agent), oauth }))
}

/// Discord.
pub(crate) struct Discord {
    api: Api,
    /// Where it has our id and secret.
    oauth: Option<OAuth2>,
}

/// The name of the field in which a webhook is pasted.
const FIELD: &str = "webhook";

/// What our page asks where there is no page of Discord's.
const PASTED: &[Field] = &[field(None)];

/// What it asks where there is one.
const PASTED_OR_CHOSEN: &[Field] =
    &[field(Some("Leave it empty to choose the server and the channel on Discord's own page."))];

const fn field(optional: Option<&'static str>) -> Field {
    Field {
        name: FIELD,
        label: "The address of a webhook (in the settings of the channel: Integrations, Webhooks, Copy Webhook URL)",
        example: "https://discord.com/api/webhooks/1234567890/AbC…",
        secret: true,
        optional,
    }
}

#[async_trait::async_trait]
impl Platform for Discord {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Never asked: a webhook's token does not end.
    async fn refresh(&self, _: &Credentials, _: DateTime<Utc>) -> Result<Credentials, RefreshRefusal> {
        Err(RefreshRefusal::Unreachable("a webhook's token is not renewed".to_owned()))
    }

    async fn about(
        &self,
        profile: &Profile,
        credentials: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<About>, Setback> {
        let (key, kept) = webhook::of(credentials)?;
        let found = self.api.webhook(&key).await.map_err(|it| it.setback(now))?;
        let account = found.account(key.token, kept.is_ours);
        // Whoever moved it to another channel connected another account.
        let told = account.map(|it| it.0).filter(|it| it.account_id == profile.account_id);
        Ok(told.map(|profile| About { profile, rules: self.rules() }))
    }
}

#[async_trait::async_trait]
impl Connect for Discord {
    fn rules(&self) -> Rules {
        Rules::of(
            TITLE,
            [
                // "Our API calculates length based on the number of codepoints"
                // (discord-api-docs, issue 1315).
                Rule::max_text(2_000, Counting::code_points()),
                Rule::max_media(10),
                Rule::mime_types(MimeType::ALL),
                Rule::max_image_bytes(MAX_FILE_BYTES),
                Rule::max_video_bytes(MAX_FILE_BYTES),
                Rule::OfPost(PostRule::MaxAllBytes { max: MAX_ALL_BYTES }),
                Rule::max_alt_text(1_024, Counting::code_points()),
            ],
        )
    }

    fn fields(&self) -> &'static [Field] {
        if self.oauth.is_some() { PASTED_OR_CHOSEN } else { PASTED }
    }

    async fn authorize(
        &self,
        answers: &Answers,
        request: &AuthorizationRequest,
        _: DateTime<Utc>,
    ) -> Result<Departure, HandOffRefusal> {
        let typed = answers.get(FIELD).map(|it| it.expose_secret().trim()).unwrap_or_default();
        if let Some(oauth) = self.oauth.as_ref().filter(|_| typed.is_empty()) {
            let url = oauth.authorization_url(request, &[SCOPE], &[]).await?;
            return Ok(Departure::Page { url, memory: None });
        }
        self.pasted(typed).await.map(|account| Departure::Arrived(vec![account]))
    }

    /// The webhook that came with the tokens. They are not kept: nothing is done with
    /// them, and they end by themselves.
    async fn complete(&self, callback: &Callback, _: DateTime<Utc>) -> Result<Vec<Account>, HandOffRefusal> {
        let Some(oauth) = &self.oauth else {
            return Err(HandOffRefusal::Refused("Discord has no page to come back from".to_owned()));
        };
        let tokens = oauth.complete(callback).await?;
        let given = tokens.field("webhook").and_then(Given::read);
        let account = given.and_then(|it| it.webhook.account(it.token, true));
        let (profile, credentials) =
            account.ok_or_else(|| HandOffRefusal::Refused("it made no webhook for a channel".to_owned()))?;
        Ok(vec![Account { profile, scopes: tokens.granted(&[SCOPE]), rules: self.rules(), grant: None, credentials }])
    }

    /// Deletes a webhook that was made for us. One that somebody else has made stays:
    /// it may serve other things.
    async fn revoke(&self, credentials: &Credentials, now: DateTime<Utc>) -> Result<(), Setback> {
        let (key, kept) = webhook::of(credentials)?;
        if !kept.is_ours {
            return Ok(());
        }
        match self.api.delete(&key).await {
            Ok(()) | Err(Failure::Refused { blame: Blame::Webhook, .. }) => Ok(()),
            Err(failure) => Err(failure.setback(now)),
        }
    }
}

#[async_trait::async_trait]
impl Publish for Discord {
    async fn publish(&self, job: &Job<'_>) -> Result<Published, Setback> {
        let (key, kept) = webhook::of(job.credentials)?;
        let sending = self.api.send(&key, message::of(job), WITHIN);
        let late = || Failure::Unknown { may_still_run: true, why: "Discord did not answer in time" };
        let sent = Watch::begin(job.now).within(WITHIN, sending).await.ok_or_else(late).flatten();
        let sent = sent.map_err(|it| it.setback(job.now))?;
        let link = kept.guild.map(|it| format!("https://discord.com/channels/{it}/{}/{}", sent.channel_id, sent.id));
        Ok(Published::new(sent.id.to_string(), job.now).seen_at(link))
    }

    async fn resolve(&self, _: &Job<'_>, _: DateTime<Utc>) -> Resolution {
        Resolution::Unknowable { advice: "A webhook cannot read what its channel shows.".to_owned() }
    }

    /// Nothing can be looked up, so nothing is recognised.
    fn recognises(&self) -> bool {
        false
    }
}

impl Discord {
    /// The account of a webhook whose address was pasted.
    async fn pasted(&self, typed: &str) -> Result<Account, HandOffRefusal> {
        // Longer pieces of the address would be taken out of what is said about it.
        let wrong = |why: &str| HandOffRefusal::Field {
            name: FIELD,
            message: format!("{why} Copy it again: Integrations, Webhook, Copy Webhook URL."),
        };
        let key = Key::parse(typed).ok_or_else(|| wrong("This is not the address of a Discord webhook."))?;
        let found = self.api.webhook(&key).await.map_err(|failure| match failure {
            Failure::Refused { blame: Blame::Webhook, .. } => {
                wrong("Discord does not know this webhook; it may have been deleted.")
            }
            Failure::Refused { words, .. } => HandOffRefusal::Refused(words),
            Failure::Limited { .. } | Failure::NotSent { .. } | Failure::Unknown { .. } => HandOffRefusal::Unreachable,
        })?;
        if found.id != key.id {
            return Err(HandOffRefusal::Unreachable);
        }
        let (profile, credentials) =
            found.account(key.token, false).ok_or_else(|| wrong("Nothing can be posted with this webhook."))?;
        Ok(Account { profile, scopes: vec![SCOPE.to_owned()], rules: self.rules(), grant: None, credentials })
    }
}
