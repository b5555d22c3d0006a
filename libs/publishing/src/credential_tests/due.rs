//! The round of upkeep that refreshes credentials before they expire.

use std::time::Duration;

use domain::clock::Clock;
use domain::connection::Connection;
use domain::id::ConnectionId;
use domain::testing::a_connection;
use platforms::Registry;
use storage::REFRESH_SHARDS;
use storage::testing::connect;
use tokio::sync::Barrier;

use super::*;
use crate::testing::Registered;

const CONCURRENT: usize = 8;

/// Calls in a row, after which the other platforms come first.
const UNREACHABLE_CALLS: usize = 8;

async fn harness(platform: FakePlatform) -> PublishingHarness {
    PublishingHarness::with(0, FakePlatform { refresh_policy: Model::Rotating, ..platform }).await
}

async fn accounts(
    harness: &PublishingHarness,
    provider: &str,
    count: usize,
    credentials: &Credentials,
) -> Vec<Connection> {
    let mut made = Vec::new();
    for _ in 0..count {
        let id: ConnectionId = harness.scheduling.ids.fresh();
        let mut connection = a_connection(&harness.user);
        connection.connection_id = id;
        connection.provider = provider.to_owned();
        connection.profile.account_id = id.to_string();
        harness.connect(&connection, credentials.clone(), Some(noon())).await;
        made.push(connection);
    }
    made
}

fn ending() -> Credentials {
    PublishingHarness::credentials(Some(later(600)))
}

async fn waiting(harness: &PublishingHarness, until: DateTime<Utc>) -> usize {
    let mut count = 0;
    for shard in 0..REFRESH_SHARDS {
        count += harness.store.grants_to_refresh(shard, until, None, 1000).await.unwrap().entries.len();
    }
    count
}

async fn round(harness: &PublishingHarness) -> usize {
    tokio::time::timeout(
        Duration::from_secs(20),
        // Small pages, so that there are several.
        harness.publishing.credentials.refresh_due_in_pages(&harness.refreshable, 2),
    )
    .await
    .unwrap()
    .unwrap()
}

#[tokio::test]
async fn all_due_credentials_are_refreshed_across_pages() {
    let harness = harness(FakePlatform::default()).await;
    accounts(&harness, "sandbox", 30, &ending()).await;

    assert_eq!(round(&harness).await, 30);

    assert_eq!(waiting(&harness, noon()).await, 0);
    let week = noon() + TimeDelta::days(7);
    assert_eq!(waiting(&harness, week - TimeDelta::seconds(1)).await, 0, "an access token may end");
    assert_eq!(waiting(&harness, week).await, 30);
}

#[tokio::test]
async fn disabled_platform_is_rescheduled_and_delays_no_other() {
    let harness = harness(FakePlatform::default()).await;
    accounts(&harness, "switched-off", 20, &ending()).await;
    accounts(&harness, "sandbox", 4, &ending()).await;

    assert_eq!(round(&harness).await, 4);

    assert_eq!(waiting(&harness, later(3600)).await, 0);
    assert_eq!(waiting(&harness, noon() + TimeDelta::days(1)).await, 20);
}

#[tokio::test]
async fn unreadable_credentials_are_rescheduled_and_delay_no_other() {
    let harness = harness(FakePlatform::default()).await;
    for connection in accounts(&harness, "sandbox", 12, &ending()).await {
        connect(&harness.store, &connection, b"broken", Some(noon())).await;
    }
    accounts(&harness, "sandbox", 2, &ending()).await;

    assert_eq!(round(&harness).await, 2);

    assert_eq!(waiting(&harness, later(3600)).await, 0);
}

#[tokio::test]
async fn unrefreshable_grant_warns_then_needs_reconnection() {
    let harness = harness(FakePlatform::default()).await;
    let ends_at = noon() + TimeDelta::days(60);
    let without = Credentials { refresh_token: None, ..PublishingHarness::credentials(Some(ends_at)) };
    let connection = accounts(&harness, "sandbox", 1, &without).await.remove(0);
    let needs_reconnection = async || {
        let read = harness.store.connection(connection.user_id, connection.connection_id).await;
        read.unwrap().unwrap().connection.needs_reconnection
    };

    // Checked too early, at the warning, and at the end.
    let (second, day) = (TimeDelta::seconds(1), TimeDelta::days(1));
    let warned_at = ends_at - day * 7;
    for (from, until, events) in [
        (noon(), noon() + day * 7, &[][..]),
        (noon() + day * 49, warned_at, &[]),
        (warned_at, ends_at, &["connection.expiring"]),
        (ends_at, ends_at, &["connection.expiring", "connection.needs_reconnection"]),
    ] {
        harness.clock.skip_to(from);
        assert_eq!((round(&harness).await, needs_reconnection().await), (0, from == ends_at), "{from}");
        assert_eq!(harness.events.types(), events, "{from}");
        let waits = usize::from(from != ends_at);
        assert_eq!((waiting(&harness, until - second).await, waiting(&harness, until).await), (0, waits), "{from}");
    }

    let events_sent = harness.events.all();
    assert_eq!(events_sent[0].detail["expires_at"], domain::schedule::show(ends_at));
    assert_eq!(events_sent[0].detail["connection_id"], serde_json::json!(connection.connection_id));
    assert_eq!(waiting(&harness, ends_at + TimeDelta::days(99)).await, 0);
}

#[tokio::test]
async fn unlimited_credentials_are_checked_every_week() {
    let harness = PublishingHarness::with(0, FakePlatform::default()).await;
    accounts(&harness, "sandbox", 1, &PublishingHarness::credentials(None)).await;

    assert_eq!(round(&harness).await, 0);

    let week = noon() + TimeDelta::days(7);
    assert_eq!((waiting(&harness, week - TimeDelta::seconds(1)).await, waiting(&harness, week).await), (0, 1));
    assert_eq!(harness.events.types(), [""; 0]);
}

#[tokio::test]
async fn eight_grants_are_refreshed_concurrently() {
    // No call ends before eight have started.
    let harness = harness(FakePlatform { meeting: Some(Barrier::new(8)), ..FakePlatform::default() }).await;
    accounts(&harness, "sandbox", 16, &ending()).await;

    assert_eq!(round(&harness).await, 16);
}

#[tokio::test]
async fn ninth_refresh_waits_until_another_ends() {
    // No call ends before nine have started.
    let harness = harness(FakePlatform { meeting: Some(Barrier::new(9)), ..FakePlatform::default() }).await;
    accounts(&harness, "sandbox", 9, &ending()).await;

    let others_are_slow = async {
        while harness.fake.refreshing.lock().unwrap().1 < 8 {
            waiting(&harness, noon()).await;
        }
        // Enough time for one more.
        for _ in 0..50 {
            waiting(&harness, noon()).await;
        }
    };
    let ended = tokio::select! {
        refreshes = round(&harness) => Some(refreshes),
        () = others_are_slow => None,
    };

    assert_eq!((ended, harness.fake.refreshing.lock().unwrap().1), (None, 8));
}

fn slow(name: &'static str, clock: &Clock, seconds: i64) -> FakePlatform {
    let clock = clock.clone();
    let on_refresh = Box::new(move || clock.advance(TimeDelta::seconds(seconds)));
    FakePlatform {
        name: Some(name),
        refresh_policy: Model::Rotating,
        on_refresh: Some(on_refresh),
        ..FakePlatform::default()
    }
}

fn add_platform(harness: &mut PublishingHarness, platform: FakePlatform) -> Arc<FakePlatform> {
    let platform = Arc::new(platform);
    harness.refreshable = Registry::from_adapters(vec![
        Box::new(Registered(Arc::clone(&harness.fake))),
        Box::new(Registered(Arc::clone(&platform))),
    ]);
    platform
}

#[tokio::test]
async fn round_starts_nothing_after_its_time_and_next_continues() {
    let mut harness = harness(FakePlatform::default()).await;
    let slow = slow("slow", &harness.clock, 10);
    add_platform(&mut harness, slow);
    accounts(&harness, "slow", 40, &ending()).await;

    let first = round(&harness).await;
    let second = round(&harness).await;
    let third = round(&harness).await;

    // Twelve fit into a round, and those that had started by then.
    for refreshes in [first, second] {
        assert!((12..12 + CONCURRENT).contains(&refreshes), "{refreshes}");
    }
    assert_eq!(first + second + third, 40);
}

#[tokio::test]
async fn unreachable_platform_does_not_delay_others() {
    let mut harness = harness(FakePlatform::default()).await;
    let away = slow("away", &harness.clock, 5);
    away.refresh_faults.lock().unwrap().extend(vec![RefreshFault::Unreachable; 1000]);
    let away = add_platform(&mut harness, away);
    // One after the other they would take longer than a round.
    accounts(&harness, "away", 100, &ending()).await;
    accounts(&harness, "sandbox", 10, &ending()).await;

    assert_eq!(round(&harness).await, 10);

    let refresh_calls = usize::try_from(*away.refreshes.lock().unwrap()).unwrap();
    assert!(
        UNREACHABLE_CALLS < refresh_calls && refresh_calls < 40,
        "and it is asked again afterwards: {refresh_calls}"
    );
}

#[tokio::test]
async fn briefly_unreachable_platform_is_retried_in_the_same_round() {
    let mut harness = harness(FakePlatform::default()).await;
    let away = slow("away", &harness.clock, 0);
    away.refresh_faults.lock().unwrap().extend(vec![RefreshFault::Unreachable; UNREACHABLE_CALLS + CONCURRENT]);
    add_platform(&mut harness, away);
    accounts(&harness, "away", 100, &ending()).await;

    let refreshes = round(&harness).await;

    assert!(100 - 2 * CONCURRENT <= refreshes, "{refreshes}");
}
