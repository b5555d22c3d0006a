//! The reference of a post in calls to a platform.

use domain::delivery::Delivery;
use domain::id::{PostId, TargetId};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reference {
    pub(crate) post: PostId,
    pub(crate) target: TargetId,
    pub(crate) revision: u64,
}

impl Reference {
    /// The reference in a delivery's calls.
    pub(crate) fn from_delivery(delivery: &Delivery) -> Self {
        Self { post: delivery.post_id, target: delivery.target_id, revision: delivery.revision }
    }

    /// Parses `post-target-revision`.
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
