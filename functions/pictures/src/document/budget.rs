//! What the inspection of one document may cost.

use super::Unreadable;

/// Limit for all streams together, after decompression. The streams of cross-references and of the
/// page tree of a book with thousands of pages have a few megabytes.
const INFLATED_BYTES: usize = 64 << 20;

/// An object may be parsed several times.
const PARSED_BYTES: usize = 256 << 20;

/// Limit for cross-reference tables and object streams together.
const ENTRIES: usize = 4_000_000;

/// A file has one more section each time that it is changed.
const SECTIONS: usize = 1_000;

/// Includes pages.
const NODES: usize = 200_000;

pub(super) struct Budget {
    inflated_bytes: usize,
    parsed_bytes: usize,
    entries: usize,
    sections: usize,
    nodes: usize,
}

impl Budget {
    pub(super) const fn new() -> Self {
        Self {
            inflated_bytes: INFLATED_BYTES,
            parsed_bytes: PARSED_BYTES,
            entries: ENTRIES,
            sections: SECTIONS,
            nodes: NODES,
        }
    }

    pub(super) const fn left_to_inflate(&self) -> usize {
        self.inflated_bytes
    }

    pub(super) fn inflated(&mut self, bytes: usize) -> Result<(), Unreadable> {
        spend(&mut self.inflated_bytes, bytes, "decompressed bytes")
    }

    pub(super) fn parsed(&mut self, bytes: usize) -> Result<(), Unreadable> {
        spend(&mut self.parsed_bytes, bytes, "parsed bytes")
    }

    pub(super) fn entries(&mut self, count: usize) -> Result<(), Unreadable> {
        spend(&mut self.entries, count, "cross-references")
    }

    pub(super) fn section(&mut self) -> Result<(), Unreadable> {
        spend(&mut self.sections, 1, "cross-reference sections")
    }

    pub(super) fn node(&mut self) -> Result<(), Unreadable> {
        spend(&mut self.nodes, 1, "nodes of the page tree")
    }
}

fn spend(left: &mut usize, amount: usize, limit: &'static str) -> Result<(), Unreadable> {
    *left = left.checked_sub(amount).ok_or(Unreadable::TooComplex(limit))?;
    Ok(())
}
