//! Posts that are made first and published then: containers, which are worked on for a
//! while, are of use for a day, and are published once.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

use super::Ids;

/// How long a container is of use.
pub const LIVES: TimeDelta = TimeDelta::hours(24);

/// How long the work takes on what a platform does not say otherwise: text, a picture, a
/// video.
pub const WORK: [TimeDelta; 3] = [TimeDelta::seconds(1), TimeDelta::seconds(5), TimeDelta::seconds(40)];

/// A container that has `T` in it.
#[derive(Clone, Debug)]
pub struct Container<T> {
    pub content: T,
    made_at: DateTime<Utc>,
    /// When the work on it ends.
    worked_until: DateTime<Utc>,
    /// Why it comes to nothing, in the platform's words, if it does.
    fault: Option<String>,
    is_public: bool,
    /// What has arrived of a file whose bytes are sent; `None` where Meta fetches it.
    upload: Option<Upload>,
}

/// A file whose bytes are sent.
#[derive(Clone, Debug, Default)]
pub struct Upload {
    /// As far as they have arrived.
    pub bytes: Vec<u8>,
    /// Whether all of them are in the container.
    pub is_complete: bool,
}

/// How a container stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// `IN_PROGRESS`
    Working,
    /// `FINISHED`
    Ready,
    /// `ERROR`, with the platform's words.
    Failed(String),
    /// `EXPIRED`
    Expired,
    /// `PUBLISHED`
    Public,
}

impl State {
    /// Its name in answers.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Working => "IN_PROGRESS",
            Self::Ready => "FINISHED",
            Self::Failed(_) => "ERROR",
            Self::Expired => "EXPIRED",
            Self::Public => "PUBLISHED",
        }
    }
}

impl<T> Container<T> {
    /// How it stands.
    pub fn state(&self, now: DateTime<Utc>) -> State {
        match &self.fault {
            _ if self.is_public => State::Public,
            _ if self.made_at + LIVES <= now => State::Expired,
            _ if now < self.worked_until || self.upload.as_ref().is_some_and(|it| !it.is_complete) => State::Working,
            Some(message) => State::Failed(message.clone()),
            None => State::Ready,
        }
    }

    /// What has arrived of a file whose bytes are sent.
    pub const fn upload(&self) -> Option<&Upload> {
        self.upload.as_ref()
    }

    /// Like `upload`, to append bytes.
    pub const fn upload_mut(&mut self) -> Option<&mut Upload> {
        self.upload.as_mut()
    }

    /// All bytes are there: this is in it, on which the work takes so long, and fails in the
    /// end where there is a `fault`.
    pub fn uploaded(&mut self, content: T, processing_time: TimeDelta, failure: Option<String>, now: DateTime<Utc>) {
        self.content = content;
        self.worked_until = now + processing_time;
        self.fault = failure;
        if let Some(upload) = &mut self.upload {
            upload.is_complete = true;
        }
    }
}

/// All containers of a platform.
#[derive(Debug)]
pub struct Containers<T>(BTreeMap<String, Container<T>>);

impl<T> Default for Containers<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> Containers<T> {
    /// A new one, on which the work takes so long, and fails in the end where there is a
    /// `fault`. Returns its id.
    pub fn make(
        &mut self,
        ids: &mut Ids,
        content: T,
        processing_time: TimeDelta,
        failure: Option<String>,
        now: DateTime<Utc>,
    ) -> String {
        let id = ids.fresh();
        let worked_until = now + processing_time;
        let container =
            Container { content, made_at: now, worked_until, fault: failure, is_public: false, upload: None };
        self.0.insert(id.clone(), container);
        id
    }

    /// A new one that waits for the bytes of its file. Returns its id.
    pub fn await_upload(&mut self, ids: &mut Ids, content: T, now: DateTime<Utc>) -> String {
        let id = self.make(ids, content, TimeDelta::zero(), None, now);
        if let Some(container) = self.0.get_mut(&id) {
            container.upload = Some(Upload::default());
        }
        id
    }

    pub fn get(&self, id: &str) -> Option<&Container<T>> {
        self.0.get(id)
    }

    /// One of them, to add to it.
    pub fn get_mut(&mut self, id: &str) -> Option<&mut Container<T>> {
        self.0.get_mut(id)
    }

    /// How many were made and are known.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// How many were made since then.
    pub fn count_since(&self, since: DateTime<Utc>) -> usize {
        self.0.values().filter(|it| since < it.made_at).count()
    }

    /// Publishes one that is ready; else how it stands. `None` where there is none.
    pub fn publish(&mut self, id: &str, now: DateTime<Utc>) -> Option<Result<&T, State>> {
        let container = self.0.get_mut(id)?;
        let state = container.state(now);
        if state != State::Ready {
            return Some(Err(state));
        }
        container.is_public = true;
        Some(Ok(&container.content))
    }

    /// The work on all that are not public takes until then.
    pub fn delay_until(&mut self, until: DateTime<Utc>) {
        for container in self.0.values_mut().filter(|it| !it.is_public) {
            container.worked_until = until;
        }
    }

    /// All that are not public come to nothing, with these words.
    pub fn fail(&mut self, message: &str) {
        for container in self.0.values_mut().filter(|it| !it.is_public) {
            container.fault = Some(message.to_owned());
        }
    }

    /// Forgets all that are not public.
    pub fn forget(&mut self) {
        self.0.retain(|_, it| it.is_public);
    }
}
