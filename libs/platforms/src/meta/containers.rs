//! Posts in two steps: containers, and the call that publishes one.
//!
//! Facts (fact sheets of Instagram and Threads):
//!
//! - Creating a container makes nothing public, and may be repeated: 400 times a day on Instagram.
//! - Meta fetches its file and processes it. The status of a container can be read.
//! - It expires after a day, and is published once.

mod container_status;
mod listing;
mod making;
mod publishing;
mod quota;

use chrono::{DateTime, TimeDelta, Utc};
use domain::media::{Attachment, PictureBounds};
use serde::{Deserialize, Serialize};
use url::Url;

pub(crate) use self::making::prepare;
pub(crate) use self::publishing::{publish, resolve};
use super::graph::Graph;
use super::id::GraphId;
use crate::picture::PendingPicture;
use crate::publish_request::PublishRequest;

/// Meta discards a container after a day.
const GOOD_FOR: TimeDelta = TimeDelta::hours(22);

pub(crate) trait Containers: Send + Sync {
    fn graph(&self) -> &Graph;

    fn calls(&self) -> Calls;

    fn fields(&self, request: &PublishRequest<'_>, form: Form<'_>) -> Vec<(&'static str, String)>;

    /// The bounds of a fitted picture; `None` if Meta fetches the original.
    fn bounds(&self, request: &PublishRequest<'_>, file: &Attachment) -> Option<PictureBounds>;

    /// Whether the bytes of the file are sent to Meta. Otherwise Meta fetches it.
    fn sends_bytes(&self, file: &Attachment) -> bool {
        let _ = file;
        false
    }

    /// The list in which the post appears, by its name below the account's id.
    fn list(&self, request: &PublishRequest<'_>) -> &'static str {
        let _ = request;
        self.calls().media
    }

    /// Whether the container of a reply names the post before it. Then it is created once that is
    /// public, and the reply is in the list of that post.
    fn has_replies(&self) -> bool {
        false
    }

    /// The text of the post, as the list shows it.
    fn caption<'a>(&self, request: &PublishRequest<'a>) -> &'a str {
        request.text
    }
}

/// Names of calls below the id of an account.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calls {
    /// Creates a container; and lists the published posts of the account.
    pub(crate) media: &'static str,
    pub(crate) publish: &'static str,
    /// Reads the publishing quota.
    pub(crate) limit: &'static str,
    /// The fields with the status of a container.
    pub(crate) status: &'static str,
    /// The fields of a listed post.
    pub(crate) listed: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Form<'a> {
    Text,
    /// A post with one file at this URL; without a URL, its bytes are sent.
    Single(&'a Attachment, Option<&'a str>),
    Item(&'a Attachment, Option<&'a str>),
    /// A post of several files, by their containers.
    Carousel(&'a [GraphId]),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Progress {
    /// Whether the quota was checked.
    may_publish: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<PendingPicture>,
    /// The containers of a carousel's files, in the order of the post.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    items: Vec<CreatedContainer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    whole: Option<CreatedContainer>,
    /// How many containers failed because Meta could not fetch a file.
    unfetched: u32,
    /// How many failed for other temporary reasons.
    lost: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pause: Option<Pause>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Pause {
    #[serde(with = "chrono::serde::ts_milliseconds")]
    until: DateTime<Utc>,
    why: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct CreatedContainer {
    id: GraphId,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    at: DateTime<Utc>,
    #[serde(default)]
    is_ready: bool,
    /// Where the bytes of its file are sent, until all have arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    upload_url: Option<Url>,
}

impl Progress {
    fn stored(request: &PublishRequest<'_>) -> Self {
        request.progress.and_then(|it| serde_json::from_str(it).ok()).unwrap_or_default()
    }

    /// The stored progress, without containers that are too old.
    fn current(request: &PublishRequest<'_>) -> Self {
        let progress = Self::stored(request);
        let oldest = progress.items.iter().chain(&progress.whole).map(|it| it.at).min();
        if oldest.is_none_or(|it| request.now <= it + GOOD_FOR) {
            return progress;
        }
        let Self { unfetched, lost, pause, .. } = progress;
        Self { unfetched, lost, pause, ..Self::default() }
    }

    fn store(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
