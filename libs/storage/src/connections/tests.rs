mod refresh;

use chrono::TimeDelta;
use domain::id::Ids;
use domain::testing::{a_connection, a_user, noon};
use domain::user::User;

use super::*;
use crate::handoffs::{HandOff, Stage};
use crate::testing::store;

const HASH: &str = "state-hash";

fn a_record(user: &User) -> ConnectionRecord {
    ConnectionRecord { connection: a_connection(user), credentials: b"sealed".to_vec() }
}

fn a_hand_off(user: &User, stage: Stage) -> HandOff {
    HandOff {
        user_id: user.user_id,
        provider: "sandbox".to_owned(),
        stage,
        created_at: noon(),
        expires_at: noon() + TimeDelta::seconds(600),
        ended_at: None,
        connection_id: None,
        reason: None,
        goes_on: None,
        sealed: Some(vec![1]),
    }
}

/// Connects it through a hand-off of its own.
async fn connected(store: &Store, user: &User, record: &ConnectionRecord, found: Option<ConnectionId>) -> Connected {
    let hash = domain::token::random_u32().to_string();
    store.begin_hand_off(&hash, &a_hand_off(user, Stage::Answering)).await.unwrap();
    store.connect(&hash, record, Some(noon()), found, noon()).await.unwrap()
}

/// As a post's transaction does it.
async fn count_pending(store: &Store, record: &ConnectionRecord, by: i64) -> bool {
    let update = store
        .update_connection(record.connection.user_id, record.connection.connection_id)
        .update_expression("ADD pending :by")
        .condition_expression("attribute_exists(connection_id)")
        .expression_attribute_values(":by", n(by));
    update.send().await.is_ok()
}

#[tokio::test]
async fn a_connection_reads_back_as_it_was_kept() {
    let (store, user) = (store().await, a_user());
    let record = a_record(&user);

    assert_eq!(connected(&store, &user, &record, None).await, Connected::New);

    let id = record.connection.connection_id;
    let read = store.connection(user.user_id, id).await.unwrap().unwrap();
    assert_eq!(read.connection, record.connection);
    assert_eq!(read.credentials, record.credentials);
    assert_eq!(store.connections(user.user_id).await.unwrap(), [record.connection]);
    assert!(store.connection(a_user().user_id, id).await.unwrap().is_none(), "somebody else's");
}

#[tokio::test]
async fn an_account_is_found_with_every_other_user_who_connected_it() {
    let (store, one, another) = (store().await, a_user(), a_user());
    let (first, second) = (a_record(&one), a_record(&another));
    assert_eq!(connected(&store, &one, &first, None).await, Connected::New);
    assert!(store.other_connections_of(&first.connection).await.unwrap().is_empty());
    assert_eq!(connected(&store, &another, &second, None).await, Connected::New);

    let found = store.other_connections_of(&first.connection).await.unwrap();
    assert_eq!(found.iter().map(|it| &it.connection).collect::<Vec<_>>(), [&second.connection]);
    store.delete_connection(one.user_id, first.connection.connection_id).await.unwrap();
    let found = store.other_connections_of(&first.connection).await.unwrap();
    assert_eq!(found.len(), 1, "what it is asked about need not be there");
    store.delete_connection(another.user_id, second.connection.connection_id).await.unwrap();
    assert!(store.other_connections_of(&first.connection).await.unwrap().is_empty());
}

#[tokio::test]
async fn connecting_an_account_again_keeps_its_id_age_and_pending_posts() {
    let (store, user) = (store().await, a_user());
    let old = a_record(&user);
    let id = old.connection.connection_id;
    connected(&store, &user, &old, None).await;
    assert!(count_pending(&store, &old, 2).await);
    assert!(store.mark_needs_reconnection(user.user_id, id, 1).await.unwrap());

    let found = store.connection_of_account(user.user_id, "sandbox", "1").await.unwrap();
    assert_eq!(found, Some(id));
    let mut new = ConnectionRecord { credentials: b"newer".to_vec(), ..old.clone() };
    new.connection.created_at = noon() + TimeDelta::days(9);
    new.connection.token_expires_at = Some(noon() + TimeDelta::hours(1));
    new.connection.profile.display_name = Some("New name".to_owned());
    assert_eq!(connected(&store, &user, &new, found).await, Connected::Renewed);

    let read = store.connection(user.user_id, id).await.unwrap().unwrap();
    assert_eq!(read.credentials, b"newer");
    assert_eq!(read.connection.created_at, noon());
    assert_eq!(read.connection.pending, 2);
    assert_eq!(read.connection.generation, 2);
    assert!(!read.connection.needs_reconnection);
    assert_eq!(read.connection.token_expires_at, new.connection.token_expires_at);
    assert_eq!(read.connection.profile.display_name.as_deref(), Some("New name"));
    assert_eq!(store.connections(user.user_id).await.unwrap().len(), 1);
}

#[tokio::test]
async fn two_first_connections_of_one_account_make_one() {
    let (store, user) = (store().await, a_user());
    let (one, other) = (a_record(&user), a_record(&user));

    let (first, second) = tokio::join!(connected(&store, &user, &one, None), connected(&store, &user, &other, None));

    let mut ends = [first, second];
    ends.sort_by_key(|it| *it != Connected::New);
    assert_eq!(ends, [Connected::New, Connected::Overtaken]);
    assert_eq!(store.connections(user.user_id).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_hand_off_connects_once() {
    let (store, user) = (store().await, a_user());
    store.begin_hand_off(HASH, &a_hand_off(&user, Stage::Answering)).await.unwrap();
    let mut other = a_record(&user);
    other.connection.profile.account_id = "2".to_owned();

    let one = store.connect(HASH, &a_record(&user), None, None, noon()).await.unwrap();
    let two = store.connect(HASH, &other, None, None, noon()).await.unwrap();

    assert_eq!((one, two), (Connected::New, Connected::Closed));
    let ended = store.hand_off(HASH).await.unwrap().unwrap();
    assert_eq!(ended.stage, Stage::Completed);
    assert_eq!(ended.sealed, None, "the memory is gone with its use");
    assert_eq!(store.connections(user.user_id).await.unwrap().len(), 1);
    assert_eq!(store.connection_of_account(user.user_id, "sandbox", "2").await.unwrap(), None);
}

#[tokio::test]
async fn a_hand_off_connects_nothing_before_the_platform_answered_or_when_it_is_over() {
    let (store, user) = (store().await, a_user());
    store.begin_hand_off(HASH, &a_hand_off(&user, Stage::Waiting)).await.unwrap();
    let early = store.connect(HASH, &a_record(&user), None, None, noon()).await.unwrap();
    assert_eq!(early, Connected::Closed);

    assert!(store.advance_hand_off(HASH, &[Stage::Waiting], Stage::Answering, None, noon()).await.unwrap());
    let late = noon() + TimeDelta::seconds(600);
    let late = store.connect(HASH, &a_record(&user), None, None, late).await.unwrap();
    assert_eq!(late, Connected::Closed);
    assert!(store.connections(user.user_id).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_platforms_answer_is_taken_once() {
    let (store, user) = (store().await, a_user());
    store.begin_hand_off(HASH, &a_hand_off(&user, Stage::Waiting)).await.unwrap();
    let take = || store.advance_hand_off(HASH, &[Stage::Waiting], Stage::Answering, None, noon());

    let (one, two) = tokio::join!(take(), take());

    assert!(one.unwrap() ^ two.unwrap());
    assert_eq!(store.hand_off(HASH).await.unwrap().unwrap().sealed, Some(vec![1]));
    assert!(store.fail_hand_off(HASH, &[Stage::Answering], "no", noon()).await.unwrap());
    assert!(!store.fail_hand_off(HASH, &[Stage::Answering], "again", noon()).await.unwrap());
    let failed = store.hand_off(HASH).await.unwrap().unwrap();
    assert_eq!(failed.reason.as_deref(), Some("no"));
    assert!(!failed.is_open(noon()));
}

#[tokio::test]
async fn an_account_with_pending_posts_stays() {
    let (store, user) = (store().await, a_user());
    let record = a_record(&user);
    let id = record.connection.connection_id;
    connected(&store, &user, &record, None).await;
    count_pending(&store, &record, 1).await;
    assert!(matches!(store.delete_connection(user.user_id, id).await.unwrap(), Disconnected::Pending(1)));

    count_pending(&store, &record, -1).await;
    let Disconnected::Deleted(deleted) = store.delete_connection(user.user_id, id).await.unwrap() else {
        panic!("nothing is pending any more");
    };
    assert_eq!(deleted.credentials, record.credentials);
    assert!(matches!(store.delete_connection(user.user_id, id).await.unwrap(), Disconnected::NotThere));
    assert!(!count_pending(&store, &record, 1).await, "a post finds it gone");
    assert_eq!(connected(&store, &user, &record, None).await, Connected::New, "and can be connected anew");
}

#[tokio::test]
async fn of_a_deletion_and_a_post_at_the_same_moment_one_wins() {
    let (store, user) = (store().await, a_user());
    for _ in 0..20 {
        let record = a_record(&user);
        let id = record.connection.connection_id;
        assert_eq!(connected(&store, &user, &record, None).await, Connected::New);

        let (deleted, scheduled) =
            tokio::join!(store.delete_connection(user.user_id, id), count_pending(&store, &record, 1));

        match deleted.unwrap() {
            Disconnected::Deleted(_) => assert!(!scheduled),
            Disconnected::Pending(_) => {
                assert!(scheduled);
                count_pending(&store, &record, -1).await;
                store.delete_connection(user.user_id, id).await.unwrap();
            }
            Disconnected::NotThere => panic!("it was there"),
        }
    }
}

#[tokio::test]
async fn connecting_again_forgets_when_the_old_credentials_were_renewed() {
    let (store, user) = (store().await, a_user());
    let record = a_record(&user);
    let (user_id, id) = (user.user_id, record.connection.connection_id);
    connected(&store, &user, &record, None).await;
    let refreshed = Refreshed { credentials: vec![2], token_expires_at: None, renewed_at: noon(), refresh_at: None };
    assert!(store.store_refreshed(user_id, id, 1, refreshed).await.unwrap());

    connected(&store, &user, &record, Some(id)).await;

    assert_eq!(store.connection(user_id, id).await.unwrap().unwrap().connection.renewed_at, None);
}

#[tokio::test]
async fn connections_are_listed_oldest_first() {
    let (store, user) = (store().await, a_user());
    let ids = Ids::new(domain::clock::Clock::System);
    let mut made = Vec::new();
    for number in 0..5 {
        let mut record = a_record(&user);
        record.connection.connection_id = ids.fresh();
        record.connection.profile.account_id = number.to_string();
        connected(&store, &user, &record, None).await;
        made.push(record.connection.connection_id);
    }
    let listed = store.connections(user.user_id).await.unwrap();
    assert_eq!(listed.iter().map(|it| it.connection_id).collect::<Vec<_>>(), made);
}

/// Everything in the index of renewals that is due.
async fn to_refresh(store: &Store, until: DateTime<Utc>) -> Vec<(UserId, ConnectionId)> {
    let mut found = Vec::new();
    for shard in 0..REFRESH_SHARDS {
        found.extend(store.connections_to_refresh(shard, until, None, 10).await.unwrap().entries);
    }
    found
}

fn a_user_with(user_id: UserId) -> User {
    User { user_id, ..a_user() }
}
