//! What is public on the platforms, and everything that was asked of them:
//! the other truth that a run is judged by.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use domain::id::{PostId, TargetId};

use super::spec::{Certainty, KEY_LASTS};

/// What a reference names: the post, the target and the revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reference {
    pub(crate) post: PostId,
    pub(crate) target: TargetId,
    pub(crate) revision: u64,
}

impl Reference {
    /// Reads `post-target-revision`.
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

/// Something that became public.
#[derive(Clone, Debug)]
pub(crate) struct Public {
    pub(crate) reference: Reference,
    /// Whose timeline it is on.
    pub(crate) account: String,
    pub(crate) text: String,
    /// The platform's id of it.
    pub(crate) id: String,
    /// When the call was begun.
    pub(crate) begun_at: DateTime<Utc>,
    /// When it became public.
    pub(crate) at: DateTime<Utc>,
}

/// A public call as it was begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    pub(crate) reference: Reference,
    pub(crate) at: DateTime<Utc>,
}

/// What is public, and what was asked.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    pub(crate) public: Vec<Public>,
    pub(crate) begun: Vec<Begun>,
    /// What a platform refused for good.
    pub(crate) refused: BTreeSet<Reference>,
    /// What went wrong over there that must not: two calls at once for the same
    /// target, a public call before its preparation.
    pub(crate) mistakes: Vec<(Reference, String)>,
    /// Calls under way.
    under_way: BTreeSet<Reference>,
}

impl Timeline {
    /// A call for a target begins; another one may not be under way.
    pub(crate) fn enter(&mut self, reference: Reference) {
        if !self.under_way.insert(reference) {
            self.mistakes.push((reference, "two calls at the same time".to_owned()));
        }
    }

    /// It has ended, or its process has.
    pub(crate) fn leave(&mut self, reference: Reference) {
        self.under_way.remove(&reference);
    }

    /// Makes a post public, unless the platform knows its key. What is public
    /// then.
    pub(crate) fn publish(&mut self, public: Public, certainty: Certainty) -> Public {
        let known = |it: &&Public| it.reference == public.reference && public.at - it.at < KEY_LASTS;
        if certainty == Certainty::Keyed
            && let Some(first) = self.public.iter().find(known)
        {
            return first.clone();
        }
        self.public.push(public.clone());
        public
    }

    /// The public post with this reference.
    pub(crate) fn find(&self, reference: Reference) -> Option<&Public> {
        self.public.iter().find(|it| it.reference == reference)
    }
}
