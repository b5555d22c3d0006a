//! Looking up the outcome of a bot's call whose response was lost.
//!
//! A message is recognized by its nonce, if the list has it, and by the names of its files, which
//! contain the nonce. A message without either, and the first message of a thread without files, is
//! recognized by its text: a message of our bot, since the call, with the same text and parent, that
//! no other delivery has claimed.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

use super::bot::{Bot, Channel, Listed, PAGE};
use super::errors::UNKNOWN_MESSAGE;
use super::message;
use super::server::{Destination, Server};
use super::snowflake::Snowflake;
use crate::kit::CallError;
use crate::publish_request::PublishRequest;
use crate::recognition::{self, PostMatch, Recognition, Timeline};

const MAX_CLOCK_SKEW: TimeDelta = TimeDelta::minutes(5);

/// How long after its start a call, or its repeat, may have created something.
const LATEST: TimeDelta = TimeDelta::minutes(3);

/// As many calls as Discord accepts at once.
const MAX_PAGES: usize = 5;

pub(super) async fn look_up(
    bot: Bot<'_>,
    server: Server,
    place: &Destination<'_>,
    request: &PublishRequest<'_>,
    since: DateTime<Utc>,
) -> Result<Recognition, CallError> {
    let (from, to) =
        (Snowflake::at(since - MAX_CLOCK_SKEW), Snowflake::at(request.called_at + LATEST + MAX_CLOCK_SKEW));
    let parent = request.reply_to.and_then(|it| Snowflake::parse(&it.parent.platform_post_id));
    let look = LookUp { bot, server, place, request, from, to, parent, nonce: message::nonce(request) };
    let seen = match place.title {
        None => look.messages().await?,
        Some(title) => look.threads(title, since).await?,
    };
    let found = recognition::look_for(&seen, &[], request.claims, request.now).await?;
    Ok(match (found, seen.is_all) {
        (Recognition::NotPublished, Err(why)) => Recognition::Pending { reason: why.to_owned() },
        (found, _) => found,
    })
}

struct LookUp<'a> {
    bot: Bot<'a>,
    server: Server,
    place: &'a Destination<'a>,
    request: &'a PublishRequest<'a>,
    /// The ids that the call may have created are between these.
    from: Snowflake,
    to: Snowflake,
    parent: Option<Snowflake>,
    nonce: String,
}

struct ListedPosts {
    posts: Vec<Post>,
    /// Whether the list is complete, or why not.
    is_all: Result<(), &'static str>,
}

#[derive(Clone)]
struct Post {
    id: String,
    at: Option<DateTime<Utc>>,
    url: String,
    matching: PostMatch,
}

const TOO_MUCH: &str = "the channel has had too many messages since then for the post to be found; look in the channel";

const UNREADABLE: &str =
    "the bot may not read the channel's messages: give it the permission Read Message History, or look in the channel";

impl LookUp<'_> {
    /// The messages of the channel, page by page, from before the call on.
    async fn messages(&self) -> Result<ListedPosts, CallError> {
        let channel = self.place.list();
        let (mut posts, mut after) = (Vec::new(), self.from);
        let mut is_all = Err(TOO_MUCH);
        for number in 0..MAX_PAGES {
            let page = self.bot.messages(channel, after).await?;
            let Some(last) = page.iter().map(|it| it.id).max() else {
                // "If the current user is missing the `READ_MESSAGE_HISTORY` permission in the
                // channel, then no messages will be returned."
                let may_read = 0 < number || self.server.may_read(self.bot, &self.place.channel).await?;
                is_all = if may_read { Ok(()) } else { Err(UNREADABLE) };
                break;
            };
            posts.extend(
                page.iter().filter(|it| self.is_ours(it)).map(|it| self.post(it.id, channel, self.post_match(it))),
            );
            if page.len() < PAGE || self.to < last || last <= after {
                is_all = Ok(());
                break;
            }
            after = last;
        }
        Ok(ListedPosts { posts, is_all })
    }

    /// The forum's threads that our bot created around the time of the call, including archived
    /// ones.
    async fn threads(&self, title: &str, since: DateTime<Utc>) -> Result<ListedPosts, CallError> {
        let active = self.bot.active_threads(self.server.guild).await?.threads;
        let mut found: BTreeMap<_, _> = active.into_iter().filter(|it| self.may_be(it)).map(|it| (it.id, it)).collect();
        let (mut before, mut is_all) = (None, Err(TOO_MUCH));
        for _ in 0..MAX_PAGES {
            let page = self.bot.archived_threads(self.place.channel.id, before).await?;
            let archived_at = |it: &Channel| it.thread_metadata.as_ref().map(|it| it.archive_timestamp);
            let earliest = page.threads.iter().filter_map(archived_at).min();
            found.extend(page.threads.into_iter().filter(|it| self.may_be(it)).map(|it| (it.id, it)));
            // A thread that was archived before the call was not created by it.
            if !page.has_more || earliest.is_none_or(|it| it < since - MAX_CLOCK_SKEW) {
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
            let post_match = match self.bot.message(thread.id, thread.id).await {
                Ok(first) => match self.post_match(&first) {
                    PostMatch::Equal if !has_title => PostMatch::Possible,
                    post_match => post_match,
                },
                // The message was deleted, but not the thread.
                Err(error) if error.has_code(UNKNOWN_MESSAGE) && has_title => PostMatch::Possible,
                Err(error) if error.has_code(UNKNOWN_MESSAGE) => PostMatch::Different,
                Err(error) => return Err(error),
            };
            posts.push(self.post(thread.id, thread.id, post_match));
        }
        Ok(ListedPosts { posts, is_all })
    }

    fn may_be(&self, thread: &Channel) -> bool {
        let is_within = self.from <= thread.id && thread.id <= self.to;
        is_within && thread.parent_id == Some(self.place.channel.id) && thread.owner_id == Some(self.server.bot)
    }

    fn is_ours(&self, message: &Listed) -> bool {
        let is_within = message.id <= self.to;
        is_within && message.webhook_id.is_none() && message.author.as_ref().is_some_and(|it| it.id == self.server.bot)
    }

    fn post_match(&self, message: &Listed) -> PostMatch {
        if let Some(nonce) = message.nonce.as_str() {
            return if nonce == self.nonce { PostMatch::Exact } else { PostMatch::Different };
        }
        let file_names: Vec<_> = message.attachments.iter().map(|it| it.filename.as_str()).collect();
        let mut nonces = file_names.iter().filter_map(|it| message::parse_file_nonce(it)).peekable();
        if nonces.peek().is_some() {
            return if nonces.any(|it| it == self.nonce) { PostMatch::Exact } else { PostMatch::Different };
        }
        let parent = message.message_reference.as_ref().and_then(|it| it.message_id);
        if parent != self.parent || file_names.len() != self.request.media.len() {
            return PostMatch::Different;
        }
        let (shown, sent) = (message.content.trim(), self.request.text.trim());
        match (shown == sent, plain(shown) == plain(sent)) {
            (true, _) if file_names.is_empty() => PostMatch::Equal,
            // "Discord may strip certain characters from message content".
            (true, _) | (false, true) => PostMatch::Possible,
            (false, false) => PostMatch::Different,
        }
    }

    fn post(&self, id: Snowflake, channel: Snowflake, post_match: PostMatch) -> Post {
        Post { id: id.to_string(), at: id.time(), url: link(self.server, channel, id), matching: post_match }
    }
}

/// The text without the characters that Discord may strip.
fn plain(text: &str) -> String {
    text.chars().filter(|it| it.is_alphanumeric()).collect()
}

/// The link to a message for members.
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

/// Already read, in the direction in which Discord lists from an id on.
#[async_trait::async_trait]
impl Timeline for ListedPosts {
    type Post = Post;
    type Error = CallError;

    async fn page(&self, after: Option<&str>) -> Result<Vec<Post>, CallError> {
        let mut posts: Vec<_> = if after.is_none() { self.posts.clone() } else { Vec::new() };
        posts.sort_by_key(|it| std::cmp::Reverse(it.at));
        Ok(posts)
    }

    fn post_match(&self, post: &Post) -> Option<PostMatch> {
        Some(post.matching)
    }

    async fn compare(&self, post: &Post) -> Result<PostMatch, CallError> {
        Ok(post.matching)
    }
}
