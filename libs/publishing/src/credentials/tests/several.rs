//! A grant that covers several accounts, and credentials from before grants had records of their
//! own.

use domain::connection::Connection;
use domain::testing::a_connection;
use storage::testing::{a_connect_flow, connect_legacy};
use storage::{Connecting, KeptIn, NewCredentials, credentials_context, grant_context};

use super::*;

const GRANT: &str = "sandbox/person";

/// Three accounts of one grant whose credentials expire in half a minute; the last one has a secret
/// of its own.
async fn rig(renewals: impl IntoIterator<Item = RefreshFault>) -> Rig {
    let platform = Network { renewal: Model::Rotating, ..Network::default() };
    platform.renewals.lock().unwrap().extend(renewals);
    let mut rig = Rig::with(0, platform).await;
    let credentials = Rig::credentials(Some(later(30)));
    let mut connecting = Vec::new();
    for index in 0..3 {
        let mut connection = a_connection(&rig.user);
        connection.connection_id = rig.publishing.ids.fresh();
        connection.profile.account_id = index.to_string();
        let context = credentials_context(connection.user_id, connection.connection_id, "sandbox");
        let own = rig.sealer.seal(b"own secret", &context).await.unwrap();
        rig.accounts.push(connection.clone());
        let own = (index == 2).then_some(own);
        connecting.push(Connecting { connection, grant_name: GRANT.to_owned(), own, found: None });
    }
    let context = grant_context(rig.user.user_id, GRANT);
    let granted = NewCredentials {
        grant_name: GRANT.to_owned(),
        sealed: rig.sealer.seal(credentials.to_bytes().expose_secret().as_bytes(), &context).await.unwrap(),
        token_expires_at: credentials.expires_at,
        renewed_at: None,
        is_gone: false,
        refresh_at: Some(noon()),
    };
    rig.store.begin_connect_flow("state", &a_connect_flow(rig.user.user_id, "sandbox", noon())).await.unwrap();
    rig.store.connect("state", &connecting, &[granted], None, noon()).await.unwrap();
    rig
}

async fn lost(rig: &Rig) -> [bool; 3] {
    let mut lost = [false; 3];
    for (index, it) in lost.iter_mut().enumerate() {
        *it = rig.connection(index).await.connection.needs_reconnection;
    }
    lost
}

#[tokio::test]
async fn one_refresh_serves_all_accounts_of_the_grant() {
    let rig = rig([RefreshFault::Rotated]).await;

    assert_eq!(rig.publishing.credential_service().refresh_due(&rig.renewable).await.unwrap(), 1);

    assert_eq!(renewed(&rig), 1);
    for index in 0..3 {
        let record = rig.connection(index).await;
        assert_eq!(token(&given(&rig, &record).await.unwrap()), "token1");
        let Connection { token_expires_at, renewed_at, .. } = record.connection;
        assert_eq!((token_expires_at, renewed_at), (None, Some(noon())));
    }
    assert_eq!(renewed(&rig), 1);
}

#[tokio::test]
async fn concurrent_posts_of_one_grant_share_a_refresh() {
    let rig = rig([RefreshFault::Rotated]).await;
    let records = [rig.connection(0).await, rig.connection(1).await, rig.connection(2).await];

    let ends = futures::future::join_all(records.iter().map(|it| given(&rig, it))).await;

    assert_eq!(renewed(&rig), 1);
    assert!(ends.iter().any(|it| it.as_ref().is_ok_and(|it| token(it) == "token1")), "{ends:?}");
}

#[tokio::test]
async fn lost_grant_emits_an_event_for_each_account() {
    let rig = rig([RefreshFault::Gone]).await;

    assert_eq!(rig.publishing.credential_service().refresh_due(&rig.renewable).await.unwrap(), 0);

    assert_eq!(lost(&rig).await, [true; 3]);
    let ids: std::collections::BTreeSet<_> = rig.events.all().iter().map(|it| it.detail["id"].to_string()).collect();
    assert_eq!((rig.events.types(), ids.len()), (vec!["connection.needs_reconnection"; 3], 3));
    assert_eq!(rig.publishing.credential_service().refresh_due(&rig.renewable).await.unwrap(), 0);
    assert_eq!(renewed(&rig), 1);
}

#[tokio::test]
async fn account_has_its_own_secret_next_to_the_grant() {
    let rig = rig([]).await;

    let first = given(&rig, &rig.connection(0).await).await.unwrap();
    let last = given(&rig, &rig.connection(2).await).await.unwrap();

    assert!(first.own_token.is_none());
    assert_eq!(last.own_token.unwrap().expose_secret(), "own secret");
}

#[tokio::test]
async fn rejected_own_secret_loses_only_that_account() {
    let rig = rig([RefreshFault::Rotated]).await;
    let (account, used) = (rig.connection(2).await, rig.grant(2).await);
    let platform = rig.renewable.get("sandbox").unwrap();

    let error = rig.publishing.credential_service().rejected(platform, &account, &used, "no".to_owned()).await;

    assert!(matches!(error, AttemptError::Unauthorized { .. }), "{error:?}");
    assert_eq!((lost(&rig).await, renewed(&rig)), ([false, false, true], 0));
    assert_eq!(rig.publishing.credential_service().refresh_due(&rig.renewable).await.unwrap(), 1);
    assert_eq!(lost(&rig).await, [false, false, true], "the grant was renewed, which does not help it");
}

/// An account that was connected before grants had records of their own, with credentials that
/// expire in half a minute.
async fn rig_with_legacy_credentials(renewals: impl IntoIterator<Item = RefreshFault>) -> Rig {
    let platform = Network { renewal: Model::Rotating, ..Network::default() };
    platform.renewals.lock().unwrap().extend(renewals);
    let mut rig = Rig::with(0, platform).await;
    let mut connection = a_connection(&rig.user);
    connection.token_expires_at = Some(later(30));
    let credentials = Rig::credentials(connection.token_expires_at);
    let context = credentials_context(connection.user_id, connection.connection_id, "sandbox");
    let sealed = rig.sealer.seal(credentials.to_bytes().expose_secret().as_bytes(), &context).await.unwrap();
    connect_legacy(&rig.store, &connection, &sealed, Some(noon())).await;
    rig.accounts.push(connection);
    rig
}

#[tokio::test]
async fn valid_legacy_credentials_are_used_in_place() {
    let rig = rig_with_legacy_credentials([]).await;
    rig.store.remove_from_refresh_index(&rig.accounts[0]).await.unwrap();
    let mut record = rig.connection(0).await;
    assert!(matches!(record.kept, KeptIn::Connection(_)));
    record.connection.needs_reconnection = false;
    let platform = rig.renewable.get("sandbox").unwrap();

    let given = rig
        .publishing
        .credential_service()
        .credentials(platform, &record, noon() - TimeDelta::minutes(5))
        .await
        .unwrap()
        .unwrap();

    assert_eq!((token(&given.credentials), renewed(&rig)), ("first", 0));
}

#[tokio::test]
async fn legacy_credentials_move_when_they_are_refreshed() {
    let rig = rig_with_legacy_credentials([RefreshFault::Rotated]).await;

    let given = given(&rig, &rig.connection(0).await).await.unwrap();

    assert_eq!(token(&given), "token1");
    assert_eq!(rig.connection(0).await.grant_name(), Some("sandbox/1"));
    assert_eq!(token(&rig.stored_credentials(0).await), "token1");
}

#[tokio::test]
async fn due_legacy_credentials_are_moved_and_refreshed_in_one_round() {
    let rig = rig_with_legacy_credentials([RefreshFault::Rotated]).await;

    assert_eq!(rig.publishing.credential_service().refresh_due(&rig.renewable).await.unwrap(), 1);

    assert_eq!(rig.connection(0).await.grant_name(), Some("sandbox/1"));
    assert_eq!(token(&rig.stored_credentials(0).await), "token1");
}

#[tokio::test]
async fn lost_legacy_grant_needs_reconnection() {
    let rig = rig_with_legacy_credentials([RefreshFault::Gone]).await;
    let post = rig.schedule("Hello", noon()).await;

    rig.live(later(60)).await;

    assert!(rig.connection(0).await.connection.needs_reconnection);
    assert_eq!(rig.events.types(), ["post.scheduled", "connection.needs_reconnection"]);
    rig.reconnect(0, Rig::credentials(None), None).await;
    goes_out(&rig, &post, later(1200)).await;
}
