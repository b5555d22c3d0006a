//! A webhook: its URL as users paste it, its description by Discord, and how it is stored.

use domain::connection::AccountInfo;
use domain::delivery::AttemptError;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::{Host, Url};

use super::snowflake::Snowflake;
use crate::account::Credentials;

/// Discord's hosts, including those of its test versions, whose apps copy URLs with them.
const HOSTS: [&str; 6] = [
    "discord.com",
    "discordapp.com",
    "ptb.discord.com",
    "ptb.discordapp.com",
    "canary.discord.com",
    "canary.discordapp.com",
];

/// The accepted lengths of tokens. They have 68 letters today, which is not guaranteed.
const TOKEN_LENGTHS: std::ops::RangeInclusive<usize> = 20..=200;

/// The parts of a webhook's URL. Both are safe in a path.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) id: Snowflake,
    pub(super) token: SecretString,
}

impl Key {
    /// Parses the URL of a webhook; `None` if it is not one of Discord's. Calls always use the base
    /// URL in the settings, not this host.
    pub(super) fn parse(typed: &str) -> Option<Self> {
        let url = Url::parse(typed.trim()).ok()?;
        let is_anonymous = url.username().is_empty() && url.password().is_none();
        let is_bare = is_anonymous && url.port().is_none() && url.query().is_none() && url.fragment().is_none();
        let Some(Host::Domain(host)) = url.host() else { return None };
        if url.scheme() != "https" || !is_bare || !HOSTS.contains(&host) {
            return None;
        }
        let path = url.path().strip_prefix("/api/")?;
        let path = match path.split_once('/')? {
            (version, rest) if is_version(version) => rest,
            _ => path,
        };
        let (id, token) = path.strip_prefix("webhooks/")?.split_once('/')?;
        Self::from_parts(Snowflake::parse(id)?, token.into())
    }

    /// `None` if these parts are not safe in a path.
    pub(super) fn from_parts(id: Snowflake, token: SecretString) -> Option<Self> {
        let is_letter = |it: u8| it.is_ascii_alphanumeric() || it == b'_' || it == b'-';
        let written = token.expose_secret();
        let is_token = TOKEN_LENGTHS.contains(&written.len()) && written.bytes().all(is_letter);
        is_token.then_some(Self { id, token })
    }
}

fn is_version(segment: &str) -> bool {
    segment.strip_prefix('v').is_some_and(|it| (1..=2).contains(&it.len()) && it.bytes().all(|it| it.is_ascii_digit()))
}

/// The type of webhooks that users post with. The other types are Discord's own.
const INCOMING: u8 = 1;

#[derive(Deserialize)]
pub(super) struct Webhook {
    pub(super) id: Snowflake,
    #[serde(rename = "type")]
    kind: u8,
    name: Option<String>,
    avatar: Option<String>,
    channel_id: Option<Snowflake>,
    guild_id: Option<Snowflake>,
}

pub(super) struct CreatedWebhook {
    pub(super) webhook: Webhook,
    pub(super) token: SecretString,
}

impl CreatedWebhook {
    /// Parses the webhook that came with tokens; `None` if it cannot be called.
    pub(super) fn read(json: &Value) -> Option<Self> {
        let webhook = Webhook::deserialize(json).ok()?;
        let key = Key::from_parts(webhook.id, json["token"].as_str()?.into())?;
        Some(Self { webhook, token: key.token })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct StoredWebhook {
    id: Snowflake,
    pub(super) guild: Option<Snowflake>,
    /// Whether it was created for us, so that it is deleted with the connection.
    pub(super) is_ours: bool,
}

impl Webhook {
    /// The account info and the credentials of an account; `None` if the webhook cannot post.
    ///
    /// The account is the channel: a user who connects it again gets another webhook.
    pub(super) fn account(self, token: SecretString, is_ours: bool) -> Option<(AccountInfo, Credentials)> {
        let channel = self.channel_id.filter(|_| self.kind == INCOMING)?;
        let name = self.name.filter(|it| !it.trim().is_empty());
        let is_hash = |it: &String| it.len() <= 64 && it.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
        let avatar = self.avatar.filter(is_hash);
        let profile = AccountInfo {
            account_id: channel.to_string(),
            username: Some(name.clone().unwrap_or_else(|| format!("channel {channel}"))),
            display_name: name,
            avatar: avatar.map(|it| format!("https://cdn.discordapp.com/avatars/{}/{it}.png", self.id)),
            profile_url: self.guild_id.map(|it| format!("https://discord.com/channels/{it}/{channel}")),
        };
        let stored = json!(StoredWebhook { id: self.id, guild: self.guild_id, is_ours });
        let extra = Some(stored.to_string().into());
        Some((profile, Credentials { extra, ..Credentials::new(token) }))
    }
}

pub(super) fn load(credentials: &Credentials) -> Result<(Key, StoredWebhook), AttemptError> {
    let read = || {
        let stored: StoredWebhook = serde_json::from_str(credentials.extra.as_ref()?.expose_secret()).ok()?;
        Some((Key::from_parts(stored.id, credentials.access_token.clone())?, stored))
    };
    read().ok_or_else(|| AttemptError::Unauthorized {
        reason: "the stored webhook of this connection cannot be read; \
                                                               connect the channel again"
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "kKDdjXa1g9tKNs0-_yOwLyALC9gydEWP6gr9sHabuK1vuofjhQDDnlOclJeRIvYK-pj_";

    fn id(written: &str) -> Snowflake {
        Snowflake::parse(written).unwrap()
    }

    #[test]
    fn webhook_url_is_parsed_as_discord_copies_it() {
        for address in [
            "https://discord.com/api/webhooks/347114750880120863/{}",
            " https://discordapp.com/api/webhooks/347114750880120863/{}\n",
            "https://ptb.discord.com/api/v10/webhooks/347114750880120863/{}",
            "https://CANARY.discord.com:443/api/v9/webhooks/347114750880120863/{}",
        ] {
            let key = Key::parse(&address.replace("{}", TOKEN)).unwrap();
            assert_eq!((key.id, key.token.expose_secret()), (id("347114750880120863"), TOKEN), "{address}");
        }
    }

    #[test]
    fn other_urls_are_not_webhooks() {
        for address in [
            "discord.com/api/webhooks/347114750880120863/{}",
            "http://discord.com/api/webhooks/347114750880120863/{}",
            "https://discord.com.evil.example/api/webhooks/347114750880120863/{}",
            "https://evil.example/https://discord.com/api/webhooks/347114750880120863/{}",
            "https://notdiscord.com/api/webhooks/347114750880120863/{}",
            "https://evil@discord.com/api/webhooks/347114750880120863/{}",
            "https://discord.com:8443/api/webhooks/347114750880120863/{}",
            "https://127.0.0.1/api/webhooks/347114750880120863/{}",
            "https://discord.com/webhooks/347114750880120863/{}",
            "https://discord.com/api/v/webhooks/347114750880120863/{}",
            "https://discord.com/api/v10/v9/webhooks/347114750880120863/{}",
            "https://discord.com/api/webhooks/347114750880120863",
            "https://discord.com/api/webhooks/347114750880120863/",
            "https://discord.com/api/webhooks/0/{}",
            "https://discord.com/api/webhooks/-1/{}",
            "https://discord.com/api/webhooks/99999999999999999999/{}",
            "https://discord.com/api/webhooks/347114750880120863/{}/slack",
            "https://discord.com/api/webhooks/347114750880120863/{}/",
            "https://discord.com/api/webhooks/347114750880120863/{}?thread_id=1",
            "https://discord.com/api/webhooks/347114750880120863/{}#1",
            "https://discord.com/api/webhooks/347114750880120863/../{}",
            "https://discord.com/api/webhooks/347114750880120863/short",
            "https://discord.com/api/webhooks/347114750880120863/%2e%2e%2f%2e%2e%2fusers%2f@me",
            "",
        ] {
            assert!(Key::parse(&address.replace("{}", TOKEN)).is_none(), "{address}");
        }
    }

    fn account_from(webhook: &str) -> Option<(AccountInfo, Credentials)> {
        serde_json::from_str::<Webhook>(webhook).unwrap().account(TOKEN.into(), true)
    }

    #[test]
    fn account_is_the_channel_of_its_webhook() {
        let (profile, credentials) = account_from(
            r#"{"id": "7", "type": 1, "name": "Keeper", "avatar": "a_1f", "channel_id": "8", "guild_id": "9", "x": 1}"#,
        )
        .unwrap();
        assert_eq!((profile.account_id.as_str(), profile.username.as_deref()), ("8", Some("Keeper")));
        assert_eq!(profile.avatar.as_deref(), Some("https://cdn.discordapp.com/avatars/7/a_1f.png"));
        assert_eq!(profile.profile_url.as_deref(), Some("https://discord.com/channels/9/8"));

        let (key, stored) = load(&credentials).unwrap();
        assert_eq!((key.id, key.token.expose_secret()), (id("7"), TOKEN));
        assert_eq!((stored.guild, stored.is_ours), (Some(id("9")), true));
        assert!(load(&Credentials { extra: None, ..credentials }).is_err());
    }

    #[test]
    fn webhook_made_for_us_has_its_token() {
        let read =
            |token: &str| CreatedWebhook::read(&json!({"id": "7", "type": 1, "channel_id": "8", "token": token}));
        assert_eq!(read(TOKEN).unwrap().token.expose_secret(), TOKEN);
        assert!(read("../../users/@me").is_none(), "it would lead elsewhere");
        assert!(CreatedWebhook::read(&json!({"id": "7", "type": 1, "channel_id": "8"})).is_none());
        assert!(CreatedWebhook::read(&json!({"id": 7, "type": 1, "token": TOKEN})).is_none());
    }

    #[test]
    fn missing_webhook_fields_are_none() {
        let (profile, _) = account_from(
            r#"{"id": "7", "type": 1, "name": null, "avatar": "../x", "channel_id": "8", "guild_id": null}"#,
        )
        .unwrap();
        assert_eq!((profile.username.as_deref(), profile.display_name), (Some("channel 8"), None));
        assert_eq!((profile.avatar, profile.profile_url), (None, None));
        assert!(
            account_from(r#"{"id": "7", "type": 2, "name": "News", "channel_id": "8"}"#).is_none(),
            "it follows another"
        );
        assert!(account_from(r#"{"id": "7", "type": 1, "name": "News", "channel_id": null}"#).is_none());
    }
}
