//! What became of a bot's call whose answer was lost.
//!
//! A message is known by its nonce, where a list has it, and by the names of its files,
//! which have the nonce in them. One without either, and the first message of a thread
//! without files, is known by its words: a message of our bot, since the call, that says
//! the same and that no other delivery has claimed.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

use super::bot::{Bot, Channel, Listed, PAGE};
use super::errors::UNKNOWN_MESSAGE;
use super::message;
use super::server::{Place, Server};
use super::snowflake::Snowflake;
use crate::kit::CallError;
use crate::publish_request::PublishRequest;
use crate::recognition::{self, Found, PostMatch, Timeline};

/// How far our clock and Discord's may be apart.
const CLOCKS_DIFFER: TimeDelta = TimeDelta::minutes(5);

/// How long after a call was begun it, or its repeat, may have made something.
const LATEST: TimeDelta = TimeDelta::minutes(3);

/// The most pages that are read at one look: as many calls as Discord takes at once.
const MAX_PAGES: usize = 5;

/// Looks for what the calls from `since` on may have made.
pub(super) async fn look_up(
    bot: Bot<'_>,
    server: Server,
    place: &Place<'_>,
    job: &PublishRequest<'_>,
    since: DateTime<Utc>,
) -> Result<Found, CallError> {
    let (from, to) = (Snowflake::at(since - CLOCKS_DIFFER), Snowflake::at(job.called_at + LATEST + CLOCKS_DIFFER));
    let look = LookUp { bot, server, place, job, from, to, nonce: message::nonce(job) };
    let seen = match place.title {
        None => look.messages().await?,
        Some(title) => look.threads(title, since).await?,
    };
    let found = recognition::look_for(&seen, &[], job.claims, job.now).await?;
    Ok(match (found, seen.is_all) {
        (Found::NotPublished, Err(why)) => Found::Pending { reason: why.to_owned() },
        (found, _) => found,
    })
}

struct LookUp<'a> {
    bot: Bot<'a>,
    server: Server,
    place: &'a Place<'a>,
    job: &'a PublishRequest<'a>,
    /// Ids of what the call may have made lie between these.
    from: Snowflake,
    to: Snowflake,
    nonce: String,
}

/// What our bot has posted around the call.
struct Seen {
    posts: Vec<Post>,
    /// Whether that is all of it, or why not.
    is_all: Result<(), &'static str>,
}

/// Something that our bot has posted.
#[derive(Clone)]
struct Post {
    id: String,
    at: Option<DateTime<Utc>>,
    url: String,
    likeness: PostMatch,
}

const TOO_MUCH: &str = "the channel has had too many messages since to find it; look there";

const UNREADABLE: &str =
    "the bot may not read what was posted: give it the permission Read Message History in the channel, or look there";

impl LookUp<'_> {
    /// What the channel shows, page by page from before the call on.
    async fn messages(&self) -> Result<Seen, CallError> {
        let channel = self.place.channel.id;
        let (mut posts, mut after) = (Vec::new(), self.from);
        let mut is_all = Err(TOO_MUCH);
        for number in 0..MAX_PAGES {
            let page = self.bot.messages(channel, after).await?;
            let Some(last) = page.iter().map(|it| it.id).max() else {
                // "If the current user is missing the `READ_MESSAGE_HISTORY` permission in
                // the channel, then no messages will be returned."
                let may_read = 0 < number || self.server.may_read(self.bot, &self.place.channel).await?;
                is_all = if may_read { Ok(()) } else { Err(UNREADABLE) };
                break;
            };
            posts.extend(
                page.iter().filter(|it| self.is_ours(it)).map(|it| self.post(it.id, channel, self.likeness(it))),
            );
            if page.len() < PAGE || self.to < last || last <= after {
                is_all = Ok(());
                break;
            }
            after = last;
        }
        Ok(Seen { posts, is_all })
    }

    /// The forum's threads that our bot has begun around the call, archived ones too.
    async fn threads(&self, title: &str, since: DateTime<Utc>) -> Result<Seen, CallError> {
        let active = self.bot.active_threads(self.server.guild).await?.threads;
        let mut found: BTreeMap<_, _> = active.into_iter().filter(|it| self.may_be(it)).map(|it| (it.id, it)).collect();
        let (mut before, mut is_all) = (None, Err(TOO_MUCH));
        for _ in 0..MAX_PAGES {
            let page = self.bot.archived_threads(self.place.channel.id, before).await?;
            let archived_at = |it: &Channel| it.thread_metadata.as_ref().map(|it| it.archive_timestamp);
            let earliest = page.threads.iter().filter_map(archived_at).min();
            found.extend(page.threads.into_iter().filter(|it| self.may_be(it)).map(|it| (it.id, it)));
            // What was archived before the call was not made by it.
            if !page.has_more || earliest.is_none_or(|it| it < since - CLOCKS_DIFFER) {
                is_all = Ok(());
                break;
            }
            before = earliest;
        }
        let mut posts = Vec::new();
        for thread in found.values() {
            if posts.len() == MAX_PAGES {
                is_all = Err(TOO_MUCH);
                break;
            }
            let has_title = thread.name.as_deref().is_some_and(|it| plain(it) == plain(title));
            let likeness = match self.bot.message(thread.id, thread.id).await {
                Ok(first) => match self.likeness(&first) {
                    PostMatch::Same if !has_title => PostMatch::Doubtful,
                    likeness => likeness,
                },
                // Somebody has removed the message, and not the thread.
                Err(error) if error.has_code(UNKNOWN_MESSAGE) && has_title => PostMatch::Doubtful,
                Err(error) if error.has_code(UNKNOWN_MESSAGE) => PostMatch::Other,
                Err(error) => return Err(error),
            };
            posts.push(self.post(thread.id, thread.id, likeness));
        }
        Ok(Seen { posts, is_all })
    }

    fn may_be(&self, thread: &Channel) -> bool {
        let is_within = self.from <= thread.id && thread.id <= self.to;
        is_within && thread.parent_id == Some(self.place.channel.id) && thread.owner_id == Some(self.server.bot)
    }

    fn is_ours(&self, message: &Listed) -> bool {
        let is_within = message.id <= self.to;
        is_within && message.webhook_id.is_none() && message.author.as_ref().is_some_and(|it| it.id == self.server.bot)
    }

    fn likeness(&self, message: &Listed) -> PostMatch {
        if let Some(nonce) = message.nonce.as_str() {
            return if nonce == self.nonce { PostMatch::It } else { PostMatch::Other };
        }
        let theirs: Vec<_> = message.attachments.iter().map(|it| it.filename.as_str()).collect();
        let mut nonces = theirs.iter().filter_map(|it| message::nonce_of_file(it)).peekable();
        if nonces.peek().is_some() {
            return if nonces.any(|it| it == self.nonce) { PostMatch::It } else { PostMatch::Other };
        }
        if theirs.len() != self.job.media.len() {
            return PostMatch::Other;
        }
        let (shown, sent) = (message.content.trim(), self.job.text.trim());
        match (shown == sent, plain(shown) == plain(sent)) {
            (true, _) if theirs.is_empty() => PostMatch::Same,
            // "Discord may strip certain characters from message content".
            (true, _) | (false, true) => PostMatch::Doubtful,
            (false, false) => PostMatch::Other,
        }
    }

    fn post(&self, id: Snowflake, channel: Snowflake, likeness: PostMatch) -> Post {
        Post { id: id.to_string(), at: id.time(), url: link(self.server, channel, id), likeness }
    }
}

/// What is left of a text whatever characters were taken out of it.
fn plain(text: &str) -> String {
    text.chars().filter(|it| it.is_alphanumeric()).collect()
}

/// Where members see a message.
pub(super) fn link(server: Server, channel: Snowflake, message: Snowflake) -> String {
    format!("https://discord.com/channels/{}/{channel}/{message}", server.guild)
}

impl recognition::Listed for Post {
    fn id(&self) -> &str {
        &self.id
    }

    fn at(&self) -> Option<DateTime<Utc>> {
        self.at
    }

    fn url(&self) -> Option<String> {
        Some(self.url.clone())
    }
}

/// It was read before: in the direction in which Discord lists from an id on.
#[async_trait::async_trait]
impl Timeline for Seen {
    type Post = Post;
    type Error = CallError;

    async fn page(&self, after: Option<&str>) -> Result<Vec<Post>, CallError> {
        let mut posts: Vec<_> = if after.is_none() { self.posts.clone() } else { Vec::new() };
        posts.sort_by_key(|it| std::cmp::Reverse(it.at));
        Ok(posts)
    }

    fn likeness(&self, post: &Post) -> Option<PostMatch> {
        Some(post.likeness)
    }

    async fn compare(&self, post: &Post) -> Result<PostMatch, CallError> {
        Ok(post.likeness)
    }
}
