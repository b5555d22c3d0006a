//! One part of a text that leads somewhere.

use std::ops::Range;

use crate::bluesky::names::Handle;

/// A part of a text that leads somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::bluesky) struct Facet {
    /// In bytes.
    pub(in crate::bluesky) range: Range<usize>,
    pub(in crate::bluesky) leads_to: LeadsTo,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::bluesky) enum LeadsTo {
    /// A page, with its scheme.
    Link(String),
    /// Somebody.
    Mention(Handle),
    /// Posts with the same tag, which is without its `#` and with its `$`.
    Tag(String),
}
