use std::ops::Range;

use crate::bluesky::names::Handle;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::bluesky) struct Facet {
    /// In bytes.
    pub(in crate::bluesky) range: Range<usize>,
    pub(in crate::bluesky) leads_to: Feature,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::bluesky) enum Feature {
    /// A URL with its scheme.
    Link(String),
    Mention(Handle),
    /// A tag without its `#`, or a cashtag with its `$`.
    Tag(String),
}
