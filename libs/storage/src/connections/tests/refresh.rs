//! Credentials: renewed by one worker at a time, and never over newer ones.

use super::*;
use crate::testing::refusing;

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

#[tokio::test]
async fn an_update_that_meets_a_transaction_is_tried_again_a_few_times() {
    const CONFLICT: &str = r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionConflictException"}"#;
    let (user, id) = (a_user().user_id, a_connection(&a_user()).connection_id);
    let claim = async |conflicts| refusing(conflicts, CONFLICT).await.claim_refresh(user, id, 1, noon()).await;

    assert_eq!(claim(1).await.unwrap(), RefreshClaim::Ours);
    assert_eq!(claim(6).await.unwrap(), RefreshClaim::Ours);
    claim(10).await.unwrap_err();
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
