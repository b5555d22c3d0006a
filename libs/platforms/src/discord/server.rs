//! A server that the bot was added to: how it is stored, and where the bot may post.

use std::collections::BTreeMap;

use domain::connection::AccountInfo;
use domain::delivery::AttemptError;
use domain::token;
use futures::future::try_join;
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::bot::{Bot, Channel, Guild, Member, Overwrite};
use super::rules::CHANNEL;
use super::snowflake::Snowflake;
use crate::account::Credentials;
use crate::choices::Choice;
use crate::kit::CallError;
use crate::publish_request::PublishRequest;

/// The stored data of a server. None of them are secret: the bot's token belongs to the deployment.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Server {
    #[serde(rename = "server")]
    pub(super) guild: Snowflake,
    /// The bot, whose messages are ours.
    pub(super) bot: Snowflake,
}

impl Server {
    pub(super) fn load(credentials: &Credentials) -> Option<Self> {
        serde_json::from_str(credentials.extra.as_ref()?.expose_secret()).ok()
    }

    /// Instead of a token, every connection of the server has the same text, so that the bot does
    /// not leave the server while another connection needs it.
    pub(super) fn credentials(self) -> Credentials {
        let name = token::hash(&format!("discord server {}", self.guild));
        Credentials { extra: Some(json!(self).to_string().into()), ..Credentials::new(name.into()) }
    }

    pub(super) async fn joined(bot: Bot<'_>, guild: Snowflake) -> Result<(Self, Guild), CallError> {
        let (me, guild) = try_join(bot.me(), bot.guild(guild)).await?;
        Ok((Self { guild: guild.id, bot: me.id }, guild))
    }

    /// The channels in which the bot may post, in the order of the app.
    pub(super) async fn choices(self, bot: Bot<'_>) -> Result<Vec<Choice>, CallError> {
        let ((guild, member), channels) = try_join(self.guild_and_member(bot), bot.channels(self.guild)).await?;
        let categories: BTreeMap<_, _> = channels.iter().map(|it| (it.id, it)).collect();
        let category = |it: &Channel| categories.get(&it.parent_id?).copied();
        let may_post = |it: &&Channel| {
            Kind::from_type(it.kind).is_some()
                && has_permissions(self.permissions(&guild, &member, it), VIEW_CHANNEL | SEND_MESSAGES)
        };
        let mut writable: Vec<_> = channels.iter().filter(may_post).collect();
        writable.sort_by_key(|it| (category(it).map(|it| (it.position, it.id)), it.position, it.id));
        let label = |it: &Channel| {
            let name = it.name.as_deref().unwrap_or_default();
            let forum = if Kind::from_type(it.kind) == Some(Kind::Forum) { " (forum)" } else { "" };
            let category = category(it).and_then(|it| it.name.as_deref());
            category.map_or_else(|| format!("#{name}{forum}"), |category| format!("#{name}{forum} – {category}"))
        };
        Ok(writable.into_iter().map(|it| Choice { value: it.id.to_string(), label: label(it) }).collect())
    }

    pub(super) async fn may_read(self, bot: Bot<'_>, channel: &Channel) -> Result<bool, CallError> {
        let (guild, member) = self.guild_and_member(bot).await?;
        Ok(has_permissions(self.permissions(&guild, &member, channel), VIEW_CHANNEL | READ_MESSAGE_HISTORY))
    }

    async fn guild_and_member(self, bot: Bot<'_>) -> Result<(Guild, Member), CallError> {
        try_join(bot.guild(self.guild), bot.member(self.guild, self.bot)).await
    }

    /// The bot's permissions in a channel, as the documentation computes them (topic Permissions,
    /// "Permission Overwrites").
    fn permissions(self, guild: &Guild, member: &Member, channel: &Channel) -> u128 {
        if guild.owner_id == Some(self.bot) {
            return u128::MAX;
        }
        // The role `@everyone` has the id of the server.
        let has = |it: Snowflake| it == self.guild || member.roles.contains(&it);
        let base =
            guild.roles.iter().filter(|it| has(it.id)).fold(0, |all, it| all | parse_permissions(&it.permissions));
        if has_permissions(base, ADMINISTRATOR) {
            return u128::MAX;
        }
        let overwrite_layers: [&dyn Fn(Snowflake) -> bool; 3] =
            [&|it| it == self.guild, &|it| member.roles.contains(&it), &|it| it == self.bot];
        overwrite_layers.iter().fold(base, |permissions, applies| {
            let overwrites = channel.permission_overwrites.iter().filter(|it| applies(it.id));
            let merge = |(deny, allow): (u128, u128), it: &Overwrite| {
                (deny | parse_permissions(&it.deny), allow | parse_permissions(&it.allow))
            };
            let (deny, allow) = overwrites.fold((0, 0), merge);
            (permissions & !deny) | allow
        })
    }
}

const ADMINISTRATOR: u128 = 1 << 3;
const VIEW_CHANNEL: u128 = 1 << 10;
const SEND_MESSAGES: u128 = 1 << 11;
const READ_MESSAGE_HISTORY: u128 = 1 << 16;

fn has_permissions(permissions: u128, required: u128) -> bool {
    permissions & required == required
}

/// An unreadable value permits and denies nothing.
fn parse_permissions(written: &str) -> u128 {
    written.parse().unwrap_or_default()
}

impl Guild {
    /// The account info of a server. The first channel of an old server has the same id as the
    /// server.
    pub(super) fn profile(self) -> AccountInfo {
        let is_hash = |it: &String| it.len() <= 64 && it.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
        let name = Some(self.name).filter(|it| !it.trim().is_empty());
        AccountInfo {
            account_id: format!("server:{}", self.id),
            username: Some(name.clone().unwrap_or_else(|| format!("server {}", self.id))),
            display_name: name,
            avatar: self
                .icon
                .filter(is_hash)
                .map(|it| format!("https://cdn.discordapp.com/icons/{}/{it}.png", self.id)),
            profile_url: Some(format!("https://discord.com/channels/{}", self.id)),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A text or an announcement channel, which is one list of messages.
    Messages,
    /// A forum or a media channel, where each post begins a thread.
    Forum,
}

impl Kind {
    fn from_type(kind: u8) -> Option<Self> {
        match kind {
            0 | 5 => Some(Self::Messages),
            15 | 16 => Some(Self::Forum),
            _ => None,
        }
    }
}

pub(super) struct Destination<'a> {
    pub(super) channel: Channel,
    pub(super) title: Option<&'a str>,
    /// The thread of a reply, in a forum. It has the permissions of the forum.
    thread: Option<Snowflake>,
}

pub(super) fn named(request: &PublishRequest<'_>) -> Option<Snowflake> {
    Snowflake::parse(request.options.text(CHANNEL)?.trim())
}

impl<'a> Destination<'a> {
    /// Checks that the post can be published in the channel: the channel has to be in the connected
    /// server, because the bot is in others as well.
    pub(super) fn new(request: &PublishRequest<'a>, server: Server, channel: Channel) -> Result<Self, AttemptError> {
        let refused = |reason: &str| Err(AttemptError::Refused { reason: reason.to_owned() });
        let title = request.options.text("thread_name");
        let kind = Kind::from_type(channel.kind);
        if channel.guild_id != Some(server.guild) {
            return refused("option channel: this channel is in another server; choose one of the listed channels");
        }
        if let (Some(Kind::Forum), Some(reply_to)) = (kind, request.reply_to) {
            // A thread has the id of its first message.
            let thread = Snowflake::parse(&reply_to.root.platform_post_id);
            return if thread.is_some() {
                Ok(Self { channel, title: None, thread })
            } else {
                refused("the first message of the thread has no ID of Discord")
            };
        }
        match (kind, title) {
            (None, _) => refused("option channel: this kind of channel does not accept posts; choose another channel"),
            (Some(Kind::Messages), Some(_)) => refused(
                "option thread_name: only posts in forum and media channels have a title; leave this option \
                         out",
            ),
            (Some(Kind::Forum), None) => {
                refused("option thread_name: a post in a forum or media channel needs a title; add one")
            }
            (Some(Kind::Messages), None) | (Some(Kind::Forum), Some(_)) => Ok(Self { channel, title, thread: None }),
        }
    }

    pub(super) fn list(&self) -> Snowflake {
        self.thread.unwrap_or(self.channel.id)
    }

    pub(super) const fn is_in_thread(&self) -> bool {
        self.thread.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(written: &str) -> Snowflake {
        Snowflake::parse(written).unwrap()
    }

    fn channel(overwrites: &serde_json::Value) -> Channel {
        serde_json::from_value(json!({"id": "9", "type": 0, "guild_id": "1", "permission_overwrites": overwrites}))
            .unwrap()
    }

    fn guild(everyone: u128, role_permissions: u128) -> Guild {
        let role = |id: &str, permissions: u128| json!({"id": id, "permissions": permissions.to_string()});
        serde_json::from_value(json!({"id": "1", "name": "Lighthouse", "icon": null, "owner_id": "7",
            "roles": [role("1", everyone), role("2", role_permissions), role("3", ADMINISTRATOR)]}))
        .unwrap()
    }

    #[test]
    fn bot_permissions_match_the_documentation() {
        let server = Server { guild: id("1"), bot: id("5") };
        let both = VIEW_CHANNEL | SEND_MESSAGES;
        let overwrite = |it: &str, deny: u128, allow: u128| json!({"id": it, "type": 0, "deny": deny.to_string(), "allow": allow.to_string()});
        for (everyone, role_permissions, roles, overwrites, expected) in [
            (both, 0, &["2"][..], json!([]), true),
            (0, both, &["2"], json!([]), true),
            (0, both, &[], json!([]), false),
            (both, 0, &["2"], json!([overwrite("1", SEND_MESSAGES, 0)]), false),
            (both, 0, &["2"], json!([overwrite("1", SEND_MESSAGES, 0), overwrite("2", 0, SEND_MESSAGES)]), true),
            (both, 0, &["2"], json!([overwrite("2", VIEW_CHANNEL, 0), overwrite("5", 0, VIEW_CHANNEL)]), true),
            (both, 0, &["2"], json!([overwrite("5", VIEW_CHANNEL, 0), overwrite("2", 0, VIEW_CHANNEL)]), false),
            (both, 0, &["2"], json!([overwrite("4", both, 0)]), true),
            (0, 0, &["3"], json!([overwrite("1", both, 0)]), true),
        ] {
            let member = Member { roles: roles.iter().map(|it| id(it)).collect() };
            let permissions = server.permissions(&guild(everyone, role_permissions), &member, &channel(&overwrites));
            assert_eq!(
                has_permissions(permissions, both),
                expected,
                "{everyone} {role_permissions} {roles:?} {overwrites}"
            );
        }
        let owned = Server { bot: id("7"), ..server };
        assert!(has_permissions(
            owned.permissions(&guild(0, 0), &Member { roles: Vec::new() }, &channel(&json!([]))),
            both
        ));
    }

    #[test]
    fn server_is_stored_without_a_secret() {
        let server = Server { guild: id("1"), bot: id("5") };
        let credentials = server.credentials();
        let read = Server::load(&credentials).unwrap();
        assert_eq!((read.guild, read.bot), (server.guild, server.bot));
        assert!(server.credentials().shares_token_with(&credentials), "every connection of the server has the same");
        let other = Server { guild: id("2"), ..server };
        assert!(!other.credentials().shares_token_with(&credentials));
        assert!(super::super::webhook::load(&credentials).is_err());
    }
}
