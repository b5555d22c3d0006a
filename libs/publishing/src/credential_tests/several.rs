use domain::connection::Connection;
use domain::testing::a_connection;
use storage::testing::a_connect_flow;
use storage::{Connecting, NewCredentials, grant_context, own_secret_context};

use super::*;

const GRANT: &str = "sandbox/person";

/// Three accounts of one grant whose credentials expire in half a minute; the last one has a secret
/// of its own.
async fn harness(refresh_faults: impl IntoIterator<Item = RefreshFault>) -> PublishingHarness {
    let platform = FakePlatform { refresh_policy: Model::Rotating, ..FakePlatform::default() };
    platform.refresh_faults.lock().unwrap().extend(refresh_faults);
    let mut harness = PublishingHarness::with(0, platform).await;
    let credentials = PublishingHarness::credentials(Some(later(30)));
    let mut connecting = Vec::new();
    for index in 0..3 {
        let mut connection = a_connection(&harness.user);
        connection.connection_id = harness.scheduling.ids.fresh();
        connection.profile.account_id = index.to_string();
        let context = own_secret_context(connection.user_id, connection.connection_id, "sandbox");
        let own = harness.sealer.seal(b"own secret", &context).await.unwrap();
        harness.accounts.push(connection.clone());
        let own = (index == 2).then_some(own);
        connecting.push(Connecting { connection, grant_name: GRANT.to_owned(), own, found: None });
    }
    let context = grant_context(harness.user.user_id, GRANT);
    let granted = NewCredentials {
        grant_name: GRANT.to_owned(),
        sealed: harness.sealer.seal(credentials.to_bytes().expose_secret().as_bytes(), &context).await.unwrap(),
        token_expires_at: credentials.expires_at,
        refresh_at: Some(noon()),
    };
    let flow = a_connect_flow(harness.user.user_id, "sandbox", noon());
    harness.store.begin_connect_flow("state", &flow).await.unwrap();
    harness.store.connect("state", &flow, &connecting, &[granted], None, noon()).await.unwrap();
    harness
}

async fn lost(harness: &PublishingHarness) -> [bool; 3] {
    let mut lost = [false; 3];
    for (index, it) in lost.iter_mut().enumerate() {
        *it = harness.connection(index).await.connection.needs_reconnection;
    }
    lost
}

#[tokio::test]
async fn one_refresh_serves_all_accounts_of_the_grant() {
    let harness = harness([RefreshFault::Rotated]).await;

    assert_eq!(harness.publishing.credentials.refresh_due(&harness.refreshable).await.unwrap(), 1);

    assert_eq!(refreshes(&harness), 1);
    for index in 0..3 {
        let record = harness.connection(index).await;
        assert_eq!(token(&given(&harness, &record).await.unwrap()), "token1");
        let Connection { token_expires_at, refreshed_at, .. } = record.connection;
        assert_eq!((token_expires_at, refreshed_at), (None, Some(noon())));
    }
    assert_eq!(refreshes(&harness), 1);
}

#[tokio::test]
async fn concurrent_posts_of_one_grant_share_a_refresh() {
    let harness = harness([RefreshFault::Rotated]).await;
    let records = [harness.connection(0).await, harness.connection(1).await, harness.connection(2).await];

    let ends = futures::future::join_all(records.iter().map(|it| given(&harness, it))).await;

    assert_eq!(refreshes(&harness), 1);
    assert!(ends.iter().any(|it| it.as_ref().is_ok_and(|it| token(it) == "token1")), "{ends:?}");
}

#[tokio::test]
async fn lost_grant_emits_an_event_for_each_account() {
    let harness = harness([RefreshFault::Gone]).await;

    assert_eq!(harness.publishing.credentials.refresh_due(&harness.refreshable).await.unwrap(), 0);

    assert_eq!(lost(&harness).await, [true; 3]);
    let ids: std::collections::BTreeSet<_> =
        harness.events.all().iter().map(|it| it.detail["id"].to_string()).collect();
    assert_eq!((harness.events.types(), ids.len()), (vec!["connection.needs_reconnection"; 3], 3));
    assert_eq!(harness.publishing.credentials.refresh_due(&harness.refreshable).await.unwrap(), 0);
    assert_eq!(refreshes(&harness), 1);
}

#[tokio::test]
async fn account_has_its_own_secret_next_to_the_grant() {
    let harness = harness([]).await;

    let first = given(&harness, &harness.connection(0).await).await.unwrap();
    let last = given(&harness, &harness.connection(2).await).await.unwrap();

    assert!(first.own_token.is_none());
    assert_eq!(last.own_token.unwrap().expose_secret(), "own secret");
}

#[tokio::test]
async fn rejected_own_secret_loses_only_that_account() {
    let harness = harness([RefreshFault::Rotated]).await;
    let (account, used) = (harness.connection(2).await, harness.grant(2).await);
    let platform = harness.refreshable.get("sandbox").unwrap();

    let error = harness.publishing.credentials.rejected(platform, &account, &used, "no".to_owned()).await;

    assert!(matches!(error, AttemptError::Unauthorized { .. }), "{error:?}");
    assert_eq!((lost(&harness).await, refreshes(&harness)), ([false, false, true], 0));
    assert_eq!(harness.publishing.credentials.refresh_due(&harness.refreshable).await.unwrap(), 1);
    assert_eq!(lost(&harness).await, [false, false, true], "the grant was refreshes, which does not help it");
}
