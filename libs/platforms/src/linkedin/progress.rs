//! What preparation has reached.

use serde::{Deserialize, Serialize};

use super::article::Article;
use super::video::Video;
use crate::job::Job;
use crate::picture::Awaited;
use crate::recognition::Before;

/// What preparation has reached. Stored between the steps, so that a step which is
/// taken again after a crash uploads one file twice, not all of them.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Progress {
    /// The names of the files that are ready, in the order of the post.
    #[serde(default)]
    pub(super) files: Vec<String>,
    /// The picture that is being made to fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) picture: Option<Awaited>,
    /// The video that goes up, or is worked on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) video: Option<Video>,
    /// Whether it was looked for a card.
    #[serde(default)]
    pub(super) is_card_read: bool,
    /// The card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) article: Option<Article>,
    /// What the page showed after all files were uploaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<Before>,
}

impl Progress {
    pub(super) fn of(job: &Job<'_>) -> Self {
        job.reached()
    }

    pub(super) fn store(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
