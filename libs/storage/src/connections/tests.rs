use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Config, Credentials, Region};
use chrono::TimeDelta;
use domain::id::Ids;
use domain::testing::{a_connection, a_user, noon};
use domain::user::User;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

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
async fn credentials_are_renewed_by_one_and_never_over_newer_ones() {
    let (store, user) = (store().await, a_user());
    let record = a_record(&user);
    let (user, id) = (user.user_id, record.connection.connection_id);
    connected(&store, &a_user_with(user), &record, None).await;
    assert_eq!(to_refresh(&store, noon()).await, [(user, id)]);
    assert!(to_refresh(&store, noon() - TimeDelta::seconds(1)).await.is_empty());

    let claim = |now| store.claim_refresh(user, id, 1, now);
    assert_eq!(claim(noon()).await.unwrap(), RefreshClaim::Ours);
    assert_eq!(claim(noon()).await.unwrap(), RefreshClaim::Held);
    let later = noon() + TimeDelta::minutes(2);
    assert_eq!(claim(later).await.unwrap(), RefreshClaim::Ours, "a crash does not hold it for ever");

    let refreshed = |credentials: &[u8]| Refreshed {
        credentials: credentials.to_vec(),
        token_expires_at: Some(noon() + TimeDelta::hours(1)),
        renewed_at: noon(),
        refresh_at: Some(noon() + TimeDelta::minutes(50)),
    };
    assert!(store.store_refreshed(user, id, 1, refreshed(b"two")).await.unwrap());
    assert!(!store.store_refreshed(user, id, 1, refreshed(b"late")).await.unwrap());
    let read = store.connection(user, id).await.unwrap().unwrap();
    assert_eq!((read.connection.generation, read.credentials), (2, b"two".to_vec()));
    assert_eq!(read.connection.renewed_at, Some(noon()));
    assert!(to_refresh(&store, noon()).await.is_empty());

    assert!(!store.mark_needs_reconnection(user, id, 1).await.unwrap(), "old credentials were refused");
    assert!(store.put_off_refresh(user, id, 2, Some(noon())).await.unwrap());
    assert_eq!(to_refresh(&store, noon()).await, [(user, id)]);
    assert!(store.mark_needs_reconnection(user, id, 2).await.unwrap());
    assert!(!store.mark_needs_reconnection(user, id, 2).await.unwrap(), "it is said once");
    assert!(to_refresh(&store, noon()).await.is_empty());
    assert_eq!(
        store.claim_refresh(user, id, 2, noon()).await.unwrap(),
        RefreshClaim::Held,
        "there is nothing to renew"
    );
}

#[tokio::test]
async fn a_claim_that_is_sent_again_is_still_the_callers() {
    let (store, user) = (store().await, a_user());
    let record = a_record(&user);
    let key = (user.user_id, record.connection.connection_id);
    connected(&store, &user, &record, None).await;

    let claim = |holder| store.claim_refresh_as(holder, key, 1, noon());
    assert_eq!(claim(1).await.unwrap(), RefreshClaim::Ours);
    assert_eq!(claim(1).await.unwrap(), RefreshClaim::Ours);
    assert_eq!(claim(2).await.unwrap(), RefreshClaim::Held);

    assert!(store.put_off_refresh(key.0, key.1, 1, None).await.unwrap());
    assert_eq!(claim(2).await.unwrap(), RefreshClaim::Ours, "the first has ended it");
}

/// A store that answers so often that the item is in a transaction, and then
/// that the update was made.
async fn a_store_with_conflicts(conflicts: usize) -> Store {
    const CONFLICT: &str = r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionConflictException"}"#;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        for answer in 0.. {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"}") {
                assert_ne!(socket.read_buf(&mut request).await.unwrap(), 0, "a request ends with its JSON");
            }
            let (status, body) = if answer < conflicts { ("400 Bad Request", CONFLICT) } else { ("200 OK", "{}") };
            let head = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
            socket.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        }
    });
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("us-east-1"))
        .endpoint_url(format!("http://{address}"))
        .credentials_provider(Credentials::new("local", "local", None, None, "local"))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .build();
    Store::new(Client::from_conf(config), "test", 1)
}

#[tokio::test]
async fn an_update_that_meets_a_transaction_is_tried_again_a_few_times() {
    let (user, id) = (a_user().user_id, a_connection(&a_user()).connection_id);
    let claim = async |conflicts| a_store_with_conflicts(conflicts).await.claim_refresh(user, id, 1, noon()).await;

    assert_eq!(claim(1).await.unwrap(), RefreshClaim::Ours);
    assert_eq!(claim(4).await.unwrap(), RefreshClaim::Ours);
    claim(5).await.unwrap_err();
}

#[tokio::test]
async fn new_credentials_show_that_the_grant_was_not_gone() {
    let (store, user) = (store().await, a_user());
    let record = a_record(&user);
    let (user_id, id) = (user.user_id, record.connection.connection_id);
    connected(&store, &user, &record, None).await;
    assert_eq!(store.claim_refresh(user_id, id, 1, noon()).await.unwrap(), RefreshClaim::Ours);
    // Somebody else was refused with the old ones meanwhile.
    assert!(store.mark_needs_reconnection(user_id, id, 1).await.unwrap());

    let refreshed = Refreshed {
        credentials: b"two".to_vec(),
        token_expires_at: None,
        renewed_at: noon(),
        refresh_at: Some(noon()),
    };
    assert!(store.store_refreshed(user_id, id, 1, refreshed).await.unwrap());

    let read = store.connection(user_id, id).await.unwrap().unwrap();
    assert!(!read.connection.needs_reconnection);
    assert_eq!(to_refresh(&store, noon()).await, [(user_id, id)]);
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
async fn the_refresh_index_is_read_page_by_page() {
    let (store, user) = (store().await, a_user());
    let ids = Ids::new(domain::clock::Clock::System);
    let mut made = Vec::new();
    for number in 0..12 {
        let mut record = a_record(&user);
        record.connection.connection_id = ids.fresh();
        record.connection.profile.account_id = number.to_string();
        connected(&store, &user, &record, None).await;
        made.push((user.user_id, record.connection.connection_id));
    }

    let mut found = Vec::new();
    for shard in 0..REFRESH_SHARDS {
        let mut page = None;
        loop {
            let read = store.connections_to_refresh(shard, noon(), page, 2).await.unwrap();
            assert!(read.entries.len() <= 2);
            found.extend(read.entries);
            page = read.next;
            if page.is_none() {
                break;
            }
        }
    }

    found.sort();
    made.sort();
    assert_eq!(found, made);
}

#[tokio::test]
async fn what_the_refresh_index_still_shows_is_read_as_it_is_now() {
    let (store, user) = (store().await, a_user());
    let record = a_record(&user);
    let (user_id, id) = (user.user_id, record.connection.connection_id);
    connected(&store, &user, &record, None).await;
    let read = async || store.connection_to_refresh(user_id, id, noon()).await.unwrap();
    assert_eq!(read().await.unwrap().connection, record.connection);

    for later in [Some(noon() + TimeDelta::seconds(1)), None] {
        assert!(store.put_off_refresh(user_id, id, 1, later).await.unwrap());
        assert!(read().await.is_none(), "it was put off");
    }
    assert!(store.put_off_refresh(user_id, id, 1, Some(noon())).await.unwrap());
    assert!(store.mark_needs_reconnection(user_id, id, 1).await.unwrap());
    assert!(read().await.is_none(), "only its user can help");
    store.delete_connection(user_id, id).await.unwrap();
    assert!(read().await.is_none(), "it is gone");
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
