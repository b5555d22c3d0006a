use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::{AttemptError, Published, Resolution};

use super::TITLE;
use super::bot::Bot;
use super::errors::{MISSING_PERMISSIONS, UNKNOWN_CHANNEL};
use super::look_up::{link, look_up};
use super::message;
use super::rules::{AUTHOR, CHANNEL};
use super::server::{self, Destination, Server};
use crate::deadline::{Deadline, WITHIN};
use crate::kit::{CallError, Effect, ErrorKind};
use crate::publish_request::PublishRequest;
use crate::recognition::Recognition;
use crate::transport_error::TransportError;

/// A nonce "will be checked for uniqueness in the past few minutes": at least two. A message is no
/// older than the call that created it.
const NONCE_LIFETIME: TimeDelta = TimeDelta::minutes(2);

/// A repeat has arrived by the end of its step.
const A_STEP: TimeDelta = TimeDelta::seconds(40);

/// The default of [`Publish::settle_time`](crate::platform::Publish::settle_time).
const SETTLE_TIME: TimeDelta = TimeDelta::seconds(60);

/// The timeout for reading the channel, after which a repeat has to fit into the step.
const LOOK_UP_TIMEOUT: Duration = Duration::from_secs(15);

/// The end of a step, in which the bot's membership may still be checked.
const LAST: Duration = Duration::from_secs(39);

const GONE: &str = "the bot is no longer in the server";

pub(super) async fn publish(
    bot: Bot<'_>,
    server: Server,
    request: &PublishRequest<'_>,
) -> Result<Published, AttemptError> {
    let deadline = Deadline::begin(request.now);
    let place = place(bot, server, request, &deadline).await?;
    match send(bot, server, &place, request, &deadline).await {
        Ok(published) => Ok(published),
        Err(error) => Err(attempt_error(bot, server, error, &deadline).await),
    }
}

/// The channel of a post. Nothing is sent before Discord has described its channel: the same call
/// does other things in other channels, and the bot is in other servers, too.
async fn place<'a>(
    bot: Bot<'_>,
    server: Server,
    request: &PublishRequest<'a>,
    deadline: &Deadline,
) -> Result<Destination<'a>, AttemptError> {
    let refused = |reason: String| Err(AttemptError::Refused { reason });
    let Some(named) = server::named(request) else {
        return refused(format!("option {CHANNEL}: choose one of the listed channels"));
    };
    if let Some(name) = AUTHOR.iter().find(|it| request.options.get(it).is_some()) {
        return refused(format!("option {name}: a bot posts under its own name; leave this option out"));
    }
    match bot.channel(named).await {
        Ok(channel) => Destination::new(request, server, channel),
        Err(error) => Err(attempt_error(bot, server, error, deadline).await),
    }
}

async fn send(
    bot: Bot<'_>,
    server: Server,
    place: &Destination<'_>,
    request: &PublishRequest<'_>,
    deadline: &Deadline,
) -> Result<Published, CallError> {
    let message = message::bot_message(request, &message::nonce(request), place.title);
    let sending = async {
        match place.title {
            None => bot.send(place.list(), message, WITHIN).await,
            Some(_) => bot.create_thread(place.channel.id, message, WITHIN).await,
        }
    };
    let late = || CallError::from_transport(TransportError::Late, Effect::Public, TITLE);
    let sent = deadline.within(WITHIN, sending).await.ok_or_else(late).flatten()?;
    let at = sent.id.time().unwrap_or(request.now);
    Ok(Published::new(sent.id.to_string(), at).with_url(Some(link(server, sent.channel_id, sent.id))))
}

/// The error of a delivery. An object that does not exist or is forbidden may be the channel, or
/// the whole server.
async fn attempt_error(bot: Bot<'_>, server: Server, error: CallError, deadline: &Deadline) -> AttemptError {
    if !is_access_error(&error) {
        return error.into();
    }
    let is_permission = error.has_code(MISSING_PERMISSIONS);
    let message = error.message;
    let no_access = format!(
        "{message}: allow the bot to view the channel, to send messages and messages in threads, and to attach files \
         there, or choose another channel"
    );
    if is_permission {
        return AttemptError::Refused { reason: no_access };
    }
    match is_member(bot, server, deadline).await {
        Some(true) => AttemptError::Refused { reason: no_access },
        Some(false) => AttemptError::Unauthorized { reason: GONE.to_owned() },
        None => AttemptError::RetryLater { retry_at: None, reason: message },
    }
}

pub(super) fn is_access_error(error: &CallError) -> bool {
    error.kind == ErrorKind::Unauthorized
}

/// Whether the bot is still in its server; `None` if this is unknown now.
async fn is_member(bot: Bot<'_>, server: Server, deadline: &Deadline) -> Option<bool> {
    match deadline.within(LAST, bot.guild(server.guild)).await? {
        Ok(_) => Some(true),
        Err(error) if is_access_error(&error) => Some(false),
        Err(_) => None,
    }
}

/// The outcome of the publish calls, the first of which began at `since`. First the channel is
/// read. If that does not decide, the same message is sent again, with its nonce: not before the
/// first call can no longer be running, and only as long as Discord certainly remembers the nonce.
pub(super) async fn resolve(
    bot: Bot<'_>,
    server: Server,
    request: &PublishRequest<'_>,
    since: DateTime<Utc>,
) -> Resolution {
    let deadline = Deadline::begin(request.now);
    let unclear = |reason: String| Resolution::Pending { reason };
    // Without a channel, the call was never made.
    let Some(named) = server::named(request) else { return Resolution::NotPublished };
    let place = match bot.channel(named).await {
        Ok(channel) => match Destination::new(request, server, channel) {
            Ok(place) => place,
            Err(_) => return Resolution::NotPublished,
        },
        // The posts of a deleted channel are deleted, too.
        Err(error) if error.has_code(UNKNOWN_CHANNEL) => return Resolution::NotPublished,
        Err(error) => return failed_look_up(bot, server, error, &deadline).await,
    };
    let looked = deadline.within(LOOK_UP_TIMEOUT, look_up(bot, server, &place, request, since)).await;
    let late = || Err(CallError::from_transport(TransportError::Late, Effect::Read, TITLE));
    let has_nonce = request.may_repeat() && place.title.is_none();
    let is_known = |at: DateTime<Utc>| at < since + NONCE_LIFETIME;
    let reason = match looked.unwrap_or_else(late) {
        Ok(Recognition::Public(published)) => return Resolution::Found(published),
        Ok(Recognition::NotPublished) => return Resolution::NotFound,
        Ok(Recognition::Candidate(_)) if has_nonce && is_known(request.now + A_STEP) => {
            "the channel has a message like this one, and it is not known yet whether it is the same".to_owned()
        }
        Ok(Recognition::Candidate(published)) => return Resolution::Candidate(published),
        Ok(Recognition::Pending { reason }) => reason,
        Err(error) if place.is_in_thread() && error.has_code(UNKNOWN_CHANNEL) => return Resolution::NotPublished,
        Err(error) if is_access_error(&error) => return failed_look_up(bot, server, error, &deadline).await,
        Err(error) => error.message,
    };
    let is_settled = request.settled_at(SETTLE_TIME) <= request.now;
    if !has_nonce || !is_settled || !is_known(request.now + A_STEP) {
        return unclear(reason);
    }
    match send(bot, server, &place, request, &deadline).await {
        Ok(published) => Resolution::Found(published),
        Err(error) => unclear(error.message),
    }
}

/// A failed look-up says nothing about the outcome.
async fn failed_look_up(bot: Bot<'_>, server: Server, error: CallError, deadline: &Deadline) -> Resolution {
    if is_access_error(&error) && is_member(bot, server, deadline).await == Some(false) {
        return Resolution::Unauthorized { reason: GONE.to_owned() };
    }
    Resolution::Pending { reason: error.message }
}
