//! Inspects PDF documents: counts their pages, and finds those that are encrypted or damaged.
//!
//! Numbers in a file are not trusted: pages are counted by walking the page tree. Only the parts of
//! a file that lead to its pages are read, each within the limits of [`budget`], so that a crafted
//! file costs a bounded amount of time and memory. A damaged file is not repaired, because a repaired
//! one may lack pages that the user expects.

mod budget;
mod cross_reference;
mod object_stream;
mod page_tree;
mod stream;
#[cfg(test)]
mod tests;
mod tokens;

use std::panic::{AssertUnwindSafe, catch_unwind};

use domain::media::DocumentFacts;

use self::budget::Budget;
use self::cross_reference::CrossReferences;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("the document is encrypted")]
    Encrypted,
    #[error("the document is damaged: {0}")]
    Damaged(&'static str),
    /// A limit of [`budget`] was reached.
    #[error("the document exceeds the limit of {0}")]
    TooComplex(&'static str),
}

pub(crate) fn inspect(bytes: &[u8]) -> DocumentFacts {
    // The parser's state is not used after a panic.
    let counted = catch_unwind(AssertUnwindSafe(|| count_pages(bytes)));
    let counted = counted.unwrap_or(Err(Unreadable::Damaged("the parser panicked")));
    match counted {
        Ok(pages) => DocumentFacts::Readable { pages },
        Err(Unreadable::Encrypted) => DocumentFacts::Encrypted,
        Err(error) => {
            tracing::info!(%error, "document could not be read");
            DocumentFacts::Damaged
        }
    }
}

fn count_pages(bytes: &[u8]) -> Result<u32, Unreadable> {
    if !bytes.starts_with(b"%PDF-") {
        return Err(Unreadable::Damaged("no header"));
    }
    let mut budget = Budget::new();
    let references = CrossReferences::read(bytes, &mut budget)?;
    if references.is_encrypted {
        return Err(Unreadable::Encrypted);
    }
    page_tree::count(bytes, &references, &mut budget)
}
