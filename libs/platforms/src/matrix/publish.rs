use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::{AttemptError, Published, Resolution};
use serde::{Deserialize, Serialize};

use super::Matrix;
use super::api::Device;
use super::content::{self, Message};
use super::errors::ERRORS;
use super::grant::Grant;
use super::user::link;
use crate::deadline::{Deadline, WITHIN};
use crate::kit::{CallError, Effect, ErrorKind};
use crate::platform::{Publish, Step};
use crate::publish_request::PublishRequest;
use crate::transport_error::TransportError;

pub(super) const ROOM: &str = "room";

/// The longest id of a room, in bytes.
const MAX_ROOM: usize = 255;

/// A homeserver continues a request that its proxy has given up, usually after a minute.
const SETTLE_TIME: TimeDelta = TimeDelta::seconds(90);

const MAX_CLOCK_SKEW: TimeDelta = TimeDelta::minutes(15);

const MAX_PAGES: usize = 5;

/// The URIs of the files uploaded so far, in the order of the post.
#[derive(Default, Serialize, Deserialize)]
struct Progress {
    files: Vec<String>,
}

struct RoomPost<'a> {
    device: Device<'a>,
    grant: &'a Grant,
    room: &'a str,
    messages: Vec<Message>,
}

struct RoomMessage {
    event: String,
    at: Option<DateTime<Utc>>,
    /// Whether this device sent it, so that sending it again would change nothing.
    is_ours: bool,
}

/// Why the rest of a post was not sent.
struct SendError {
    error: CallError,
    /// How many messages are in the room.
    there: usize,
}

#[async_trait::async_trait]
impl Publish for Matrix {
    /// One file per step. An uploaded file is not visible before a message shows it.
    async fn prepare(&self, request: &PublishRequest<'_>) -> Result<Step, AttemptError> {
        let grant = Grant::load(request.credentials)?;
        let mut progress = Progress::load(request);
        let at = progress.files.len();
        let Some(next) = request.media.get(at) else { return Ok(Step::Ready { progress: progress.store() }) };
        let uploading = async {
            let bytes = request.files.open(next).await?;
            self.api.upload(Device::new(&grant, request), &content::name(at, next), next, bytes, WITHIN).await
        };
        let late = || CallError::from_transport(TransportError::Late, Effect::Private, ERRORS.title);
        let uploaded = Deadline::begin(request.now).within(WITHIN, uploading).await.ok_or_else(late).flatten();
        let place = |why: &str| format!("file {} of {}: {why}", at + 1, request.media.len());
        progress.files.push(uploaded.map_err(|it| it.with_message(place))?);
        let is_complete = progress.files.len() == request.media.len();
        match progress.store() {
            Some(progress) if !is_complete => Ok(Step::Again { progress, at: request.now }),
            progress => Ok(Step::Ready { progress }),
        }
    }

    async fn publish(&self, request: &PublishRequest<'_>) -> Result<Published, AttemptError> {
        let grant = Grant::load(request.credentials)?;
        let Some(room_post) = RoomPost::new(request, &grant)? else {
            return Err(AttemptError::PreparationExpired { reason: "not all files are uploaded".to_owned() });
        };
        let not_sent: Vec<_> = room_post.messages.iter().map(|_| None).collect();
        let sending = async {
            if self.api.is_encrypted(room_post.device, room_post.room).await? {
                let reason = "the room is encrypted, and this service cannot encrypt messages: choose another room";
                return Err(AttemptError::Refused { reason: reason.to_owned() });
            }
            self.send(&room_post, not_sent).await.map_err(|it| it.into_attempt_error(room_post.messages.len()))
        };
        let late = || Err(CallError::from_transport(TransportError::Late, Effect::Public, ERRORS.title).into());
        let first = Deadline::begin(request.now).within(WITHIN, sending).await.unwrap_or_else(late)?;
        Ok(room_post.published(first, request.now))
    }

    /// Reads the account's messages in the room since the call. A message is recognized by its
    /// transaction id, which its own device receives, and by our reference in its content. If only
    /// the first of several is there, the others are sent: at once if this device sent the first,
    /// because then a message that is still in transit is the same as the repeated one; otherwise
    /// once nothing can be in transit any more.
    async fn look_up(&self, request: &PublishRequest<'_>, since: DateTime<Utc>) -> Resolution {
        let grant = match Grant::load(request.credentials) {
            Ok(grant) => grant,
            Err(lost) => return Resolution::Unauthorized { reason: lost.into_reason() },
        };
        let Ok(Some(room_post)) = RoomPost::new(request, &grant) else { return request.never_made() };
        let resolving = self.settle(&room_post, request, since);
        let late = || Resolution::Pending { reason: TransportError::Late.message(ERRORS.title) };
        Deadline::begin(request.now).within(WITHIN, resolving).await.unwrap_or_else(late)
    }

    /// False: a message is recognized by its content.
    fn recognizes_own_posts(&self) -> bool {
        false
    }

    fn settle_time(&self) -> TimeDelta {
        SETTLE_TIME
    }
}

impl Matrix {
    /// Sends what is not in the room yet, in order; returns the first message of the post.
    async fn send(
        &self,
        room_post: &RoomPost<'_>,
        in_room: Vec<Option<RoomMessage>>,
    ) -> Result<RoomMessage, SendError> {
        let mut sent_count = in_room.iter().flatten().count();
        let mut first = None;
        for (message, found) in room_post.messages.iter().zip(in_room) {
            let event = if let Some(event) = found {
                event
            } else {
                let Message { transaction, content } = message;
                let sent = self.api.send(room_post.device, room_post.room, transaction, content).await;
                let event = sent.map_err(|error| SendError { error, there: sent_count })?;
                sent_count += 1;
                RoomMessage { event, at: None, is_ours: true }
            };
            first.get_or_insert(event);
        }
        let none = || CallError::invalid_post("the post has neither text nor files");
        first.ok_or_else(|| SendError { error: none(), there: sent_count })
    }

    async fn settle(&self, room_post: &RoomPost<'_>, request: &PublishRequest<'_>, since: DateTime<Utc>) -> Resolution {
        let in_room = match self.find_messages(room_post, since).await {
            Ok(in_room) => in_room,
            Err(error) => return error.resolution(),
        };
        let (sent_count, all) = (in_room.iter().flatten().count(), in_room.len());
        if sent_count == 0 {
            return Resolution::NotFound;
        }
        if sent_count < all
            && request.now < request.settled_at(SETTLE_TIME)
            && !in_room.iter().flatten().all(|it| it.is_ours)
        {
            return Resolution::Pending { reason: format!("{sent_count} of its {all} messages are in the room") };
        }
        match self.send(room_post, in_room).await {
            Ok(first) => Resolution::Found(room_post.published(first, request.now)),
            Err(SendError { error, there: sent_count })
                if matches!(error.kind, ErrorKind::Forbidden | ErrorKind::InvalidPost) =>
            {
                let message = error.message;
                let advice =
                    format!("{sent_count} of its {all} messages are in the room; the others were refused: {message}");
                Resolution::Undeterminable { advice }
            }
            Err(SendError { error, .. }) => error.resolution(),
        }
    }

    async fn find_messages(
        &self,
        room_post: &RoomPost<'_>,
        since: DateTime<Utc>,
    ) -> Result<Vec<Option<RoomMessage>>, CallError> {
        let RoomPost { device, grant, room, messages } = room_post;
        let mut in_room: Vec<Option<RoomMessage>> = messages.iter().map(|_| None).collect();
        let mut from = None;
        for _ in 0..MAX_PAGES {
            let page = self.api.messages(*device, room, &grant.user, from.as_deref()).await?;
            for event in page.chunk {
                if event.sender != grant.user.as_str() {
                    continue;
                }
                let at = event.at();
                if at.is_some_and(|it| it < since - MAX_CLOCK_SKEW) {
                    return Ok(in_room);
                }
                let is_ours = |it: &Message| event.transaction() == Some(it.transaction.as_str());
                let is_it = |it: &Message| is_ours(it) || it.is_in(&event.content);
                if let Some(place) = messages.iter().position(is_it) {
                    let is_ours = messages.get(place).is_some_and(is_ours);
                    in_room[place] = Some(RoomMessage { event: event.event_id, at, is_ours });
                }
            }
            from = page.end;
            if from.is_none() || in_room.iter().all(Option::is_some) {
                return Ok(in_room);
            }
        }
        let message = "the account has sent too many messages since then for the post to be found; look in the room";
        Err(CallError::new(ErrorKind::NotSent, Effect::Read, message))
    }
}

impl SendError {
    fn into_attempt_error(self, all: usize) -> AttemptError {
        let Self { error, there: sent_count } = self;
        if sent_count == 0 {
            return error.into();
        }
        let reason = format!("{sent_count} of its {all} messages are in the room; {}", error.message);
        let may_still_run = matches!(AttemptError::from(error), AttemptError::Unknown { may_still_run: true, .. });
        AttemptError::Unknown { may_still_run, retry_at: None, reason }
    }
}

impl<'a> RoomPost<'a> {
    /// `None` if files are not uploaded yet.
    fn new(request: &'a PublishRequest<'_>, grant: &'a Grant) -> Result<Option<Self>, AttemptError> {
        let Progress { files } = Progress::load(request);
        if files.len() != request.media.len() {
            return Ok(None);
        }
        let (room, messages) = (room(request)?, content::messages(request, &files)?);
        Ok(Some(Self { device: Device::new(grant, request), grant, room, messages }))
    }

    fn published(&self, first: RoomMessage, now: DateTime<Utc>) -> Published {
        let link = link(&[self.room, &first.event]);
        // The user's server knows the room.
        let link = link.map(|it| format!("{it}?via={}", self.grant.user.domain()));
        Published::new(first.event, first.at.unwrap_or(now)).with_url(link)
    }
}

fn room<'a>(request: &PublishRequest<'a>) -> Result<&'a str, AttemptError> {
    let named = request.options.text(ROOM).map(str::trim).filter(|it| is_room(it));
    let reason = "option room: this is not a room ID such as !abc:example.org; choose a listed room, or type its ID";
    named.ok_or_else(|| AttemptError::Refused { reason: reason.to_owned() })
}

fn is_room(named: &str) -> bool {
    let is_plain = |it: char| !it.is_whitespace() && !it.is_control();
    named.len() <= MAX_ROOM && named.strip_prefix('!').is_some_and(|it| !it.is_empty() && it.chars().all(is_plain))
}

impl Progress {
    fn load(request: &PublishRequest<'_>) -> Self {
        request.progress()
    }

    fn store(&self) -> Option<String> {
        if self.files.is_empty() { None } else { serde_json::to_string(self).ok() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_room_ids_are_accepted() {
        for id in ["!abc:example.org", "!LxgUEkfHYacpQ3JQWFIRXLmd6VfQaAV0pLDTBjV4wbM"] {
            assert!(is_room(id), "{id}");
        }
        for other in ["", "!", "#general:example.org", "general", "!a b:example.org", &format!("!{}", "a".repeat(255))]
        {
            assert!(!is_room(other), "{other}");
        }
    }
}
