//! Posts of the bot, and what became of them.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::{AttemptError, Published, Resolution};

use super::TITLE;
use super::bot::{Bot, Channel};
use super::errors::{MISSING_PERMISSIONS, UNKNOWN_CHANNEL};
use super::look_up::{link, look_up};
use super::message;
use super::rules::{AUTHOR, CHANNEL};
use super::server::{self, Place, Server};
use crate::deadline::{Deadline, WITHIN};
use crate::kit::{CallError, Effect, ErrorKind};
use crate::publish_request::PublishRequest;
use crate::recognition::Found;
use crate::transport_error::TransportError;

/// A nonce "will be checked for uniqueness in the past few minutes": in two at least,
/// for fewer are none of them. A message is no older than the call that made it.
const NONCE_IS_KNOWN: TimeDelta = TimeDelta::minutes(2);

/// A repeat has arrived by the end of its step.
const A_STEP: TimeDelta = TimeDelta::seconds(40);

/// As long as it takes until a call that was cut off can no longer take effect: what
/// [`Publish::settle_time`](crate::platform::Publish::settle_time) says unless told otherwise.
const SETTLES: TimeDelta = TimeDelta::seconds(60);

/// The longest time for a look at what the channel shows. A repeat has to fit behind it.
const LOOKING: Duration = Duration::from_secs(15);

/// The end of a step, in which it may be asked whether the bot is still there.
const LAST: Duration = Duration::from_secs(39);

const GONE: &str = "the bot is not in the server any more";

/// The public call.
pub(super) async fn publish(bot: Bot<'_>, server: Server, job: &PublishRequest<'_>) -> Result<Published, AttemptError> {
    let watch = Deadline::begin(job.now);
    let place = place(bot, server, job, &watch).await?;
    match send(bot, server, &place, job, &watch).await {
        Ok(published) => Ok(published),
        Err(error) => Err(setback(bot, server, error, &watch).await),
    }
}

/// Where a post goes. Nothing is sent before Discord has said what its channel is: the
/// same call does other things in other channels, and the bot is in other people's
/// servers, too.
async fn place<'a>(
    bot: Bot<'_>,
    server: Server,
    job: &PublishRequest<'a>,
    watch: &Deadline,
) -> Result<Place<'a>, AttemptError> {
    let refused = |reason: String| Err(AttemptError::Refused { reason });
    let Some(named) = server::named(job) else {
        return refused(format!("option {CHANNEL}: choose one of the channels that are listed"));
    };
    if let Some(name) = AUTHOR.iter().find(|it| job.options.get(it).is_some()) {
        return refused(format!("option {name}: a bot posts under its own name; leave it out"));
    }
    match bot.channel(named).await {
        Ok(channel) => Place::of(job, server, channel),
        Err(error) => Err(setback(bot, server, error, watch).await),
    }
}

async fn send(
    bot: Bot<'_>,
    server: Server,
    place: &Place<'_>,
    job: &PublishRequest<'_>,
    watch: &Deadline,
) -> Result<Published, CallError> {
    let Place { channel: Channel { id: channel, .. }, title } = place;
    let message = message::by_bot(job, &message::nonce(job), *title);
    let sending = async {
        match title {
            None => bot.send(*channel, message, WITHIN).await,
            Some(_) => bot.begin_thread(*channel, message, WITHIN).await,
        }
    };
    let late = || CallError::of_transport(TransportError::Late, Effect::Public, TITLE);
    let sent = watch.within(WITHIN, sending).await.ok_or_else(late).flatten()?;
    let at = sent.id.time().unwrap_or(job.now);
    Ok(Published::new(sent.id.to_string(), at).with_url(Some(link(server, sent.channel_id, sent.id))))
}

/// What follows for a delivery. That something is not there, or closed, may be about the
/// channel, or about the whole server.
async fn setback(bot: Bot<'_>, server: Server, error: CallError, watch: &Deadline) -> AttemptError {
    if !is_of_place(&error) {
        return error.into();
    }
    let is_permission = error.has_code(MISSING_PERMISSIONS);
    let words = error.message;
    let closed = format!(
        "{words}: let the bot see the channel, send messages and attach files there, or choose another channel"
    );
    if is_permission {
        return AttemptError::Refused { reason: closed };
    }
    match is_in(bot, server, watch).await {
        Some(true) => AttemptError::Refused { reason: closed },
        Some(false) => AttemptError::Unauthorized { reason: GONE.to_owned() },
        None => AttemptError::RetryLater { retry_at: None, reason: words },
    }
}

/// Whether the object of the call does not exist, or the bot has no access to it.
pub(super) fn is_of_place(error: &CallError) -> bool {
    error.kind == ErrorKind::Unauthorized
}

/// Whether the bot is still in its server; `None` where that cannot be said now.
async fn is_in(bot: Bot<'_>, server: Server, watch: &Deadline) -> Option<bool> {
    match watch.within(LAST, bot.guild(server.guild)).await? {
        Ok(_) => Some(true),
        Err(error) if is_of_place(&error) => Some(false),
        Err(_) => None,
    }
}

/// The outcome of the public calls, the first of which began at `since`. First the channel is read. Where that does not
/// decide, the same message is sent again, with its nonce: not before the first call can
/// no longer be running, and only as long as Discord certainly knows the nonce.
pub(super) async fn resolve(
    bot: Bot<'_>,
    server: Server,
    job: &PublishRequest<'_>,
    since: DateTime<Utc>,
) -> Resolution {
    let watch = Deadline::begin(job.now);
    let unclear = |reason: String| Resolution::Pending { reason };
    // Without a channel, the call was never made.
    let Some(named) = server::named(job) else { return Resolution::NotPublished };
    let place = match bot.channel(named).await {
        Ok(channel) => match Place::of(job, server, channel) {
            Ok(place) => place,
            Err(_) => return Resolution::NotPublished,
        },
        // What was posted there has gone with it.
        Err(error) if error.has_code(UNKNOWN_CHANNEL) => return Resolution::NotPublished,
        Err(error) => return in_doubt(bot, server, error, &watch).await,
    };
    let looked = watch.within(LOOKING, look_up(bot, server, &place, job, since)).await;
    let late = || Err(CallError::of_transport(TransportError::Late, Effect::Read, TITLE));
    let has_nonce = place.title.is_none();
    let is_known = |at: DateTime<Utc>| at < since + NONCE_IS_KNOWN;
    let reason = match looked.unwrap_or_else(late) {
        Ok(Found::Public(published)) => return Resolution::Found(published),
        Ok(Found::NotPublished) => return Resolution::NotFound,
        Ok(Found::Candidate(_)) if has_nonce && is_known(job.now + A_STEP) => {
            "a message like it is there; Discord is asked whether it is this one".to_owned()
        }
        Ok(Found::Candidate(published)) => return Resolution::Candidate(published),
        Ok(Found::Pending { reason }) => reason,
        Err(error) if is_of_place(&error) => return in_doubt(bot, server, error, &watch).await,
        Err(error) => error.message,
    };
    let is_settled = job.settled_at(SETTLES) <= job.now;
    if !has_nonce || !is_settled || !is_known(job.now + A_STEP) {
        return unclear(reason);
    }
    match send(bot, server, &place, job, &watch).await {
        Ok(published) => Resolution::Found(published),
        Err(error) => unclear(error.message),
    }
}

/// A question that was not answered tells nothing.
async fn in_doubt(bot: Bot<'_>, server: Server, error: CallError, watch: &Deadline) -> Resolution {
    if is_of_place(&error) && is_in(bot, server, watch).await == Some(false) {
        return Resolution::Unauthorized { reason: GONE.to_owned() };
    }
    Resolution::Pending { reason: error.message }
}
