//! What a platform has taken, and what it then said of it.

use super::reference::Reference;

/// What it says of a post that it has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pending,
    Wanted,
    Refused,
}

/// Every post that was taken, by its number.
#[derive(Debug, Default)]
pub(crate) struct Reviews(Vec<(Reference, Verdict)>);

impl Reviews {
    /// A post is taken; its number.
    pub(crate) fn begin(&mut self, reference: Reference) -> usize {
        self.0.push((reference, Verdict::Pending));
        self.0.len() - 1
    }

    /// It has been looked at.
    pub(crate) fn end(&mut self, number: usize, is_wanted: bool) {
        self.0[number].1 = if is_wanted { Verdict::Wanted } else { Verdict::Refused };
    }

    /// What was last said of what was sent with this reference.
    pub(crate) fn of(&self, reference: Reference) -> Option<Verdict> {
        self.0.iter().rev().find(|it| it.0 == reference).map(|it| it.1)
    }
}
