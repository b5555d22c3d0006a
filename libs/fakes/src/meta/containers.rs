//! Containers: posts that are created, processed for a while, valid for a day, and published once.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

use super::Ids;

/// How long a container is valid.
pub const LIVES: TimeDelta = TimeDelta::hours(24);

/// The default processing times of a text, a picture and a video.
pub const WORK: [TimeDelta; 3] = [TimeDelta::seconds(1), TimeDelta::seconds(5), TimeDelta::seconds(40)];

#[derive(Clone, Debug)]
pub struct Container<T> {
    pub content: T,
    made_at: DateTime<Utc>,
    /// When the processing ends.
    worked_until: DateTime<Utc>,
    /// The platform's error message if the processing fails.
    fault: Option<String>,
    is_public: bool,
    /// The bytes that have arrived of an uploaded file; `None` where Meta fetches the file.
    upload: Option<Upload>,
}

/// A file whose bytes the app uploads.
#[derive(Clone, Debug, Default)]
pub struct Upload {
    pub bytes: Vec<u8>,
    pub is_complete: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// `IN_PROGRESS`
    Working,
    /// `FINISHED`
    Ready,
    /// `ERROR`, with the platform's message.
    Failed(String),
    /// `EXPIRED`
    Expired,
    /// `PUBLISHED`
    Public,
}

impl State {
    /// The status code in responses.
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
    pub fn state(&self, now: DateTime<Utc>) -> State {
        match &self.fault {
            _ if self.is_public => State::Public,
            _ if self.made_at + LIVES <= now => State::Expired,
            _ if now < self.worked_until || self.upload.as_ref().is_some_and(|it| !it.is_complete) => State::Working,
            Some(message) => State::Failed(message.clone()),
            None => State::Ready,
        }
    }

    pub const fn upload(&self) -> Option<&Upload> {
        self.upload.as_ref()
    }

    pub const fn upload_mut(&mut self) -> Option<&mut Upload> {
        self.upload.as_mut()
    }

    /// Completes the upload: sets the content and the processing time. With `failure`, the
    /// processing fails.
    pub fn uploaded(&mut self, content: T, processing_time: TimeDelta, failure: Option<String>, now: DateTime<Utc>) {
        self.content = content;
        self.worked_until = now + processing_time;
        self.fault = failure;
        if let Some(upload) = &mut self.upload {
            upload.is_complete = true;
        }
    }
}

#[derive(Debug)]
pub struct Containers<T>(BTreeMap<String, Container<T>>);

impl<T> Default for Containers<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> Containers<T> {
    /// Adds a container with this processing time. With `failure`, the processing fails. Returns
    /// the id.
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

    /// Adds a container that waits for the bytes of its file. Returns the id.
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

    pub fn get_mut(&mut self, id: &str) -> Option<&mut Container<T>> {
        self.0.get_mut(id)
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    pub fn count_since(&self, since: DateTime<Utc>) -> usize {
        self.0.values().filter(|it| since < it.made_at).count()
    }

    /// Publishes a container that is ready; otherwise returns its state. `None` if there is no
    /// container with this id.
    pub fn publish(&mut self, id: &str, now: DateTime<Utc>) -> Option<Result<&T, State>> {
        let container = self.0.get_mut(id)?;
        let state = container.state(now);
        if state != State::Ready {
            return Some(Err(state));
        }
        container.is_public = true;
        Some(Ok(&container.content))
    }

    /// Fails all containers that are not published, with this message.
    pub fn fail(&mut self, message: &str) {
        for container in self.0.values_mut().filter(|it| !it.is_public) {
            container.fault = Some(message.to_owned());
        }
    }

    /// Forgets all containers that are not published.
    pub fn forget(&mut self) {
        self.0.retain(|_, it| it.is_public);
    }
}
