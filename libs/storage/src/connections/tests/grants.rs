use super::*;

fn accounts_of_grant(user: &User, ids: &[&str], grant: &str) -> Vec<Connecting> {
    let made = domain::testing::ids();
    let account = |id: &&str| {
        let mut connection = a_connection(user);
        connection.connection_id = made.fresh();
        connection.profile.account_id = (*id).to_owned();
        account_of_grant(connection, Some(grant))
    };
    ids.iter().map(account).collect()
}

async fn disconnect(store: &Store, account: &Connecting) -> Option<CredentialsRecord> {
    let connection = &account.connection;
    match store.delete_connection(connection.user_id, connection.connection_id, noon()).await.unwrap() {
        Disconnected::Deleted { ended, .. } => ended.map(|it| *it),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn accounts_of_one_grant_share_its_credentials() {
    let (store, user) = (store().await, a_user());
    let accounts = accounts_of_grant(&user, &["a", "b", "c"], "person");
    let hash = "several";
    let flow = a_connect_flow(&user, FlowState::ChoosingAccounts);
    store.begin_connect_flow(hash, &flow).await.unwrap();

    let granted = [credentials(&accounts[0], b"shared")];
    let connected = store.connect(hash, &flow, &accounts, &granted, Some("not all"), noon()).await.unwrap();

    assert_eq!(connected, done());
    let ids: Vec<_> = accounts.iter().map(|it| it.connection.connection_id).collect();
    for account in &accounts {
        let grant = grant(&store, account).await;
        assert_eq!((grant.sealed.as_slice(), grant.connections), (b"shared".as_slice(), ids.iter().copied().collect()));
    }
    let ended = store.connect_flow(hash).await.unwrap().unwrap();
    assert_eq!((ended.connection_id, ended.also_connected), (Some(ids[0]), ids[1..].to_vec()));
    assert_eq!(ended.reason.as_deref(), Some("not all"));
}

#[tokio::test]
async fn credentials_are_deleted_with_their_last_account() {
    let (store, user) = (store().await, a_user());
    let accounts = accounts_of_grant(&user, &["a", "b"], "person");
    connected(&store, &user, &accounts.iter().collect::<Vec<_>>(), b"shared").await;

    assert_eq!(disconnect(&store, &accounts[0]).await, None, "the other one needs them");
    assert_eq!(grant(&store, &accounts[1]).await.connections, [accounts[1].connection.connection_id].into());
    assert_eq!(disconnect(&store, &accounts[1]).await.unwrap().sealed, b"shared");

    assert!(store.credentials(user.user_id, "sandbox/person").await.unwrap().is_none());
}

#[tokio::test]
async fn concurrent_disconnects_delete_shared_credentials_once() {
    let (store, user) = (store().await, a_user());
    for _ in 0..10 {
        let accounts = accounts_of_grant(&user, &["a", "b"], "person");
        connected(&store, &user, &accounts.iter().collect::<Vec<_>>(), b"shared").await;

        let (one, other) = tokio::join!(disconnect(&store, &accounts[0]), disconnect(&store, &accounts[1]));

        assert!(one.is_some() ^ other.is_some(), "{one:?} {other:?}");
        assert!(store.credentials(user.user_id, "sandbox/person").await.unwrap().is_none());
    }
}

#[tokio::test]
async fn account_of_a_new_grant_leaves_the_old_grant() {
    let (store, user) = (store().await, a_user());
    let accounts = accounts_of_grant(&user, &["a", "b"], "person");
    connected(&store, &user, &accounts.iter().collect::<Vec<_>>(), b"first").await;
    let by_another = |account: &Connecting| account_of_grant(account.connection.clone(), Some("another"));

    assert_eq!(connected(&store, &user, &[&by_another(&accounts[0])], b"second").await, done());
    assert_eq!(grant(&store, &accounts[0]).await.sealed, b"second");
    assert_eq!(grant(&store, &accounts[1]).await.connections, [accounts[1].connection.connection_id].into());

    let Connected::Done { left } = connected(&store, &user, &[&by_another(&accounts[1])], b"third").await else {
        panic!("it is connected");
    };
    assert_eq!(left.iter().map(|it| it.sealed.as_slice()).collect::<Vec<_>>(), [b"first"], "no connection uses them");
    assert!(store.credentials(user.user_id, "sandbox/person").await.unwrap().is_none());
    let both = accounts.iter().map(|it| it.connection.connection_id).collect();
    assert_eq!(grant(&store, &accounts[0]).await.connections, both);
}

#[tokio::test]
async fn older_generation_does_not_change_a_connection() {
    let (store, user) = (store().await, a_user());
    let account = an_account(&user);
    let id = account.connection.connection_id;
    connected(&store, &user, &[&account], b"sealed").await;
    let first = grant(&store, &account).await;
    let refreshed = |by: u64| {
        let state = CredentialState { generation: first.state.generation + by, ..first.state.clone() };
        CredentialsRecord { state, ..first.clone() }
    };
    let needs = async || record(&store, &account).await.connection.needs_reconnection;

    assert!(store.mark_needs_reconnection(id, &refreshed(2), LostGrant::Grant).await.unwrap());
    assert!(!store.mark_needs_reconnection(id, &refreshed(2), LostGrant::Grant).await.unwrap(), "already marked");
    assert!(!store.mark_refreshed(id, &refreshed(2), None).await.unwrap(), "the refused credentials");
    assert!(needs().await);
    assert!(store.mark_refreshed(id, &refreshed(3), None).await.unwrap());
    assert!(!needs().await);
    assert!(!store.mark_needs_reconnection(id, &refreshed(2), LostGrant::Grant).await.unwrap());
    assert!(!needs().await);

    assert!(store.mark_needs_reconnection(id, &refreshed(3), LostGrant::Account).await.unwrap());
    assert!(
        !store.mark_refreshed(id, &refreshed(4), None).await.unwrap(),
        "a refresh of the grant does not restore the account"
    );
    connected(&store, &user, &[&account], b"again").await;
    assert!(!needs().await);
}
