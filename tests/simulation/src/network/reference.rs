//! By what a platform is told which post a call is about.

use domain::delivery::Delivery;
use domain::id::{PostId, TargetId};

/// What a reference names: the post, the target and the revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reference {
    pub(crate) post: PostId,
    pub(crate) target: TargetId,
    pub(crate) revision: u64,
}

impl Reference {
    /// What a delivery's calls name.
    pub(crate) fn of(delivery: &Delivery) -> Self {
        Self { post: delivery.post_id, target: delivery.target_id, revision: delivery.revision }
    }

    /// Reads `post-target-revision`.
    pub(crate) fn read(text: &str) -> Self {
        let mut parts = text.split('-');
        let mut next = || parts.next().unwrap_or_else(|| panic!("a reference {text}"));
        Self {
            post: PostId::parse(next()).expect("a post's id"),
            target: TargetId::parse(next()).expect("a target's id"),
            revision: next().parse().expect("a revision"),
        }
    }
}
