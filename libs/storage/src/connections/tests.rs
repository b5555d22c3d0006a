mod grants;

use chrono::TimeDelta;
use domain::connect_flow::{ConnectFlow, FlowState};
use domain::connection::Connection;
use domain::credentials::{CredentialState, RefreshReason};
use domain::id::Ids;
use domain::random::Random;
use domain::testing::{a_connection, a_profile, a_user, limited_to, noon};
use domain::user::User;

use super::*;
use crate::credentials::CredentialsRecord;
use crate::credentials::NewCredentials;
use crate::testing::{granted, store};

const HASH: &str = "state-hash";

fn an_account(user: &User) -> Connecting {
    account_of_grant(a_connection(user), None)
}

fn account_of_grant(connection: Connection, grant: Option<&str>) -> Connecting {
    let grant_name = grant.map_or_else(|| connection.account(), |it| format!("sandbox/{it}"));
    Connecting { connection, grant_name, own: None, found: None }
}

fn credentials(account: &Connecting, sealed: &[u8]) -> NewCredentials {
    NewCredentials { grant_name: account.grant_name.clone(), ..granted(&account.connection, sealed, Some(noon())) }
}

fn a_connect_flow(user: &User, state: FlowState) -> ConnectFlow {
    ConnectFlow { state, sealed: Some(vec![1]), ..ConnectFlow::start(user.user_id, "sandbox".to_owned(), noon()) }
}

async fn connected(store: &Store, user: &User, accounts: &[&Connecting], sealed: &[u8]) -> Connected {
    let hash = Random::Os.u64().to_string();
    let flow = a_connect_flow(user, FlowState::Completing);
    store.begin_connect_flow(&hash, &flow).await.unwrap();
    let ids = accounts.iter().map(|it| it.connection.profile.account_id.as_str());
    let mut found = store.connected_accounts(user.user_id, None, "sandbox", ids).await.unwrap();
    let find =
        |it: &&Connecting| Connecting { found: found.remove(&it.connection.profile.account_id), ..(*it).clone() };
    let accounts: Vec<_> = accounts.iter().map(find).collect();
    let mut granted: Vec<_> = accounts.iter().map(|it| credentials(it, sealed)).collect();
    granted.dedup_by_key(|it| it.grant_name.clone());
    store.connect(&hash, &flow, &accounts, &granted, None, noon()).await.unwrap()
}

fn done() -> Connected {
    Connected::Done { left: Vec::new() }
}

async fn record(store: &Store, account: &Connecting) -> ConnectionRecord {
    let connection = &account.connection;
    store.connection(connection.user_id, connection.connection_id).await.unwrap().unwrap()
}

async fn grant(store: &Store, account: &Connecting) -> CredentialsRecord {
    store.connection_credentials(&record(store, account).await).await.unwrap().unwrap()
}

/// Changes `pending` as the transaction of a post does.
async fn count_pending(store: &Store, account: &Connecting, by: i64) -> bool {
    let update = store
        .update_connection(account.connection.user_id, account.connection.connection_id)
        .update_expression("ADD pending :by")
        .condition_expression("attribute_exists(connection_id)")
        .expression_attribute_values(":by", n(by));
    update.send().await.is_ok()
}

#[tokio::test]
async fn connection_reads_back_as_stored() {
    let (store, user) = (store().await, a_user());
    let account = an_account(&user);

    assert_eq!(connected(&store, &user, &[&account], b"sealed").await, done());

    let (read, id) = (record(&store, &account).await, account.connection.connection_id);
    let generation = u64::try_from(noon().timestamp_millis()).unwrap();
    assert_eq!(read.connection, Connection { generation, ..account.connection.clone() });
    let grant = grant(&store, &account).await;
    assert_eq!((grant.sealed.as_slice(), grant.state.generation), (b"sealed".as_slice(), generation));
    assert_eq!(grant.connections, [id].into());
    assert_eq!(store.connections(user.user_id).await.unwrap(), [read.connection]);
    assert!(store.connection(a_user().user_id, id).await.unwrap().is_none(), "of another user");
    assert!(store.credentials(a_user().user_id, &grant.grant_name).await.unwrap().is_none(), "of another user");
}

#[tokio::test]
async fn grant_is_found_for_every_other_user_who_has_it() {
    let (store, one, another) = (store().await, a_user(), a_user());
    let (first, second) = (an_account(&one), an_account(&another));
    connected(&store, &one, &[&first], b"one").await;
    let mine = grant(&store, &first).await;
    assert!(store.other_users_records(&mine).await.unwrap().is_empty());
    connected(&store, &another, &[&second], b"two").await;

    let found = store.other_users_records(&mine).await.unwrap();
    assert_eq!(found.iter().map(|it| it.sealed.as_slice()).collect::<Vec<_>>(), [b"two"]);
    store.delete_connection(one.user_id, first.connection.connection_id, noon()).await.unwrap();
    assert_eq!(store.other_users_records(&mine).await.unwrap().len(), 1, "the grant itself need not exist");
    store.delete_connection(another.user_id, second.connection.connection_id, noon()).await.unwrap();
    assert!(store.other_users_records(&mine).await.unwrap().is_empty());
}

#[tokio::test]
async fn reconnecting_keeps_id_age_and_pending_posts() {
    let (store, user) = (store().await, a_user());
    let old = an_account(&user);
    connected(&store, &user, &[&old], b"old").await;
    assert!(count_pending(&store, &old, 2).await);
    let before = grant(&store, &old).await;
    let id = old.connection.connection_id;
    assert!(store.mark_needs_reconnection(id, &before, LostGrant::Grant).await.unwrap());
    assert!(store.end_credentials(&before).await.unwrap());

    let mut new = old.clone();
    new.connection.created_at = noon() + TimeDelta::days(9);
    new.connection.token_expires_at = Some(noon() + TimeDelta::hours(1));
    new.connection.profile.display_name = Some("New name".to_owned());
    assert_eq!(connected(&store, &user, &[&new], b"newer").await, done());

    let (read, grant) = (record(&store, &old).await.connection, grant(&store, &old).await);
    assert_eq!((grant.sealed.as_slice(), grant.state.is_gone), (b"newer".as_slice(), false));
    assert_eq!((read.created_at, read.pending), (noon(), 2));
    assert_eq!((read.generation, grant.state.generation), (before.state.generation + 1, before.state.generation + 1));
    assert!(!read.needs_reconnection);
    assert_eq!(read.token_expires_at, new.connection.token_expires_at);
    assert_eq!(read.profile.display_name.as_deref(), Some("New name"));
    assert_eq!(store.connections(user.user_id).await.unwrap().len(), 1);
    assert!(
        !store.mark_needs_reconnection(id, &before, LostGrant::Grant).await.unwrap(),
        "old credentials were refused"
    );
    assert!(!store.end_credentials(&before).await.unwrap(), "old credentials were refused");
}

#[tokio::test]
async fn concurrent_first_connects_create_one_connection() {
    let (store, user) = (store().await, a_user());
    let (one, other) = (an_account(&user), an_account(&user));
    let connect = async |account: &Connecting| {
        let hash = Random::Os.u64().to_string();
        let flow = a_connect_flow(&user, FlowState::Completing);
        store.begin_connect_flow(&hash, &flow).await.unwrap();
        let granted = [credentials(account, b"sealed")];
        store.connect(&hash, &flow, std::slice::from_ref(account), &granted, None, noon()).await.unwrap()
    };

    let (first, second) = tokio::join!(connect(&one), connect(&other));

    let mut ends = [first, second];
    ends.sort_by_key(|it| *it != done());
    assert_eq!(ends, [done(), Connected::Overtaken]);
    assert_eq!(store.connections(user.user_id).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_connect_flow_connects_once() {
    let (store, user) = (store().await, a_user());
    let flow = a_connect_flow(&user, FlowState::Completing);
    store.begin_connect_flow(HASH, &flow).await.unwrap();
    let mut other = an_account(&user);
    other.connection.profile.account_id = "2".to_owned();
    let connect = async |account: &Connecting, flow: &ConnectFlow| {
        let granted = [credentials(account, b"sealed")];
        store.connect(HASH, flow, std::slice::from_ref(account), &granted, None, noon()).await.unwrap()
    };

    let one = connect(&an_account(&user), &flow).await;
    let two = connect(&other, &flow).await;
    let ended = store.connect_flow(HASH).await.unwrap().unwrap();
    let three = connect(&other, &ended).await;

    assert_eq!([one, two, three], [done(), Connected::Overtaken, Connected::Closed]);
    assert_eq!(ended.state, FlowState::Completed);
    assert_eq!(ended.sealed, None, "deleted after its use");
    assert_eq!(store.connections(user.user_id).await.unwrap().len(), 1);
    assert!(store.connected_accounts(user.user_id, None, "sandbox", ["2"]).await.unwrap().is_empty());
}

#[tokio::test]
async fn connect_flow_connects_only_after_the_response_and_before_expiry() {
    let (store, user) = (store().await, a_user());
    let connect = async |state, now| {
        let hash = Random::Os.u64().to_string();
        let flow = a_connect_flow(&user, state);
        store.begin_connect_flow(&hash, &flow).await.unwrap();
        let account = an_account(&user);
        let granted = [credentials(&account, b"sealed")];
        store.connect(&hash, &flow, &[account], &granted, None, now).await.unwrap()
    };

    assert_eq!(connect(FlowState::AwaitingCallback, noon()).await, Connected::Closed, "early");
    assert_eq!(connect(FlowState::Completing, noon() + TimeDelta::seconds(600)).await, Connected::Closed, "late");
    assert!(store.connections(user.user_id).await.unwrap().is_empty());
}

#[tokio::test]
async fn account_with_pending_posts_is_not_disconnected() {
    let (store, user) = (store().await, a_user());
    let account = an_account(&user);
    let id = account.connection.connection_id;
    connected(&store, &user, &[&account], b"sealed").await;
    count_pending(&store, &account, 1).await;
    assert!(matches!(store.delete_connection(user.user_id, id, noon()).await.unwrap(), Disconnected::Pending(1)));

    count_pending(&store, &account, -1).await;
    let Disconnected::Deleted { ended, .. } = store.delete_connection(user.user_id, id, noon()).await.unwrap() else {
        panic!("nothing is pending any more");
    };
    assert_eq!(ended.unwrap().sealed, b"sealed");
    assert!(matches!(store.delete_connection(user.user_id, id, noon()).await.unwrap(), Disconnected::NotThere));
    assert!(store.credentials(user.user_id, &account.grant_name).await.unwrap().is_none());
    assert!(!count_pending(&store, &account, 1).await, "a post cannot use it");
    assert_eq!(connected(&store, &user, &[&account], b"sealed").await, done(), "can be connected again");
}

#[tokio::test]
async fn concurrent_disconnect_and_post_exclude_each_other() {
    let (store, user) = (store().await, a_user());
    for _ in 0..20 {
        let account = an_account(&user);
        let id = account.connection.connection_id;
        assert_eq!(connected(&store, &user, &[&account], b"sealed").await, done());

        let (deleted, scheduled) =
            tokio::join!(store.delete_connection(user.user_id, id, noon()), count_pending(&store, &account, 1));

        match deleted.unwrap() {
            Disconnected::Deleted { .. } => assert!(!scheduled),
            Disconnected::Pending(_) => {
                assert!(scheduled);
                count_pending(&store, &account, -1).await;
                store.delete_connection(user.user_id, id, noon()).await.unwrap();
            }
            Disconnected::NotThere => panic!("it was there"),
        }
    }
}

#[tokio::test]
async fn reconnecting_clears_refreshed_at() {
    let (store, user) = (store().await, a_user());
    let account = an_account(&user);
    connected(&store, &user, &[&account], b"sealed").await;
    let before = grant(&store, &account).await;
    let state = before.state.refreshed(RefreshReason::Need, None, noon(), noon());
    let refreshed = CredentialsRecord { sealed: vec![2], state, ..before.clone() };
    assert!(store.store_refreshed(&before, &refreshed).await.unwrap());
    assert!(store.mark_refreshed(account.connection.connection_id, &refreshed, None).await.unwrap());
    assert_eq!(record(&store, &account).await.connection.refreshed_at, Some(noon()));

    connected(&store, &user, &[&account], b"again").await;

    assert_eq!(record(&store, &account).await.connection.refreshed_at, None);
    assert_eq!(grant(&store, &account).await.state.refreshed_at, None);
}

#[tokio::test]
async fn connections_are_listed_oldest_first() {
    let (store, user) = (store().await, a_user());
    let ids = Ids::new(domain::clock::Clock::System, Random::Os);
    let mut made = Vec::new();
    for number in 0..5 {
        let mut connection = a_connection(&user);
        connection.connection_id = ids.fresh();
        connection.profile.account_id = number.to_string();
        made.push(connection.connection_id);
        connected(&store, &user, &[&account_of_grant(connection, None)], b"sealed").await;
    }
    let listed = store.connections(user.user_id).await.unwrap();
    assert_eq!(listed.iter().map(|it| it.connection_id).collect::<Vec<_>>(), made);
}

#[tokio::test]
async fn limited_owner_finds_and_deletes_only_connections_of_its_profile() {
    let (store, user) = (store().await, a_user());
    let (profile, other) = (a_profile(&user), a_profile(&user));
    for profile in [&profile, &other] {
        store.create_profile(profile, None).await.unwrap();
    }
    let mut connections = Vec::new();
    for of_profile in [None, Some(other.reference()), Some(profile.reference())] {
        let connection = Connection { of_profile, ..a_connection(&user) };
        crate::testing::connect(&store, &connection, &[1], None).await;
        connections.push(connection);
    }
    let (owner, ids) = (limited_to(&profile), connections.iter().map(|it| it.connection_id).collect::<Vec<_>>());

    assert_eq!(store.connections(owner).await.unwrap().iter().map(|it| it.connection_id).collect::<Vec<_>>(), ids[2..]);
    for id in &ids[..2] {
        assert!(store.connection(owner, *id).await.unwrap().is_none());
        assert!(matches!(store.delete_connection(owner, *id, noon()).await.unwrap(), Disconnected::NotThere));
    }
    assert!(store.connection(owner, ids[2]).await.unwrap().is_some());
    assert!(matches!(store.delete_connection(owner, ids[2], noon()).await.unwrap(), Disconnected::Deleted { .. }));
    assert_eq!(store.connections(user.user_id).await.unwrap().len(), 2);
}
