use chrono::TimeDelta;
use domain::delivery::{AttemptError, PreparationStep, Published};
use domain::testing::{a_delivery, noon};

use super::*;
use crate::testing::store;

fn later(seconds: i64) -> DateTime<Utc> {
    noon() + TimeDelta::seconds(seconds)
}

async fn put(store: &Store, delivery: &Delivery) {
    let put = store.client.put_item().table_name(store.table(Table::Deliveries));
    let item = delivery_item(delivery, store.due_shards()).unwrap();
    put.set_item(Some(item)).send().await.unwrap();
}

async fn read(store: &Store, delivery: &Delivery) -> Option<Delivery> {
    store.load_delivery(delivery.ids()).await.unwrap().map(|it| it.delivery)
}

async fn due(store: &Store, until: DateTime<Utc>) -> Vec<DueEntry> {
    let mut found = Vec::new();
    for shard in 0..store.due_shards() {
        found.extend(page(store, shard, until).await);
    }
    found.sort_by_key(|it| it.due_at);
    found
}

/// Reads pages of two entries.
async fn page(store: &Store, shard: u32, until: DateTime<Utc>) -> Vec<DueEntry> {
    let (mut found, mut next) = (Vec::new(), None);
    loop {
        let page = store.due_deliveries(shard, (DateTime::UNIX_EPOCH, until), next, 2).await.unwrap();
        assert!(page.entries.len() <= 2);
        found.extend(page.entries);
        next = page.next;
        if next.is_none() {
            return found;
        }
    }
}

fn published() -> Published {
    Published::new("p1".to_owned(), later(1))
}

#[tokio::test]
async fn delivery_reads_back_in_every_state() {
    let store = store().await;
    let waiting = a_delivery();
    let intended = waiting.clone().open_intent(noon());
    let lost = AttemptError::Unknown { may_still_run: true, retry_at: None, reason: "no answer".to_owned() };
    let refused = AttemptError::Refused { reason: "no".to_owned() };
    let states = [
        waiting.clone(),
        waiting.clone().lease(noon()),
        waiting.record_preparation(0, PreparationStep::Again { progress: "{\"media\":[]}".to_owned(), at: later(5) }),
        intended.clone(),
        intended.clone().record_publish(Err(lost), noon(), 0),
        intended.clone().record_publish(Err(refused), noon(), 0),
        intended.clone().record_publish(Ok(published()), noon(), 0),
        intended.record_publish(Ok(published()), noon(), 0).finish_roll_up(),
    ];

    for delivery in states {
        put(&store, &delivery).await;
        assert_eq!(read(&store, &delivery).await, Some(delivery));
    }
}

#[tokio::test]
async fn delivery_is_loaded_for_its_own_user_without_missing_parts() {
    let store = store().await;
    let delivery = a_delivery();
    put(&store, &delivery).await;
    let ids = delivery.ids();

    let loaded = store.load_delivery(ids).await.unwrap().unwrap();
    assert!(loaded.post.is_none() && loaded.connection.is_none());
    let other = UserId::new(ids.user_id.get() + 1).unwrap();
    assert!(store.load_delivery(DeliveryIds { user_id: other, ..ids }).await.unwrap().is_none());
}

#[tokio::test]
async fn delivery_is_loaded_with_the_calls_of_its_user_and_its_profile() {
    let store = store().await;
    let profile = ProfileId::new(5).unwrap();
    let delivery = Delivery { profile_id: Some(profile), ..a_delivery() };
    put(&store, &delivery).await;
    let ids = delivery.ids();
    let of_other_profile = LimitSubject::profile(ids.user_id, ProfileId::new(6).unwrap());
    for (subject, environment) in [
        (LimitSubject::user(ids.user_id), "for the user"),
        (LimitSubject::profile(ids.user_id, profile), "for the profile"),
        (of_other_profile, "for another profile"),
    ] {
        store.record_permit(&subject, environment, noon(), 1).await.unwrap();
    }
    let counts = async |ids| {
        let calls = store.load_delivery(ids).await.unwrap().unwrap().in_flight_calls;
        [("for the user", calls.of_user), ("for the profile", calls.of_profile)].map(|(own, it)| it.others(own, noon()))
    };
    let all = async |ids| {
        let calls = store.load_delivery(ids).await.unwrap().unwrap().in_flight_calls;
        [calls.of_user, calls.of_profile].map(|it| it.others("", noon()))
    };

    assert_eq!((all(ids).await, counts(ids).await), ([1, 1], [0, 0]));
    assert_eq!(all(DeliveryIds { profile_id: None, ..ids }).await, [1, 0]);
}

#[tokio::test]
async fn deliveries_of_other_posts_are_not_returned() {
    let store = store().await;
    let delivery_of = |post, target| Delivery {
        post_id: PostId::new(post).unwrap(),
        target_id: TargetId::new(target).unwrap(),
        user_id: UserId::new(7).unwrap(),
        ..a_delivery()
    };
    for delivery in [delivery_of(1, 1), delivery_of(1, 2), delivery_of(11, 3), delivery_of(10, 4)] {
        put(&store, &delivery).await;
    }

    let found = store.deliveries(UserId::new(7).unwrap(), PostId::new(1).unwrap()).await.unwrap();

    let targets: Vec<_> = found.iter().map(|it| (it.post_id.get(), it.target_id.get())).collect();
    assert_eq!(targets, [(1, 1), (1, 2)]);
}

#[tokio::test]
async fn one_of_concurrent_replacements_is_applied() {
    let store = store().await;
    let before = a_delivery();
    put(&store, &before).await;

    let swaps = (0..16).map(async |index| {
        let write_id = 100 + u64::try_from(index).unwrap();
        let after = before.clone().open_intent(later(index)).with_write_id(write_id);
        (store.replace_delivery(&before, &after).await.unwrap(), after)
    });
    let ends = futures::future::join_all(swaps).await;

    let ours: Vec<_> = ends.into_iter().filter(|it| it.0 == WriteOutcome::Applied).collect();
    assert_eq!(ours.len(), 1);
    assert_eq!(read(&store, &before).await.as_ref(), Some(&ours[0].1));
}

#[tokio::test]
async fn repeated_write_recognizes_its_own_write_id() {
    let store = store().await;
    let before = a_delivery();
    put(&store, &before).await;
    let (ours, theirs) =
        (before.clone().open_intent(noon()).with_write_id(7), before.clone().open_intent(noon()).with_write_id(8));

    assert_eq!(store.replace_delivery(&before, &ours).await.unwrap(), WriteOutcome::Applied);

    assert_eq!(store.replace_delivery(&before, &ours).await.unwrap(), WriteOutcome::Applied);
    assert_eq!(store.replace_delivery(&before, &theirs).await.unwrap(), WriteOutcome::Conflict);
    assert_eq!(read(&store, &before).await, Some(ours));
}

#[tokio::test]
async fn planned_until_is_stored_and_never_decreases() {
    let store = store().await;
    assert_eq!(store.planned_until().await.unwrap(), None);

    for seconds in [10, 20, 15] {
        store.set_planned_until(later(seconds)).await.unwrap();
    }

    assert_eq!(store.planned_until().await.unwrap(), Some(later(20)));
    assert_eq!(due(&store, later(999)).await, [], "the checkpoint is not a delivery");
}

#[tokio::test]
async fn replacement_of_a_removed_or_newer_delivery_conflicts() {
    let store = store().await;
    let before = a_delivery();
    let after = before.clone().open_intent(noon()).with_write_id(2);
    put(&store, &before).await;
    // A newer revision may have the same write_id by chance.
    let newer = Delivery { revision: 2, ..before.clone() };
    put(&store, &newer).await;

    assert_eq!(store.replace_delivery(&before, &after).await.unwrap(), WriteOutcome::Conflict);
    assert_eq!(store.remove_delivery(&before).await.unwrap(), WriteOutcome::Conflict);
    assert_eq!(read(&store, &before).await.as_ref(), Some(&newer));

    assert_eq!(store.remove_delivery(&newer).await.unwrap(), WriteOutcome::Applied);
    assert_eq!(store.replace_delivery(&newer, &newer.clone().with_write_id(2)).await.unwrap(), WriteOutcome::Conflict);
    assert_eq!(read(&store, &before).await, None);
}

#[tokio::test]
async fn due_entries_are_sorted_and_exclude_later_ones() {
    let store = store().await;
    let shards = u64::from(store.due_shards());
    let delivery =
        |number: u64, due_at| Delivery { target_id: TargetId::new(number * shards).unwrap(), due_at, ..a_delivery() };
    for (number, seconds) in [(1, 30), (2, 10), (3, 20), (4, 31)] {
        put(&store, &delivery(number, Some(later(seconds)))).await;
    }
    put(&store, &delivery(5, None)).await;

    let found = page(&store, 0, later(30)).await;
    let order: Vec<_> = found.iter().map(|it| it.ids.target_id.get() / shards).collect();
    assert_eq!(order, [2, 3, 1]);
    let between = store.due_deliveries(0, (later(10), later(20)), None, 100).await.unwrap();
    assert_eq!(between.entries, found[1..2], "after the first time, and up to the second");
    assert_eq!(page(&store, 1, later(60)).await, []);
    assert_eq!((found[0].next_step_at, found[0].revision), (noon(), 1));
}

#[tokio::test]
async fn unfinished_deliveries_are_due_and_finished_ones_are_not() {
    let store = store().await;
    let all: Vec<_> = (1..=20).map(|it| Delivery { target_id: TargetId::new(it).unwrap(), ..a_delivery() }).collect();
    for delivery in &all {
        put(&store, delivery).await;
    }
    assert_eq!(due(&store, noon()).await.len(), 20);

    for delivery in &all[..5] {
        let ended = delivery
            .clone()
            .open_intent(noon())
            .record_publish(Ok(published()), noon(), 0)
            .finish_roll_up()
            .with_write_id(2);
        assert_eq!(store.replace_delivery(delivery, &ended).await.unwrap(), WriteOutcome::Applied);
    }

    assert_eq!(due(&store, noon() + TimeDelta::days(9)).await.len(), 15);
}

#[tokio::test]
async fn due_entry_is_moved_once_and_only_if_unchanged() {
    let store = store().await;
    let delivery = Delivery { profile_id: ProfileId::new(5), ..a_delivery() };
    put(&store, &delivery).await;
    let entry = due(&store, noon()).await.remove(0);
    assert_eq!(entry.ids, delivery.ids());

    let moves = futures::future::join_all((0..8).map(|_| store.move_due(&entry, later(60)))).await;

    assert_eq!(moves.into_iter().filter(|it| *it.as_ref().unwrap() == WriteOutcome::Applied).count(), 1);
    assert_eq!(due(&store, later(59)).await, []);
    assert_eq!(due(&store, later(60)).await, [DueEntry { due_at: later(60), ..entry.clone() }]);
    // A worker that read the delivery before the move can still replace it.
    let held = delivery.clone().lease(noon()).with_write_id(2);
    assert_eq!(store.replace_delivery(&delivery, &held).await.unwrap(), WriteOutcome::Applied);
    assert_eq!(
        store.move_due(&DueEntry { due_at: later(60), ..entry.clone() }, later(99)).await.unwrap(),
        WriteOutcome::Conflict
    );
    assert_eq!(due(&store, later(999)).await[0].due_at, noon(), "back where it was: looked at again, not lost");
    assert_eq!(store.move_due(&DueEntry { revision: 2, ..entry }, later(99)).await.unwrap(), WriteOutcome::Conflict);
}

#[tokio::test]
async fn ended_delivery_does_not_return_to_the_index() {
    let store = store().await;
    let delivery = a_delivery();
    put(&store, &delivery).await;
    let entry = due(&store, noon()).await.remove(0);
    put(&store, &delivery.clone().finish_roll_up()).await;

    assert_eq!(store.move_due(&entry, later(60)).await.unwrap(), WriteOutcome::Conflict);

    assert_eq!(due(&store, later(60)).await, []);
}

#[tokio::test]
async fn unfinished_deliveries_of_a_backup_are_looked_up() {
    let store = store().await;
    let waiting = a_delivery();
    let target = |id| domain::id::TargetId::new(id).unwrap();
    let ended = Delivery { target_id: target(77), ..waiting.clone() }.open_intent(noon());
    let ended = ended.record_publish(Ok(published()), later(1), 0).finish_roll_up();
    put(&store, &waiting).await;
    put(&store, &ended).await;
    store.set_planned_until(later(60)).await.unwrap();

    let marked = store.mark_restored(noon(), later(3_600)).await.unwrap();
    let again = store.mark_restored(noon(), later(3_700)).await.unwrap();

    assert_eq!((marked, again), (1, 0));
    let marked = read(&store, &waiting).await.unwrap();
    assert_eq!(marked.lost_window.map(|it| it.since), Some(noon()));
    assert_eq!(due(&store, later(3_600)).await.len(), 1);
    assert_eq!(read(&store, &ended).await, Some(ended));
}
