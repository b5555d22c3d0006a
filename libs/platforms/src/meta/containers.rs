//! Posts that are made in two steps: containers, and the call that publishes one.
//!
//! Facts (fact sheets of Instagram and Threads):
//!
//! - To make a container shows nothing to anybody, and may be done as often as needed:
//!   400 times a day on Instagram.
//! - It fetches its file by itself, and is worked on. What becomes of it can be asked.
//! - It is good for a day, and is published once.

mod listing;
mod making;
mod publishing;
mod quota;
mod standing;

use chrono::{DateTime, TimeDelta, Utc};
use domain::media::{Attachment, PictureBounds};
use serde::{Deserialize, Serialize};
use url::Url;

pub(crate) use self::making::prepare;
pub(crate) use self::publishing::{publish, resolve};
use super::graph::Graph;
use super::id::GraphId;
use crate::picture::Awaited;
use crate::publish_request::PublishRequest;

/// How old a container may become before another one is made in its place. It is of no
/// use after a day.
const GOOD_FOR: TimeDelta = TimeDelta::hours(22);

/// What Instagram and Threads do in ways of their own.
pub(crate) trait Containers: Send + Sync {
    /// Its API.
    fn graph(&self) -> &Graph;

    /// The names of its calls.
    fn calls(&self) -> Calls;

    /// What a container of the job is made of.
    fn fields(&self, job: &PublishRequest<'_>, form: Form<'_>) -> Vec<(&'static str, String)>;

    /// What a picture is made to fit into; `None` where it is fetched as it is.
    fn bounds(&self, job: &PublishRequest<'_>, file: &Attachment) -> Option<PictureBounds>;

    /// Whether the bytes of a file are sent. Otherwise Meta fetches it.
    fn sends_bytes(&self, file: &Attachment) -> bool {
        let _ = file;
        false
    }

    /// The list that the post comes to, by its name below the id of the account.
    fn list(&self, job: &PublishRequest<'_>) -> &'static str {
        let _ = job;
        self.calls().media
    }

    /// What the post says, as the account's list has it.
    fn said<'a>(&self, job: &PublishRequest<'a>) -> &'a str {
        job.text
    }
}

/// Names of calls, below the id of an account.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calls {
    /// Makes a container; and lists what the account has published.
    pub(crate) media: &'static str,
    pub(crate) publish: &'static str,
    /// How much may be published.
    pub(crate) limit: &'static str,
    /// The fields that tell how a container stands.
    pub(crate) standing: &'static str,
    /// The fields of a list that tell what was published.
    pub(crate) listed: &'static str,
}

/// What a container is to be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form<'a> {
    /// A post without files.
    Text,
    /// A post with one file, at this address; without one, its bytes follow.
    Single(&'a Attachment, Option<&'a str>),
    /// A file of a post with several.
    Item(&'a Attachment, Option<&'a str>),
    /// A post with several, of these containers.
    Carousel(&'a [GraphId]),
}

/// What preparation has reached. Stored between the steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Progress {
    /// Whether it is known that the account may publish.
    may_publish: bool,
    /// The picture that is being made to fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<Awaited>,
    /// The containers of files, where there are several, in the order of the post.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    items: Vec<Made>,
    /// The container that is published.
    #[serde(skip_serializing_if = "Option::is_none")]
    whole: Option<Made>,
    /// How many containers failed because Meta could not fetch a file.
    unfetched: u32,
    /// How many failed for another reason that may pass.
    lost: u32,
    /// The pause after a container failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pause: Option<Pause>,
}

/// When the next container is made, and the reason for the pause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Pause {
    #[serde(with = "chrono::serde::ts_milliseconds")]
    until: DateTime<Utc>,
    /// For the user.
    why: String,
}

/// A container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Made {
    /// Meta's id of it.
    id: GraphId,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    at: DateTime<Utc>,
    /// Whether it is known that it can be used.
    #[serde(default)]
    is_ready: bool,
    /// Where the bytes of its file are sent, as long as some are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    upload_url: Option<Url>,
}

impl Progress {
    fn stored(job: &PublishRequest<'_>) -> Self {
        job.progress.and_then(|it| serde_json::from_str(it).ok()).unwrap_or_default()
    }

    /// The stored progress, without containers that are too old.
    fn of(job: &PublishRequest<'_>) -> Self {
        let progress = Self::stored(job);
        let oldest = progress.items.iter().chain(&progress.whole).map(|it| it.at).min();
        if oldest.is_none_or(|it| job.now <= it + GOOD_FOR) {
            return progress;
        }
        let Self { unfetched, lost, pause, .. } = progress;
        Self { unfetched, lost, pause, ..Self::default() }
    }

    fn store(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
