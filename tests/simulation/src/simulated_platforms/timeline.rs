//! The public posts on the platforms, and every call to the platforms. The invariants compare them
//! with the store's journal.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use domain::delivery::Published;
use domain::id::{PostId, TargetId};

use super::reference::Reference;
use super::spec::{DAY, LookUpSupport, QUOTA};
use super::uploads::Progress;

#[derive(Clone, Debug)]
pub(crate) struct Public {
    pub(crate) reference: Reference,
    pub(crate) named: Option<Progress>,
    pub(crate) account: String,
    pub(crate) text: String,
    pub(crate) id: String,
    pub(crate) parent: Option<String>,
    pub(crate) begun_at: DateTime<Utc>,
    /// When it became public, or was given to a person.
    pub(crate) at: DateTime<Utc>,
    pub(crate) hand_over: Option<HandOver>,
    pub(crate) removed_at: Option<DateTime<Utc>>,
}

/// `None` for never.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HandOver(pub(crate) Option<DateTime<Utc>>);

impl Public {
    pub(crate) fn response(&self, now: DateTime<Utc>) -> Published {
        let published = Published::new(self.id.clone(), self.at);
        let is_finished = |it: HandOver| it.0.is_some_and(|at| at <= now);
        if self.hand_over.is_none_or(is_finished) { published } else { published.handed_over() }
    }

    /// Whether the platform ever showed it in this way: in the hands of a person, or public.
    pub(crate) fn was_shown(&self, handed_over: bool) -> bool {
        if handed_over { self.hand_over.is_some() } else { self.hand_over.is_none_or(|it| it.0.is_some()) }
    }
}

/// On an account whose posts can only be distinguished by comparing them.
#[derive(Clone, Debug)]
pub(crate) struct ListedPost {
    pub(crate) id: String,
    pub(crate) account: String,
    /// With another text than ours.
    pub(crate) by_hand: bool,
    pub(crate) parent: Option<String>,
    pub(crate) at: DateTime<Utc>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct StartedCall {
    pub(crate) reference: Reference,
    pub(crate) at: DateTime<Utc>,
}

#[derive(Clone, Debug)]
pub(crate) struct PublicFollowUp {
    pub(crate) reference: Reference,
    pub(crate) name: String,
    pub(crate) at: DateTime<Utc>,
}

#[derive(Debug, Default)]
pub(crate) struct Timeline {
    pub(crate) public: Vec<Public>,
    pub(crate) begun: Vec<StartedCall>,
    pub(crate) paid: Vec<Reference>,
    pub(crate) not_before: BTreeMap<Reference, DateTime<Utc>>,
    pub(crate) duplicates: Vec<Reference>,
    pub(crate) followers: Vec<PublicFollowUp>,
    pub(crate) refused: BTreeSet<Reference>,
    /// Invalid calls by the service: two concurrent calls for the same target, or a publish call
    /// before its preparation.
    pub(crate) mistakes: Vec<(Reference, String)>,
    /// The posts of accounts whose posts are recognized by comparing them, oldest first.
    pub(crate) shown: Vec<ListedPost>,
    under_way: BTreeSet<Reference>,
}

impl Timeline {
    /// No other call for the target may be in progress.
    pub(crate) fn enter(&mut self, reference: Reference) {
        if !self.under_way.insert(reference) {
            self.mistakes.push((reference, "two calls at the same time".to_owned()));
        }
    }

    /// Also when its process has died.
    pub(crate) fn leave(&mut self, reference: Reference) {
        self.under_way.remove(&reference);
    }

    /// Returns the first post if the platform knows the idempotency key.
    pub(crate) fn publish(&mut self, public: Public, certainty: LookUpSupport) -> Public {
        // Another draft or container is another post, even for the same target.
        let is_same = |it: &Public| {
            it.reference == public.reference && (!certainty.is_of_what_was_prepared() || it.named == public.named)
        };
        if let Some(lifetime) = certainty.key_lasts()
            && let Some(first) = self.public.iter().find(|it| is_same(it) && public.at - it.at < lifetime)
        {
            return first.clone();
        }
        if certainty == LookUpSupport::Recognized {
            let id = self.show(&public.account, false, public.parent.clone(), public.at);
            let public = Public { id, ..public };
            self.public.push(public.clone());
            return public;
        }
        self.public.push(public.clone());
        public
    }

    pub(crate) fn follow(&mut self, reference: Reference, id: &str, name: String, at: DateTime<Utc>) {
        // The post may be of an earlier revision, after which the rest of its thread was published.
        let is_of_target = |it: &Reference| (it.post, it.target, it.segment) == (reference.post, reference.target, 0);
        if !self.public.iter().any(|it| is_of_target(&it.reference) && it.id == id && it.at <= at) {
            self.mistakes.push((reference, format!("{name} follows {id}, which is not there")));
        }
        self.followers.push(PublicFollowUp { reference, name, at });
    }

    pub(crate) fn remove(&mut self, post: PostId, target: TargetId, at: DateTime<Utc>) {
        let is_of_target = |it: &Reference| (it.post, it.target) == (post, target);
        for public in self.public.iter_mut().filter(|it| is_of_target(&it.reference)) {
            public.removed_at.get_or_insert(at);
        }
    }

    /// Returns the id of the post.
    pub(crate) fn show(&mut self, account: &str, by_hand: bool, parent: Option<String>, at: DateTime<Utc>) -> String {
        let id = format!("s{}", self.shown.len());
        self.shown.push(ListedPost { id: id.clone(), account: account.to_owned(), by_hand, parent, at });
        id
    }

    /// Newest first, without the posts up to `after`.
    pub(crate) fn page(&self, account: &str, after: Option<&str>, length: usize) -> Vec<ListedPost> {
        let newest_first = self.shown.iter().rev().filter(|it| it.account == account);
        let older = newest_first.skip_while(|it| after.is_some_and(|after| it.id != after));
        older.skip(usize::from(after.is_some())).take(length).cloned().collect()
    }

    /// Assigns each public post to the target that claims its id. If several posts look alike and
    /// their responses were lost, the service may mistake one target's post for another's, and then
    /// sends the other target again. The difference is invisible, and the result is correct as long
    /// as each target has one post. `holders` lists which target of which revision claims which id,
    /// and its text.
    pub(crate) fn assign_by_claims(&mut self, holders: &[(Reference, String, String)]) {
        for (reference, id, text) in holders {
            let Some(claimed) = self.public.iter_mut().find(|it| it.id == *id) else { continue };
            let holder = |it: &Reference| (it.post, it.target, it.segment);
            if holder(&claimed.reference) != holder(reference) {
                claimed.reference = *reference;
                claimed.text.clone_from(text);
            }
        }
    }

    /// `None` if the account may publish now.
    pub(crate) fn opens_at(&self, account: &str, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let mut counted: Vec<_> = self.public.iter().filter(|it| it.account == account).map(|it| it.at + DAY).collect();
        counted.retain(|it| now < *it);
        counted.sort_unstable();
        let first_of_the_last = counted.len().checked_sub(QUOTA)?;
        counted.get(first_of_the_last).copied()
    }

    pub(crate) fn find(&self, reference: Reference) -> Option<&Public> {
        self.public.iter().find(|it| it.reference == reference)
    }
}
