use domain::delivery::Delivery;
use domain::id::{PostId, TargetId};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reference {
    pub(crate) post: PostId,
    pub(crate) target: TargetId,
    pub(crate) revision: u64,
    pub(crate) segment: usize,
}

impl Reference {
    pub(crate) fn from_delivery(delivery: &Delivery) -> Self {
        Self {
            post: delivery.post_id,
            target: delivery.target_id,
            revision: delivery.revision,
            segment: delivery.current_segment(),
        }
    }

    /// Parses `post-target-revision-segment`.
    pub(crate) fn read(text: &str) -> Self {
        let mut parts = text.split('-');
        let mut next = || parts.next().unwrap_or_else(|| panic!("a reference {text}"));
        Self {
            post: PostId::parse(next()).expect("a post's id"),
            target: TargetId::parse(next()).expect("a target's id"),
            revision: next().parse().expect("a revision"),
            segment: next().parse().expect("an index"),
        }
    }
}
