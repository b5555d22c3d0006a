//! What the inspection of one document may cost.

use super::Unreadable;

/// The most bytes that streams of one document may have together after decompression. Those of the
/// cross-references and of the page tree of a book with thousands of pages have a few megabytes.
const INFLATED_BYTES: usize = 64 << 20;

/// The most bytes of objects that are parsed. An object may be parsed several times.
const PARSED_BYTES: usize = 256 << 20;

/// The most entries of cross-reference tables and object streams together.
const ENTRIES: usize = 4_000_000;

/// The most sections of cross-references: a file has one more for each time that it was changed.
const SECTIONS: usize = 1_000;

/// The most nodes of the page tree, pages included.
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

    /// How many bytes may still be decompressed.
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
