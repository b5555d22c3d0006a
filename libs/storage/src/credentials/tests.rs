use chrono::TimeDelta;
use domain::connection::Connection;
use domain::credentials::RefreshReason;
use domain::id::Ids;
use domain::testing::{a_connection, a_user, noon};

use super::*;
use crate::testing::{connect, refusing, store};

/// The credentials are due at noon.
async fn connect_account(store: &Store) -> (Connection, CredentialsRecord) {
    let connection = a_connection(&a_user());
    connect(store, &connection, b"sealed", Some(noon())).await;
    let record = store.credentials(connection.user_id, &connection.account()).await.unwrap().unwrap();
    (connection, record)
}

async fn to_refresh(store: &Store, until: DateTime<Utc>) -> Vec<(UserId, String)> {
    let mut found = Vec::new();
    for shard in 0..REFRESH_SHARDS {
        found.extend(store.grants_to_refresh(shard, until, None, 10).await.unwrap().entries);
    }
    found
}

fn refreshed(record: &CredentialsRecord, sealed: &[u8]) -> CredentialsRecord {
    let (expires_at, due_at) = (noon() + TimeDelta::hours(1), noon() + TimeDelta::minutes(50));
    let state = record.state.refreshed(RefreshReason::AccountCheck, Some(expires_at), due_at, noon());
    CredentialsRecord { sealed: sealed.to_vec(), state, ..record.clone() }
}

#[tokio::test]
async fn credentials_are_refreshed_by_one_worker_and_never_over_newer() {
    let store = store().await;
    let (_, record) = connect_account(&store).await;
    let entry = (record.user_id, record.grant_name.clone());
    assert_eq!(to_refresh(&store, noon()).await, std::slice::from_ref(&entry));
    assert!(to_refresh(&store, noon() - TimeDelta::seconds(1)).await.is_empty());

    let claim = |now| store.claim_refresh(&record, now);
    assert_eq!(claim(noon()).await.unwrap(), RefreshClaim::Ours);
    assert_eq!(claim(noon()).await.unwrap(), RefreshClaim::Held);
    let later = noon() + TimeDelta::minutes(2);
    assert_eq!(claim(later).await.unwrap(), RefreshClaim::Ours, "the lease of a crashed worker expires");

    let two = refreshed(&record, b"two");
    assert!(store.store_refreshed(&record, &two).await.unwrap());
    assert!(!store.store_refreshed(&record, &refreshed(&record, b"late")).await.unwrap());
    let read = store.credentials(record.user_id, &record.grant_name).await.unwrap().unwrap();
    assert_eq!(read, two);
    assert!(to_refresh(&store, noon()).await.is_empty());

    assert!(!store.end_credentials(&record).await.unwrap(), "old credentials were refused");
    assert!(store.postpone_refresh(&read, Some(noon())).await.unwrap());
    assert_eq!(to_refresh(&store, noon()).await, [entry]);
    assert!(store.end_credentials(&read).await.unwrap());
    assert!(to_refresh(&store, noon()).await.is_empty());
    assert!(!store.postpone_refresh(&read, Some(noon())).await.unwrap());
    assert_eq!(store.claim_refresh(&read, noon()).await.unwrap(), RefreshClaim::Held, "the grant has ended");
}

#[tokio::test]
async fn repeated_claim_request_keeps_the_lease() {
    let store = store().await;
    let (_, record) = connect_account(&store).await;

    let claim = |holder| store.claim_refresh_as(holder, &record, noon());
    assert_eq!(claim(1).await.unwrap(), RefreshClaim::Ours);
    assert_eq!(claim(1).await.unwrap(), RefreshClaim::Ours);
    assert_eq!(claim(2).await.unwrap(), RefreshClaim::Held);

    assert!(store.postpone_refresh(&record, None).await.unwrap());
    assert_eq!(claim(2).await.unwrap(), RefreshClaim::Ours, "the first lease has ended");
}

#[tokio::test]
async fn update_that_conflicts_with_a_transaction_is_retried() {
    const CONFLICT: &str = r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionConflictException"}"#;
    let (_, record) = connect_account(&store().await).await;
    let claim = async |conflicts| refusing(conflicts, CONFLICT).await.claim_refresh(&record, noon()).await;

    assert_eq!(claim(1).await.unwrap(), RefreshClaim::Ours);
    assert_eq!(claim(6).await.unwrap(), RefreshClaim::Ours);
    claim(10).await.unwrap_err();
}

#[tokio::test]
async fn new_credentials_clear_is_gone() {
    let store = store().await;
    let (_, record) = connect_account(&store).await;
    assert_eq!(store.claim_refresh(&record, noon()).await.unwrap(), RefreshClaim::Ours);
    // Meanwhile, another worker was refused with the old credentials.
    assert!(store.end_credentials(&record).await.unwrap());

    assert!(store.store_refreshed(&record, &refreshed(&record, b"two")).await.unwrap());

    let read = store.credentials(record.user_id, &record.grant_name).await.unwrap().unwrap();
    assert!(!read.state.is_gone);
    let due_at = noon() + TimeDelta::minutes(50);
    assert_eq!(to_refresh(&store, due_at).await, [(record.user_id, record.grant_name)]);
}

#[tokio::test]
async fn reauthorized_grant_is_distinguished_from_the_revoked_one() {
    let store = store().await;
    let (connection, old) = connect_account(&store).await;
    store.delete_connection(connection.user_id, connection.connection_id, noon()).await.unwrap();
    let later = noon() + TimeDelta::milliseconds(1);
    connect(&store, &Connection { created_at: later, ..connection }, b"new", None).await;

    assert!(!store.store_refreshed(&old, &refreshed(&old, b"late")).await.unwrap());
    assert!(!store.end_credentials(&old).await.unwrap());
}

#[tokio::test]
async fn refresh_index_is_read_in_pages() {
    let (store, user) = (store().await, a_user());
    let ids = Ids::new(domain::clock::Clock::System, domain::random::Random::Os);
    let mut made = Vec::new();
    for number in 0..12 {
        let mut connection = a_connection(&user);
        connection.connection_id = ids.fresh();
        connection.profile.account_id = number.to_string();
        connect(&store, &connection, b"sealed", Some(noon())).await;
        made.push((user.user_id, connection.account()));
    }

    let mut found = Vec::new();
    for shard in 0..REFRESH_SHARDS {
        let mut page = None;
        loop {
            let read = store.grants_to_refresh(shard, noon(), page, 2).await.unwrap();
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
async fn outdated_index_entry_is_checked_against_the_table() {
    let store = store().await;
    let (connection, record) = connect_account(&store).await;
    let read = async || store.credentials_to_refresh(record.user_id, &record.grant_name, noon()).await.unwrap();
    assert_eq!(read().await.as_ref(), Some(&record));

    for later in [Some(noon() + TimeDelta::seconds(1)), None] {
        assert!(store.postpone_refresh(&record, later).await.unwrap());
        assert!(read().await.is_none(), "it was postponed");
    }
    assert!(store.postpone_refresh(&record, Some(noon())).await.unwrap());
    assert!(store.end_credentials(&record).await.unwrap());
    assert!(read().await.is_none(), "only its user can restore it");
    store.delete_connection(connection.user_id, connection.connection_id, noon()).await.unwrap();
    assert!(read().await.is_none(), "it is gone");
}
