//! The posts that a platform reviews, before or after they become public, and the results.

use super::reference::Reference;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pending,
    Wanted,
    Refused,
}

#[derive(Debug, Default)]
pub(crate) struct Reviews(Vec<(Reference, Verdict)>);

impl Reviews {
    /// Returns the number of the review.
    pub(crate) fn begin(&mut self, reference: Reference) -> usize {
        self.0.push((reference, Verdict::Pending));
        self.0.len() - 1
    }

    pub(crate) fn end(&mut self, number: usize, is_wanted: bool) {
        self.0[number].1 = if is_wanted { Verdict::Wanted } else { Verdict::Refused };
    }

    /// `None` if the review is of another post.
    pub(crate) fn verdict(&self, number: usize, reference: Reference) -> Option<Verdict> {
        self.0.get(number).filter(|it| it.0 == reference).map(|it| it.1)
    }

    /// Latest first.
    pub(crate) fn find(&self, reference: Reference) -> Option<Verdict> {
        self.0.iter().rev().find(|it| it.0 == reference).map(|it| it.1)
    }
}
