//! Saying what would become of a post, and keeping nothing of it.

use domain::id::UserId;
use domain::post::{Accounts, Post, Target};
use domain::rules::Rule;
use std::collections::BTreeSet;

use crate::attachments::ids;
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
        let around = self.store.surroundings(user, connections, ids(&request.files()), None, now).await?;
        let post = match self.new_post(&request, &around, now).await? {
            Ok(post) => post,
            Err(refusal) => return Ok(Validated::Refused(refusal)),
        };
        Ok(Validated::Fine(not_described(&post, &request, &around.accounts)))
    }
}

/// The files without an alternative text, where somebody could read one.
fn not_described(post: &Post, request: &CreatePost, accounts: &Accounts) -> Vec<Warning> {
    let readers = |of: &dyn Fn(&Target) -> bool| {
        let used = post.targets.iter().filter(|it| of(it)).filter_map(|it| accounts.get(&it.connection_id));
        let readers = used.filter(|it| it.rules.rules.iter().any(|it| matches!(it, Rule::MaxAltText { .. })));
        readers.map(|it| it.rules.title.as_str()).collect::<BTreeSet<_>>()
    };
    let common = (&request.media, readers(&|it| it.media.is_none()));
    let own = request
        .targets
        .iter()
        .filter_map(|it| Some((it.media.as_ref()?, readers(&|target| target.connection_id == it.connection_id))));
    let lists = std::iter::once(common).chain(own).filter(|(_, readers)| !readers.is_empty());
    let missing = lists.flat_map(|(files, readers)| {
        let readers = readers.into_iter().collect::<Vec<_>>().join(", ");
        let missing = files.iter().filter(|it| it.alt_text.is_none());
        missing.map(move |it| Warning {
            field: format!("{}.alt_text", it.field),
            message: format!("is missing: whoever does not see the file is not told on {readers} what it shows"),
        })
    });
    missing.collect()
}
