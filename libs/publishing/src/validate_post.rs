//! Saying what would become of a post, and keeping nothing of it.

use domain::id::UserId;
use domain::post::Post;
use domain::rules::Rule;
use std::collections::BTreeSet;

use crate::create_post::{CreatePost, NotCreated};
use crate::{Publishing, PublishingError};

/// What would become of a post.
#[derive(Debug)]
pub enum Validated {
    /// It would be scheduled; what its user may want to mend before.
    Fine(Vec<Warning>),
    /// It would be refused like this.
    Refused(NotCreated),
}

/// Something that no platform refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Where in the request.
    pub field: String,
    /// What, in words for the user.
    pub message: String,
}

impl Publishing {
    /// What would become of this request if it were scheduled; without a time,
    /// as if it were for now.
    pub async fn validate_post(&self, user: UserId, request: CreatePost) -> Result<Validated, PublishingError> {
        let now = self.clock.now();
        let request = CreatePost { scheduled_at: request.scheduled_at.or(Some(now)), key: None, ..request };
        let connections: BTreeSet<_> = request.targets.iter().map(|it| it.connection_id).collect();
        let media: BTreeSet<_> = request.media.iter().map(|it| it.path.media()).collect();
        let around = self.store.surroundings(user, connections, media, None, now).await?;
        let post = match self.new_post(&request, &around, now).await? {
            Ok(post) => post,
            Err(refusal) => return Ok(Validated::Refused(refusal)),
        };
        let describes = |rule: &Rule| matches!(rule, Rule::MaxAltText { .. });
        let titles = around.accounts.values().filter(|it| it.rules.rules.iter().any(describes));
        let titles: BTreeSet<_> = titles.map(|it| it.rules.title.as_str()).collect();
        Ok(Validated::Fine(not_described(&post, &titles)))
    }
}

/// The files without an alternative text, where somebody could read one.
fn not_described(post: &Post, titles: &BTreeSet<&str>) -> Vec<Warning> {
    if titles.is_empty() {
        return Vec::new();
    }
    let titles = titles.iter().copied().collect::<Vec<_>>().join(", ");
    let missing = post.media.iter().enumerate().filter(|(_, it)| it.alt_text.is_none());
    missing
        .map(|(index, _)| Warning {
            field: format!("media.{index}.alt_text"),
            message: format!("is missing: whoever does not see the file is not told on {titles} what it shows"),
        })
        .collect()
}
