//! The posts that a platform has accepted, and the results of their reviews.

use super::reference::Reference;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pending,
    Wanted,
    Refused,
}

/// Every accepted post, by its number.
#[derive(Debug, Default)]
pub(crate) struct Reviews(Vec<(Reference, Verdict)>);

impl Reviews {
    /// Accepts a post; returns its number.
    pub(crate) fn begin(&mut self, reference: Reference) -> usize {
        self.0.push((reference, Verdict::Pending));
        self.0.len() - 1
    }

    /// Ends the review.
    pub(crate) fn end(&mut self, number: usize, is_wanted: bool) {
        self.0[number].1 = if is_wanted { Verdict::Wanted } else { Verdict::Refused };
    }

    /// The latest result for posts with this reference.
    pub(crate) fn find(&self, reference: Reference) -> Option<Verdict> {
        self.0.iter().rev().find(|it| it.0 == reference).map(|it| it.1)
    }
}
