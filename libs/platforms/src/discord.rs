//! Discord: a channel, through a webhook; or a server, through the operator's bot.
//!
//! What the adapter relies on (documentation of API v10):
//!
//! - A webhook lasts until a user deletes it. Its id and token are its only credentials. If the
//!   operator has a Discord app, the user gets a new webhook on Discord's page, together with OAuth
//!   2 tokens; otherwise the user pastes the URL of a webhook.
//! - Files are part of the publish call, so nothing is prepared.
//! - Webhooks accept no `nonce` and cannot list messages: the outcome of a call whose response was
//!   lost stays unknown, and the post is not sent again. Neither can they reply: the call has no
//!   `message_reference`. So a webhook has no threads.
//! - A bot has one token for all servers that it was added to, which stays in the operator's
//!   secret. A message has a nonce, by which Discord recognizes a repeated call for some minutes;
//!   later, and in forums, the messages of the channel show the outcome of a call.
//! - A bot's reply refers to the message before it. In a forum, the replies are messages of the
//!   thread that the post began, which has the id of its first message.

mod api;
mod bot;
mod errors;
mod look_up;
mod message;
mod publishing;
#[cfg(any(test, feature = "testing"))]
pub(crate) mod recordings;
mod rules;
mod server;
mod snowflake;
mod webhook;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use domain::connection::AccountInfo;
use domain::delivery::{AttemptError, Published, Resolution};
use domain::post::SegmentKind;
use domain::rules::Rules;
use http::HeaderValue;
use secrecy::ExposeSecret;
use serde::Deserialize;
use url::Url;

use self::api::Api;
use self::bot::{Bot, BotAccount, WithBot, WithOptionalBot};
use self::publishing::is_access_error;
pub(crate) use self::rules::OPTIONS;
use self::rules::{CHANNEL, rules, server_rules, webhook_rules};
use self::server::Server;
use self::snowflake::Snowflake;
use self::webhook::{CreatedWebhook, Key};
use crate::account::{Account, AccountDetails, Credentials};
use crate::app::AppSource;
use crate::choices::{Choice, ChoicesRequest};
use crate::connect_flow::{AuthorizationRequest, AuthorizeStep, Callback, ConnectError, Field, FieldValues};
use crate::deadline::{Deadline, WITHIN};
use crate::kit::{CallError, Effect};
use crate::lead_times::LeadTimes;
use crate::oauth2::{ClientAuth, Dialect, Endpoints, OAuth2, Tokens};
use crate::platform::{Connect, Platform, Publish};
use crate::platform_info::Access;
use crate::publish_request::PublishRequest;
use crate::setup::{Setup, SetupError, official};
use crate::transport_error::TransportError;

pub(crate) const NAME: &str = "discord";

pub(crate) const TITLE: &str = "Discord";

pub(crate) const ACCESS: Access = Access::Open;

pub(crate) const PERMISSIONS: &str = "post messages in the channels that you choose; a bot also reads these channels";

pub(crate) const LEAD: LeadTimes = LeadTimes::NONE;

/// Discord's name for the permission to use a webhook.
const SCOPE: &str = "webhook.incoming";

/// The bot, and the user who adds it: Discord's page redirects to us with a code only for "any
/// scopes outside of `bot` and `applications.commands`". The permission of the second scope is not
/// used.
const BOT_SCOPES: [&str; 2] = ["bot", "identify"];

/// Permissions of the bot in the server: view channels, send messages, embed links, attach files,
/// read the message history (for look-ups and replies), send messages in threads (for replies in
/// forums).
const BOT_PERMISSIONS: u64 = 1 << 10 | 1 << 11 | 1 << 14 | 1 << 15 | 1 << 16 | 1 << 38;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(default = "site")]
    url: Url,
    /// URL of a page about this service. Discord requires a URL in the user agent of every client.
    #[serde(default = "placeholder_url")]
    about: Url,
    /// Whether the operator's secret has a Discord app, so that users can choose a channel on
    /// Discord's page.
    #[serde(default)]
    app: bool,
    /// Whether the operator's secret also has the token of the app's bot, so that users can add the
    /// bot to a server instead.
    #[serde(default)]
    bot: bool,
}

fn site() -> Url {
    official("https://discord.com")
}

/// Has the form that Discord requires; the page does not exist.
fn placeholder_url() -> Url {
    official("https://social-publishing.invalid")
}

/// The documentation mentions no PKCE, and its example sends the id and secret in the header.
static DIALECT: Dialect = Dialect { pkce: false, ..Dialect::STANDARD.with_client(ClientAuth::Basic) };

pub(crate) fn set_up(setup: &Setup) -> Result<Option<Discord>, SetupError> {
    let Some(Settings { url, about, app, bot }) = setup.settings(NAME)? else { return Ok(None) };
    let user_agent = format!("DiscordBot ({about}, {})", env!("CARGO_PKG_VERSION"));
    let site = url.as_str().trim_end_matches('/');
    let base_url = format!("{site}/api/v10");
    let source = if bot { setup.app::<WithBot>(NAME) } else { setup.app::<WithOptionalBot>(NAME) };
    let oauth = (app || bot).then(|| {
        let endpoints = Endpoints {
            authorization: format!("{site}/oauth2/authorize"),
            token: format!("{base_url}/oauth2/token"),
            ..Endpoints::default()
        };
        OAuth2::new(setup.http.clone(), Arc::clone(&source), &DIALECT, endpoints).named(user_agent.clone())
    });
    // A serialized URL is ASCII.
    let user_agent = HeaderValue::try_from(user_agent).unwrap_or_else(|error| unreachable!("{error}"));
    let base_url = Url::parse(&base_url).unwrap_or_else(|error| unreachable!("{base_url}: {error}"));
    let bot = bot.then(|| BotAccount::new(setup.http.clone(), base_url.clone(), user_agent.clone(), source));
    let api = Api::new(setup.http.clone(), base_url, user_agent);
    Ok(Some(Discord { api, oauth, bot }))
}

pub(crate) struct Discord {
    api: Api,
    oauth: Option<OAuth2>,
    bot: Option<BotAccount>,
}

/// Why a connected server cannot be posted to while the bot is disabled. Once the operator enables
/// the bot again, no new connection is needed.
const NO_BOT: &str =
    "this service's Discord bot is disabled: ask the operator to enable it, or connect the channel through a webhook";

const FIELD: &str = "webhook";

const PASTED: &[Field] = &[field(None)];

const PASTED_OR_CHOSEN: &[Field] =
    &[field(Some("Leave this empty to choose the server and the channel on Discord's own page."))];

const PASTED_OR_ADDED: &[Field] = &[field(Some(
    "Leave this empty to add the bot to a server on Discord's own page. You can then post in every \
                  channel of the server.",
))];

const fn field(optional: Option<&'static str>) -> Field {
    Field {
        name: FIELD,
        label: "Webhook URL (in Discord: channel settings, Integrations, Webhooks, Copy Webhook URL)",
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

    async fn account_details(
        &self,
        profile: &AccountInfo,
        credentials: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<AccountDetails>, AttemptError> {
        if let Some(server) = Server::load(credentials) {
            let guild = self.bot(now)?.guild(server.guild).await?;
            return Ok(Some(AccountDetails { profile: guild.profile(), rules: server_rules() }));
        }
        let (key, stored) = webhook::load(credentials)?;
        let found = self.api.webhook(&key, now).await?;
        let account = found.account(key.token, stored.is_ours);
        // A webhook that was moved to another channel is another account.
        let info = account.map(|it| it.0).filter(|it| it.account_id == profile.account_id);
        Ok(info.map(|profile| AccountDetails { profile, rules: webhook_rules() }))
    }
}

#[async_trait::async_trait]
impl Connect for Discord {
    fn rules(&self) -> Rules {
        let rules = rules([]);
        if self.bot.is_some() { rules.with_threads() } else { rules }
    }

    fn fields(&self) -> &'static [Field] {
        match (&self.bot, &self.oauth) {
            (Some(_), _) => PASTED_OR_ADDED,
            (None, Some(_)) => PASTED_OR_CHOSEN,
            (None, None) => PASTED,
        }
    }

    fn app(&self) -> Option<&dyn AppSource> {
        self.oauth.as_ref().map(OAuth2::app)
    }

    async fn authorize(
        &self,
        values: &FieldValues,
        request: &AuthorizationRequest,
        now: DateTime<Utc>,
    ) -> Result<AuthorizeStep, ConnectError> {
        let typed = values.get(FIELD).map(|it| it.expose_secret().trim()).unwrap_or_default();
        if let Some(oauth) = self.oauth.as_ref().filter(|_| typed.is_empty()) {
            let url = if self.bot.is_some() {
                let permissions = BOT_PERMISSIONS.to_string();
                oauth.authorization_url(request, &BOT_SCOPES, &[("permissions", &permissions)]).await?
            } else {
                oauth.authorization_url(request, &[SCOPE], &[]).await?
            };
            return Ok(AuthorizeStep::Redirect { url, memory: None });
        }
        self.account_from_url(typed, now).await.map(|account| AuthorizeStep::Accounts(vec![account]))
    }

    /// The webhook that came with the tokens, or the server that the bot was added to. The tokens
    /// are not stored: nothing needs them, and they expire.
    async fn complete(&self, callback: &Callback, now: DateTime<Utc>) -> Result<Vec<Account>, ConnectError> {
        let Some(oauth) = &self.oauth else {
            return Err(ConnectError::Refused("Discord has no page to come back from".to_owned()));
        };
        let tokens = oauth.complete(callback).await?;
        if let Some(bot) = &self.bot {
            return joined(bot.at(now), &tokens).await.map(|account| vec![account]);
        }
        let created = tokens.field("webhook").and_then(CreatedWebhook::read);
        let account = created.and_then(|it| it.webhook.account(it.token, true));
        let (profile, credentials) =
            account.ok_or_else(|| ConnectError::Refused("Discord created no webhook for a channel".to_owned()))?;
        Ok(vec![Account {
            profile,
            scopes: tokens.granted(&[SCOPE]),
            rules: webhook_rules(),
            grant: None,
            credentials,
        }])
    }

    async fn choices(&self, choosing: &ChoicesRequest<'_>, now: DateTime<Utc>) -> Result<Vec<Choice>, AttemptError> {
        match Server::load(choosing.credentials) {
            Some(server) => Ok(server.choices(self.bot(now)?).await?),
            None => Ok(Vec::new()),
        }
    }

    /// Deletes a webhook that was made for us. A pasted webhook stays: it may have other uses. The
    /// bot leaves the server.
    async fn revoke(&self, credentials: &Credentials, now: DateTime<Utc>) -> Result<(), AttemptError> {
        let result = if let Some(server) = Server::load(credentials) {
            self.bot(now)?.leave(server.guild).await
        } else {
            let (key, stored) = webhook::load(credentials)?;
            if !stored.is_ours {
                return Ok(());
            }
            self.api.delete(&key, now).await
        };
        match result {
            // Already deleted.
            Err(error) if is_access_error(&error) => Ok(()),
            result => Ok(result?),
        }
    }
}

#[async_trait::async_trait]
impl Publish for Discord {
    async fn publish(&self, request: &PublishRequest<'_>) -> Result<Published, AttemptError> {
        if let Some(server) = Server::load(request.credentials) {
            return publishing::publish(self.bot(request.now)?, server, request).await;
        }
        if request.options.text(CHANNEL).is_some() {
            let reason = "option channel: the connected webhook posts in one channel only; leave this option out";
            return Err(AttemptError::Refused { reason: reason.to_owned() });
        }
        if request.segment != SegmentKind::Post {
            return Err(AttemptError::Refused { reason: "a webhook cannot reply to a message".to_owned() });
        }
        let (key, stored) = webhook::load(request.credentials)?;
        let sending = self.api.send(&key, message::webhook_message(request), WITHIN, request.now);
        let late = || CallError::from_transport(TransportError::Late, Effect::Public, TITLE);
        let sent = Deadline::begin(request.now).within(WITHIN, sending).await.ok_or_else(late).flatten()?;
        let link = stored.guild.map(|it| format!("https://discord.com/channels/{it}/{}/{}", sent.channel_id, sent.id));
        Ok(Published::new(sent.id.to_string(), request.now).with_url(link))
    }

    async fn look_up(&self, request: &PublishRequest<'_>, since: DateTime<Utc>) -> Resolution {
        match (Server::load(request.credentials), self.bot(request.now)) {
            (Some(server), Ok(bot)) => publishing::resolve(bot, server, request, since).await,
            (Some(_), Err(attempt_error)) => Resolution::Pending { reason: attempt_error.into_reason() },
            (None, _) => {
                Resolution::Undeterminable { advice: "a webhook cannot read the messages of its channel".to_owned() }
            }
        }
    }

    /// A bot's post without files may have to be recognized by its text. A webhook cannot look up
    /// anything.
    fn recognizes_own_posts(&self) -> bool {
        self.bot.is_some()
    }
}

async fn joined(bot: Bot<'_>, tokens: &Tokens) -> Result<Account, ConnectError> {
    let refused = |why: &str| ConnectError::Refused(why.to_owned());
    let id = tokens.field("guild").and_then(|it| Snowflake::parse(it["id"].as_str()?));
    let id = id.ok_or_else(|| refused("Discord did not add the bot to a server"))?;
    let (server, guild) = Server::joined(bot, id).await.map_err(|error| match error {
        error if is_access_error(&error) => refused("this service's bot is not in the server: add it again"),
        error => error.into(),
    })?;
    let (scopes, rules, credentials) = (tokens.granted(&BOT_SCOPES), server_rules(), server.credentials());
    Ok(Account { profile: guild.profile(), scopes, rules, grant: None, credentials })
}

impl Discord {
    fn bot(&self, now: DateTime<Utc>) -> Result<Bot<'_>, AttemptError> {
        let bot = self.bot.as_ref().map(|it| it.at(now));
        bot.ok_or_else(|| AttemptError::RetryLater { retry_at: None, reason: NO_BOT.to_owned() })
    }

    async fn account_from_url(&self, typed: &str, now: DateTime<Utc>) -> Result<Account, ConnectError> {
        // The message does not quote the URL: the redactor would remove longer parts of it.
        let wrong = |why: &str| ConnectError::Field {
            name: FIELD,
            message: format!("{why} Copy the URL again: Integrations, Webhooks, Copy Webhook URL."),
        };
        let key = Key::parse(typed).ok_or_else(|| wrong("This is not the URL of a Discord webhook."))?;
        let found = self.api.webhook(&key, now).await.map_err(|error| match error {
            error if is_access_error(&error) => wrong("Discord does not know this webhook. It may have been deleted."),
            error => error.into(),
        })?;
        if found.id != key.id {
            return Err(ConnectError::Unreachable);
        }
        let (profile, credentials) =
            found.account(key.token, false).ok_or_else(|| wrong("This webhook cannot post."))?;
        Ok(Account { profile, scopes: vec![SCOPE.to_owned()], rules: webhook_rules(), grant: None, credentials })
    }
}
