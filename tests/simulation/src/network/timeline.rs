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

/// Something on an account that is known by its looks alone.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    /// The platform's id of it.
    pub(crate) id: String,
    pub(crate) account: String,
    /// Whether the account's owner made it, in other words.
    pub(crate) by_hand: bool,
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
    /// What accounts show whose posts are known by their looks, oldest first.
    pub(crate) shown: Vec<Shown>,
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
        if certainty == Certainty::Recognised {
            let id = self.show(&public.account, false, public.at);
            let public = Public { id, ..public };
            self.public.push(public.clone());
            return public;
        }
        self.public.push(public.clone());
        public
    }

    /// Puts something on an account; its id.
    pub(crate) fn show(&mut self, account: &str, by_hand: bool, at: DateTime<Utc>) -> String {
        let id = format!("s{}", self.shown.len());
        self.shown.push(Shown { id: id.clone(), account: account.to_owned(), by_hand, at });
        id
    }

    /// What stands on an account, newest first, after this one.
    pub(crate) fn page(&self, account: &str, after: Option<&str>, length: usize) -> Vec<Shown> {
        let newest_first = self.shown.iter().rev().filter(|it| it.account == account);
        let older = newest_first.skip_while(|it| after.is_some_and(|after| it.id != after));
        older.skip(usize::from(after.is_some())).take(length).cloned().collect()
    }

    /// Of posts in doubt that look the same, each may have been given another's,
    /// whose own is then sent again: nobody can tell, and nobody is wrong as long
    /// as each has one. What is held is its holder's from here on. `holders` says
    /// which target holds which id, of which revision and with which text.
    pub(crate) fn give_each_its_own(&mut self, holders: &[(Reference, String, String)]) {
        for (reference, id, text) in holders {
            let Some(held) = self.public.iter_mut().find(|it| it.id == *id) else { continue };
            if (held.reference.post, held.reference.target) != (reference.post, reference.target) {
                held.reference = *reference;
                held.text.clone_from(text);
            }
        }
    }

    /// The public post with this reference.
    pub(crate) fn find(&self, reference: Reference) -> Option<&Public> {
        self.public.iter().find(|it| it.reference == reference)
    }
}
