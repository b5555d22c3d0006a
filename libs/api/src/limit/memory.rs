//! What one process remembers within a minute, so that a flood of denied requests costs no calls of
//! the store.
//!
//! Every map is bounded. A forgotten entry costs one more call of the store.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use storage::minute_of;

use super::Budget;

/// The most entries of each map.
const MOST: usize = 10_000;

/// How long a process remembers a valid token.
const KNOWN_FOR: TimeDelta = TimeDelta::hours(1);

#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Subjects that reached their limit in this minute, for all requests or for uploads.
    over: Kept<(String, bool), Budget>,
    /// Valid tokens, by hash.
    proven: Kept<String, ()>,
    /// Rejected tokens, by hash.
    rejected: Kept<String, ()>,
    /// How many tokens unknown to this process each address sent.
    tried: Kept<String, u32>,
}

/// Which calls of the store a token justifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Worth {
    /// The request is counted for the token's user while the token is looked up.
    Count,
    /// The token is read first, and nothing is written if it is invalid: its address reached its
    /// limit, or sent too many invalid tokens.
    Read,
    /// No call: the token was rejected in this minute.
    Rejected,
}

impl Memory {
    /// The budget of a subject that is known to have reached its limit.
    pub(crate) fn over(&self, subject: &str, is_media: bool, now: DateTime<Utc>) -> Option<Budget> {
        let known = self.known();
        let of = |is_media| known.over.get(&(subject.to_owned(), is_media), now).copied();
        of(false).or_else(|| if is_media { of(true) } else { None })
    }

    /// Records that a budget is used up.
    pub(crate) fn note(&self, subject: &str, is_media: bool, budget: Budget, now: DateTime<Utc>) {
        if budget.over {
            self.known().over.put((subject.to_owned(), is_media), budget, budget.resets_at, now);
        }
    }

    /// Which calls a token from this address justifies. A token that is unknown here is counted
    /// before it is looked up: after `limit` of them in a minute, the next ones justify less. Call
    /// [`Memory::proved`] or [`Memory::rejected`] afterwards.
    pub(crate) fn worth(&self, hash: &str, address: &str, limit: u32, now: DateTime<Utc>) -> Worth {
        let mut known = self.known();
        if known.proven.get(hash, now).is_some() {
            return Worth::Count;
        }
        if known.rejected.get(hash, now).is_some() {
            return Worth::Rejected;
        }
        let tried = known.tried.get(address, now).copied().unwrap_or(0);
        let is_spent = known.over.get(&(address.to_owned(), false), now).is_some();
        if is_spent || limit <= tried {
            return Worth::Read;
        }
        known.tried.put(address.to_owned(), tried + 1, minute_of(now).1, now);
        Worth::Count
    }

    /// Records that a token is valid.
    pub(crate) fn proved(&self, hash: &str, address: &str, now: DateTime<Utc>) {
        let mut known = self.known();
        let is_new = known.proven.get(hash, now).is_none();
        known.proven.put(hash.to_owned(), (), now + KNOWN_FOR, now);
        if is_new && let Some(tried) = known.tried.get_mut(address, now) {
            *tried = tried.saturating_sub(1);
        }
    }

    /// Records that a token is invalid or no longer valid.
    pub(crate) fn rejected(&self, hash: &str, now: DateTime<Utc>) {
        let mut known = self.known();
        known.proven.0.remove(hash);
        known.rejected.put(hash.to_owned(), (), minute_of(now).1, now);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Values that are each kept until a time.
#[derive(Debug)]
struct Kept<K, V>(HashMap<K, (V, DateTime<Utc>)>);

impl<K, V> Default for Kept<K, V> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Hash + Eq, V> Kept<K, V> {
    fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q, now: DateTime<Utc>) -> Option<&V>
    where
        K: std::borrow::Borrow<Q>,
    {
        self.0.get(key).filter(|it| now < it.1).map(|it| &it.0)
    }

    fn get_mut<Q: Hash + Eq + ?Sized>(&mut self, key: &Q, now: DateTime<Utc>) -> Option<&mut V>
    where
        K: std::borrow::Borrow<Q>,
    {
        self.0.get_mut(key).filter(|it| now < it.1).map(|it| &mut it.0)
    }

    fn put(&mut self, key: K, value: V, until: DateTime<Utc>, now: DateTime<Utc>) {
        if MOST <= self.0.len() {
            self.0.retain(|_, it| now < it.1);
        }
        if MOST <= self.0.len() {
            self.0.clear();
        }
        self.0.insert(key, (value, until));
    }
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;

    use super::*;

    fn over() -> Budget {
        Budget { limit: 60, remaining: 0, over: true, resets_at: noon() + TimeDelta::minutes(1) }
    }

    #[test]
    fn exceeded_limit_is_remembered_until_the_minute_ends() {
        let memory = Memory::default();
        memory.note("a", false, over(), noon());
        memory.note("b", true, over(), noon());
        memory.note("c", false, Budget { over: false, ..over() }, noon());

        let known = |subject, is_media| memory.over(subject, is_media, noon()).is_some();
        assert!(known("a", false) && known("a", true));
        assert!(known("b", true) && !known("b", false), "uploads do not hold other requests back");
        assert!(!known("c", false));
        assert_eq!(memory.over("a", false, noon() + TimeDelta::minutes(1)), None);
    }

    #[test]
    fn after_many_unknown_tokens_new_ones_are_only_read() {
        let memory = Memory::default();
        memory.worth("good", "a", 3, noon());
        memory.proved("good", "a", noon());

        for token in ["1", "2", "3"] {
            assert_eq!(memory.worth(token, "a", 3, noon()), Worth::Count);
            memory.rejected(token, noon());
        }

        assert_eq!(memory.worth("1", "a", 3, noon()), Worth::Rejected);
        assert_eq!(memory.worth("4", "a", 3, noon()), Worth::Read);
        assert_eq!(memory.worth("4", "b", 3, noon()), Worth::Count);
        memory.note("b", false, over(), noon());
        assert_eq!(memory.worth("5", "b", 3, noon()), Worth::Read);
        assert_eq!(memory.worth("good", "a", 3, noon()), Worth::Count);
        memory.rejected("good", noon());
        assert_eq!(memory.worth("good", "a", 3, noon()), Worth::Rejected);
        assert_eq!(memory.worth("4", "a", 3, noon() + TimeDelta::minutes(1)), Worth::Count);
    }

    #[test]
    fn a_flood_of_names_does_not_fill_the_memory() {
        let memory = Memory::default();
        for number in 0..3 * MOST {
            memory.note(&number.to_string(), false, over(), noon());
        }
        assert!(memory.known().over.0.len() <= MOST);
    }

    #[test]
    fn a_full_memory_drops_expired_values_first() {
        let mut kept = Kept::default();
        for number in 1..MOST {
            kept.put(number, (), noon(), noon() - TimeDelta::minutes(1));
        }
        kept.put(0, (), noon() + TimeDelta::minutes(1), noon());

        kept.put(MOST, (), noon() + TimeDelta::minutes(1), noon());

        assert!(kept.get(&0, noon()).is_some() && kept.get(&MOST, noon()).is_some());
        assert_eq!(kept.0.len(), 2);
    }

    #[test]
    fn a_value_expires_at_its_time() {
        let mut kept = Kept::default();
        kept.put("a", 1, noon(), noon());
        assert_eq!((kept.get("a", noon()), kept.0.len()), (None, 1));
        assert_eq!(kept.get_mut("a", noon()), None);
        assert_eq!(kept.get_mut("a", noon() - TimeDelta::milliseconds(1)), Some(&mut 1));
    }
}
