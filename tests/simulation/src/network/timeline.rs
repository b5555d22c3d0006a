//! What is public on the platforms, and every call that was made to them. A run
//! is judged by comparing this with the store's journal.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use super::reference::Reference;
use super::spec::{Certainty, DAY, QUOTA};
use super::uploads::Progress;

/// Something that became public.
#[derive(Clone, Debug)]
pub(crate) struct Public {
    pub(crate) reference: Reference,
    /// What was prepared for it.
    pub(crate) named: Option<Progress>,
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

/// A post on an account where posts can only be told apart by their looks.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    /// The platform's id of it.
    pub(crate) id: String,
    pub(crate) account: String,
    /// Whether the account's owner published it by hand, with other words than
    /// ours.
    pub(crate) by_hand: bool,
    pub(crate) at: DateTime<Utc>,
}

/// A public call as it was begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    pub(crate) reference: Reference,
    pub(crate) at: DateTime<Utc>,
}

/// Something that followed a public post.
#[derive(Clone, Debug)]
pub(crate) struct Follower {
    pub(crate) reference: Reference,
    pub(crate) name: String,
    pub(crate) at: DateTime<Utc>,
}

/// What is public, and what was asked.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    pub(crate) public: Vec<Public>,
    pub(crate) begun: Vec<Begun>,
    /// Questions about public posts that a platform has answered, and charged for.
    pub(crate) paid: Vec<Reference>,
    /// Before when an account's post is not to be sent again, as its platform has said.
    pub(crate) not_before: BTreeMap<Reference, DateTime<Utc>>,
    /// Calls that a platform has refused because it had the post.
    pub(crate) duplicates: Vec<Reference>,
    /// What followed public posts.
    pub(crate) followers: Vec<Follower>,
    /// Posts that a platform has refused for good.
    pub(crate) refused: BTreeSet<Reference>,
    /// Wrong calls by the service: two calls at once for the same target, or a
    /// public call before its preparation.
    pub(crate) mistakes: Vec<(Reference, String)>,
    /// The posts of accounts where posts are known by their looks, oldest
    /// first.
    pub(crate) shown: Vec<Shown>,
    /// Calls under way.
    under_way: BTreeSet<Reference>,
}

impl Timeline {
    /// A call for a target begins; no other one for it may be under way.
    pub(crate) fn enter(&mut self, reference: Reference) {
        if !self.under_way.insert(reference) {
            self.mistakes.push((reference, "two calls at the same time".to_owned()));
        }
    }

    /// The call has ended, or its process has died.
    pub(crate) fn leave(&mut self, reference: Reference) {
        self.under_way.remove(&reference);
    }

    /// Makes a post public and returns it. When the platform knows its
    /// idempotency key, it returns the first post instead.
    pub(crate) fn publish(&mut self, public: Public, certainty: Certainty) -> Public {
        // Another draft or container is another post, whoever it is for.
        let is_it = |it: &Public| {
            it.reference == public.reference && (!certainty.is_of_what_was_prepared() || it.named == public.named)
        };
        if let Some(lasts) = certainty.key_lasts()
            && let Some(first) = self.public.iter().find(|it| is_it(it) && public.at - it.at < lasts)
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

    /// Something follows the post with this id.
    pub(crate) fn follow(&mut self, reference: Reference, id: &str, name: String, at: DateTime<Utc>) {
        if !self.public.iter().any(|it| it.reference == reference && it.id == id && it.at <= at) {
            self.mistakes.push((reference, format!("{name} follows {id}, which is not there")));
        }
        self.followers.push(Follower { reference, name, at });
    }

    /// Puts a post on an account and returns its id.
    pub(crate) fn show(&mut self, account: &str, by_hand: bool, at: DateTime<Utc>) -> String {
        let id = format!("s{}", self.shown.len());
        self.shown.push(Shown { id: id.clone(), account: account.to_owned(), by_hand, at });
        id
    }

    /// A page of an account's posts, newest first, beginning after this one.
    pub(crate) fn page(&self, account: &str, after: Option<&str>, length: usize) -> Vec<Shown> {
        let newest_first = self.shown.iter().rev().filter(|it| it.account == account);
        let older = newest_first.skip_while(|it| after.is_some_and(|after| it.id != after));
        older.skip(usize::from(after.is_some())).take(length).cloned().collect()
    }

    /// Gives each public post to the target that holds its id. When several
    /// posts look the same and their answers were lost, the service may take
    /// one target's post for another's, and then sends the other one again.
    /// Nobody can tell the difference, and nothing is wrong as long as each
    /// target has one post. `holders` says which target of which revision holds
    /// which id, and its text.
    pub(crate) fn give_each_its_own(&mut self, holders: &[(Reference, String, String)]) {
        for (reference, id, text) in holders {
            let Some(held) = self.public.iter_mut().find(|it| it.id == *id) else { continue };
            if (held.reference.post, held.reference.target) != (reference.post, reference.target) {
                held.reference = *reference;
                held.text.clone_from(text);
            }
        }
    }

    /// When an account that has published as much as it may may publish again; `None` when
    /// that is now.
    pub(crate) fn opens_at(&self, account: &str, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let mut counted: Vec<_> = self.public.iter().filter(|it| it.account == account).map(|it| it.at + DAY).collect();
        counted.retain(|it| now < *it);
        counted.sort_unstable();
        let first_of_the_last = counted.len().checked_sub(QUOTA)?;
        counted.get(first_of_the_last).copied()
    }

    /// The public post with this reference.
    pub(crate) fn find(&self, reference: Reference) -> Option<&Public> {
        self.public.iter().find(|it| it.reference == reference)
    }
}
