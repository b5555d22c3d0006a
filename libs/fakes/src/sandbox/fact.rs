//! The events of the sandbox: the lines of its journal. Its tokens open nothing but the sandbox, so
//! they are stored as they are.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use domain::options::Options;
use serde::{Deserialize, Serialize};

use super::accounts::Account;
use crate::fake::oauth::{Code, Grant};

#[derive(Debug, Deserialize, Serialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub(super) enum Fact {
    /// The user pressed Allow, and the client received a code.
    Allowed { code: Code },
    /// The grant at this index is new, or has changed.
    Granted { index: usize, grant: Grant },
    /// A file was stored.
    Uploaded { id: String, medium: Medium },
    /// A post became public.
    Posted(Post),
    /// A comment was added to a post.
    Commented(Comment),
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Medium {
    pub(super) account: Account,
    pub(super) mime_type: String,
    /// Posts can use the file from then on; `None` for immediately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ready_at: Option<DateTime<Utc>>,
}

impl Medium {
    /// `None` if posts can use the file.
    pub(super) fn processing_time_left(&self, now: DateTime<Utc>) -> Option<TimeDelta> {
        self.ready_at.map(|it| it - now).filter(|it| TimeDelta::zero() < *it)
    }
}

/// The id is the position among all posts, from 1.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Post {
    pub(super) account: Account,
    pub(super) text: String,
    pub(super) media: Vec<String>,
    /// By file id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) alt_texts: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Options::is_empty")]
    pub(super) options: Options,
    pub(super) reference: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reply_to: Option<usize>,
    pub(super) at: DateTime<Utc>,
}

/// The id is [`Comment::id`] of the position among all comments, from 1.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Comment {
    pub(super) post: usize,
    pub(super) account: Account,
    pub(super) text: String,
    #[serde(default)]
    pub(super) reference: String,
    pub(super) at: DateTime<Utc>,
}

impl Comment {
    /// Different from the ids of posts.
    pub(super) fn id(position: usize) -> String {
        format!("c{position}")
    }
}
