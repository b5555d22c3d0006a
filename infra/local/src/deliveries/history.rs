//! The writes of deliveries, in order. Only the pages read this history; the service does not depend
//! on it.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use domain::delivery::Delivery;
use domain::id::{PostId, TargetId, UserId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Reference;
use crate::sandbox::SandboxError;
use crate::sandbox::journal::Journal;

/// Maximum number of deliveries kept.
const KEPT: usize = 2_000;

/// Maximum number of writes kept for each delivery.
const KEPT_OF_EACH: usize = 500;

/// The latest deliveries, and the file that stores them.
#[derive(Clone, Debug, Default)]
pub(crate) struct History(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    journal: Option<Journal>,
    /// In the order of their first writes.
    records: VecDeque<Record>,
}

/// The history of one delivery, with at least one write.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) reference: Reference,
    pub(super) user: UserId,
    pub(super) written: Vec<DeliveryVersion>,
    /// When the delivery was deleted from the table.
    pub(super) removed_at: Option<DateTime<Utc>>,
}

/// A stored version of a delivery.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct DeliveryVersion {
    pub(super) at: DateTime<Utc>,
    pub(super) delivery: Delivery,
}

/// A change of the table.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Change {
    /// An item was put.
    Put(Box<DeliveryVersion>),
    /// An item was removed.
    Removed { at: DateTime<Utc>, user: UserId, post: PostId, target: TargetId },
}

impl Record {
    /// When the post is due. Once it is public, `latest` has the time of a later segment.
    pub(super) fn due_at(&self, latest: &Delivery) -> DateTime<Utc> {
        self.written.first().map_or(latest.publish_at, |it| it.delivery.publish_at)
    }

    pub(super) fn latest(&self) -> Option<&Delivery> {
        self.written.last().map(|it| &it.delivery)
    }
}

impl History {
    /// Reads the history from the file at `path`.
    pub(crate) fn open(path: &Path) -> Result<Self, SandboxError> {
        let mut inner = Inner::default();
        let journal = Journal::open(path, |line: Value| {
            // A line that another version wrote may be unreadable; that is no reason not to start.
            if let Ok(change) = serde_json::from_value(line) {
                inner.apply(change);
            }
        })?;
        inner.journal = Some(journal);
        Ok(Self(Arc::new(Mutex::new(inner))))
    }

    /// Records a change of the table.
    pub(super) fn note(&self, change: Change) {
        let mut inner = self.lock();
        if let Some(journal) = &mut inner.journal
            && let Err(error) = journal.append(&change)
        {
            tracing::warn!(%error, "a step of a delivery could not be recorded");
        }
        inner.apply(change);
    }

    pub(super) fn record(&self, reference: Reference) -> Option<Record> {
        self.lock().records.iter().rev().find(|it| it.reference == reference).cloned()
    }

    /// The deliveries with the most recent last writes, of one post or of all, latest scheduled
    /// first.
    pub(super) fn recent(&self, count: usize, post: Option<PostId>) -> Vec<Record> {
        let is_wanted = |it: &&Record| post.is_none_or(|post| it.reference.post == post);
        let mut records: Vec<_> = self.lock().records.iter().filter(is_wanted).cloned().collect();
        records.sort_by_key(|it| std::cmp::Reverse(it.written.last().map(|it| it.at)));
        records.truncate(count);
        records.sort_by_key(|it| std::cmp::Reverse(it.latest().map(|it| it.publish_at)));
        records
    }

    /// The most recently written revision of this target.
    pub(super) fn latest_revision(&self, post: PostId, target: TargetId) -> Option<u64> {
        let inner = self.lock();
        let revisions = inner.records.iter().map(|it| it.reference).filter(|it| (it.post, it.target) == (post, target));
        revisions.map(|it| it.revision).max()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn apply(&mut self, change: Change) {
        match change {
            Change::Put(written) => self.put(*written),
            Change::Removed { at, user, post, target } => {
                let is_removed =
                    |it: &&mut Record| it.user == user && (it.reference.post, it.reference.target) == (post, target);
                for record in self.records.iter_mut().filter(is_removed) {
                    record.removed_at.get_or_insert(at);
                }
            }
        }
    }

    fn put(&mut self, written: DeliveryVersion) {
        let reference = Reference::from_delivery(&written.delivery);
        // Searched from the end, because recent deliveries are written most often.
        if let Some(record) = self.records.iter_mut().rev().find(|it| it.reference == reference) {
            if KEPT_OF_EACH <= record.written.len() {
                // The first write stays, because it shows how the delivery began.
                record.written.remove(1);
            }
            record.written.push(written);
            record.removed_at = None;
            return;
        }
        if KEPT <= self.records.len() {
            self.records.pop_front();
        }
        let user = written.delivery.user_id;
        self.records.push_back(Record { reference, user, written: vec![written], removed_at: None });
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::testing::{a_delivery, noon};

    use super::*;

    fn put(delivery: Delivery, seconds: i64) -> Change {
        Change::Put(Box::new(DeliveryVersion { at: noon() + TimeDelta::seconds(seconds), delivery }))
    }

    #[test]
    fn writes_survive_a_restart_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history");
        let first = a_delivery();
        let second = first.clone().open_intent(noon());
        let history = History::open(&path).unwrap();
        history.note(put(first.clone(), 0));
        history.note(put(second.clone(), 1));
        drop(history);

        let record = History::open(&path).unwrap().record(Reference::from_delivery(&first)).unwrap();

        let written: Vec<_> = record.written.into_iter().map(|it| it.delivery).collect();
        assert_eq!(written, [first, second]);
    }

    #[test]
    fn unreadable_line_is_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history");
        std::fs::write(&path, "{\"put\":{\"at\":\"2026-01-01T00:00:00Z\",\"delivery\":{}}}\n").unwrap();

        assert!(History::open(&path).unwrap().recent(9, None).is_empty());
    }

    #[test]
    fn each_revision_has_its_own_record() {
        let history = History::default();
        let first = a_delivery();
        let second = Delivery { revision: first.revision + 1, ..first.clone() };
        history.note(put(first.clone(), 0));
        history.note(put(second.clone(), 1));

        assert_eq!(history.recent(9, None).len(), 2);
        assert_eq!(history.latest_revision(first.post_id, first.target_id), Some(second.revision));
    }

    #[test]
    fn a_removed_delivery_is_marked() {
        let history = History::default();
        let delivery = a_delivery();
        history.note(put(delivery.clone(), 0));
        let Delivery { user_id: user, post_id: post, target_id: target, .. } = delivery;
        history.note(Change::Removed { at: noon(), user, post, target });

        assert_eq!(history.record(Reference::from_delivery(&delivery)).unwrap().removed_at, Some(noon()));
    }

    #[test]
    fn recent_returns_last_written_records_by_publish_time() {
        let history = History::default();
        let due_at =
            |revision, minutes| Delivery { revision, publish_at: noon() + TimeDelta::minutes(minutes), ..a_delivery() };
        for (written_at, delivery) in [(0, due_at(1, 5)), (1, due_at(2, 9)), (2, due_at(3, 7))] {
            history.note(put(delivery, written_at));
        }

        let recent: Vec<_> = history.recent(2, None).iter().map(|it| it.reference.revision).collect();

        assert_eq!(recent, [2, 3]);
    }

    #[test]
    fn history_is_bounded() {
        let history = History::default();
        let first = a_delivery();
        for revision in 1..=KEPT as u64 + 5 {
            history.note(put(Delivery { revision, ..first.clone() }, 0));
        }
        let last = Delivery { revision: 9, ..first };
        for _ in 0..KEPT_OF_EACH + 5 {
            history.note(put(last.clone(), 1));
        }

        assert_eq!(history.recent(usize::MAX, None).len(), KEPT);
        assert_eq!(history.record(Reference::from_delivery(&last)).unwrap().written.len(), KEPT_OF_EACH);
    }
}
