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

/// Per map.
const MOST: usize = 10_000;

const KNOWN_FOR: TimeDelta = TimeDelta::hours(1);

#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<CacheEntries>);

#[derive(Debug, Default)]
struct CacheEntries {
    /// Subjects that reached their limit in this minute, for all requests or for uploads.
    over: ExpiringMap<(String, bool), Budget>,
    proven: ExpiringMap<String, ()>,
    rejected: ExpiringMap<String, ()>,
    /// Tokens unknown to this process, by address.
    tried: ExpiringMap<String, u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenLookUp {
    /// The request is counted for the token's user while the token is looked up.
    Count,
    /// The token is read first, and nothing is written if it is invalid: its address reached its
    /// limit, or sent too many invalid tokens.
    Read,
    /// No call: the token was rejected in this minute.
    Rejected,
}

impl Memory {
    pub(crate) fn over(&self, subject: &str, is_media: bool, now: DateTime<Utc>) -> Option<Budget> {
        let entries = self.known();
        let find = |is_media| entries.over.get(&(subject.to_owned(), is_media), now).copied();
        find(false).or_else(|| if is_media { find(true) } else { None })
    }

    pub(crate) fn note(&self, subject: &str, is_media: bool, budget: Budget, now: DateTime<Utc>) {
        if budget.over {
            self.known().over.put((subject.to_owned(), is_media), budget, budget.resets_at, now);
        }
    }

    /// Which calls a token from this address justifies. A token that is unknown here is counted
    /// before it is looked up: after `limit` of them in a minute, the next ones justify less. Call
    /// [`Memory::record_valid`] or [`Memory::rejected`] afterwards.
    pub(crate) fn plan_look_up(&self, hash: &str, address: &str, limit: u32, now: DateTime<Utc>) -> TokenLookUp {
        let mut entries = self.known();
        if entries.proven.get(hash, now).is_some() {
            return TokenLookUp::Count;
        }
        if entries.rejected.get(hash, now).is_some() {
            return TokenLookUp::Rejected;
        }
        let attempts = entries.tried.get(address, now).copied().unwrap_or(0);
        let is_exceeded = entries.over.get(&(address.to_owned(), false), now).is_some();
        if is_exceeded || limit <= attempts {
            return TokenLookUp::Read;
        }
        entries.tried.put(address.to_owned(), attempts + 1, minute_of(now).1, now);
        TokenLookUp::Count
    }

    pub(crate) fn record_valid(&self, hash: &str, address: &str, now: DateTime<Utc>) {
        let mut entries = self.known();
        let is_new = entries.proven.get(hash, now).is_none();
        entries.proven.put(hash.to_owned(), (), now + KNOWN_FOR, now);
        if is_new && let Some(attempts) = entries.tried.get_mut(address, now) {
            *attempts = attempts.saturating_sub(1);
        }
    }

    pub(crate) fn rejected(&self, hash: &str, now: DateTime<Utc>) {
        let mut entries = self.known();
        entries.proven.0.remove(hash);
        entries.rejected.put(hash.to_owned(), (), minute_of(now).1, now);
    }

    fn known(&self) -> MutexGuard<'_, CacheEntries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct ExpiringMap<K, V>(HashMap<K, (V, DateTime<Utc>)>);

impl<K, V> Default for ExpiringMap<K, V> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Hash + Eq, V> ExpiringMap<K, V> {
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

    fn put(&mut self, key: K, value: V, expires_at: DateTime<Utc>, now: DateTime<Utc>) {
        if MOST <= self.0.len() {
            self.0.retain(|_, it| now < it.1);
        }
        if MOST <= self.0.len() {
            self.0.clear();
        }
        self.0.insert(key, (value, expires_at));
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
    fn after_many_unknown_tokens_next_are_read_first() {
        let memory = Memory::default();
        memory.plan_look_up("good", "a", 3, noon());
        memory.record_valid("good", "a", noon());

        for token in ["1", "2", "3"] {
            assert_eq!(memory.plan_look_up(token, "a", 3, noon()), TokenLookUp::Count);
            memory.rejected(token, noon());
        }

        assert_eq!(memory.plan_look_up("1", "a", 3, noon()), TokenLookUp::Rejected);
        assert_eq!(memory.plan_look_up("4", "a", 3, noon()), TokenLookUp::Read);
        assert_eq!(memory.plan_look_up("4", "b", 3, noon()), TokenLookUp::Count);
        memory.note("b", false, over(), noon());
        assert_eq!(memory.plan_look_up("5", "b", 3, noon()), TokenLookUp::Read);
        assert_eq!(memory.plan_look_up("good", "a", 3, noon()), TokenLookUp::Count);
        memory.rejected("good", noon());
        assert_eq!(memory.plan_look_up("good", "a", 3, noon()), TokenLookUp::Rejected);
        assert_eq!(memory.plan_look_up("4", "a", 3, noon() + TimeDelta::minutes(1)), TokenLookUp::Count);
    }

    #[test]
    fn cache_is_bounded() {
        let memory = Memory::default();
        for number in 0..3 * MOST {
            memory.note(&number.to_string(), false, over(), noon());
        }
        assert!(memory.known().over.0.len() <= MOST);
    }

    #[test]
    fn full_cache_drops_expired_values_first() {
        let mut kept = ExpiringMap::default();
        for number in 1..MOST {
            kept.put(number, (), noon(), noon() - TimeDelta::minutes(1));
        }
        kept.put(0, (), noon() + TimeDelta::minutes(1), noon() - TimeDelta::minutes(1));

        kept.put(MOST, (), noon() + TimeDelta::minutes(1), noon());

        assert!(kept.get(&0, noon()).is_some() && kept.get(&MOST, noon()).is_some());
        assert_eq!(kept.0.len(), 2);
    }

    #[test]
    fn a_value_expires_at_its_time() {
        let mut kept = ExpiringMap::default();
        kept.put("a", 1, noon(), noon());
        assert_eq!((kept.get("a", noon()), kept.0.len()), (None, 1));
        assert_eq!(kept.get_mut("a", noon()), None);
        assert_eq!(kept.get_mut("a", noon() - TimeDelta::milliseconds(1)), Some(&mut 1));
    }
}
