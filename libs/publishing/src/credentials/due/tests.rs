use std::sync::Arc;
use std::time::Duration;

use domain::clock::Clock;
use domain::connection::Connection;
use domain::id::ConnectionId;
use domain::testing::{a_connection, noon};
use platforms::{RefreshPolicy as Model, Registry};
use storage::testing::connect;
use tokio::sync::Barrier;

use super::*;
use crate::testing::{Network, RefreshFault, Registered, Rig, later};

/// A deployment with this platform and no accounts.
async fn rig(platform: Network) -> Rig {
    Rig::with(0, Network { renewal: Model::Rotating, ..platform }).await
}

/// Connects `count` accounts on a platform whose credentials are due at noon.
async fn accounts(rig: &Rig, provider: &str, count: usize, credentials: &Credentials) -> Vec<Connection> {
    let mut made = Vec::new();
    for _ in 0..count {
        let id: ConnectionId = rig.publishing.ids.fresh();
        let mut connection = a_connection(&rig.user);
        connection.connection_id = id;
        connection.provider = provider.to_owned();
        connection.profile.account_id = id.to_string();
        rig.connect(&connection, credentials.clone(), Some(noon())).await;
        made.push(connection);
    }
    made
}

fn ending() -> Credentials {
    Rig::credentials(Some(later(600)))
}

/// Number of entries of the index until then.
async fn waiting(rig: &Rig, until: DateTime<Utc>) -> usize {
    let mut count = 0;
    for shard in 0..REFRESH_SHARDS {
        count += rig.store.grants_to_refresh(shard, until, None, 1000).await.unwrap().entries.len();
    }
    count
}

async fn round(rig: &Rig) -> usize {
    tokio::time::timeout(Duration::from_secs(20), rig.publishing.credential_service().refresh_due(&rig.renewable))
        .await
        .unwrap()
        .unwrap()
}

#[tokio::test]
async fn all_due_credentials_are_refreshed_across_pages() {
    let rig = rig(Network::default()).await;
    accounts(&rig, "sandbox", 30, &ending()).await;

    assert_eq!(round(&rig).await, 30);

    assert_eq!(waiting(&rig, noon()).await, 0);
    let week = noon() + TimeDelta::days(7);
    assert_eq!(waiting(&rig, week - TimeDelta::seconds(1)).await, 0, "an access token may end");
    assert_eq!(waiting(&rig, week).await, 30);
}

#[tokio::test]
async fn disabled_platform_is_rescheduled_and_delays_no_other() {
    let rig = rig(Network::default()).await;
    accounts(&rig, "switched-off", 20, &ending()).await;
    accounts(&rig, "sandbox", 4, &ending()).await;

    assert_eq!(round(&rig).await, 4);

    assert_eq!(waiting(&rig, later(3600)).await, 0);
    assert_eq!(waiting(&rig, noon() + TOMORROW).await, 20);
}

#[tokio::test]
async fn unreadable_credentials_are_rescheduled_and_delay_no_other() {
    let rig = rig(Network::default()).await;
    for connection in accounts(&rig, "sandbox", 12, &ending()).await {
        connect(&rig.store, &connection, b"broken", Some(noon())).await;
    }
    accounts(&rig, "sandbox", 2, &ending()).await;

    assert_eq!(round(&rig).await, 2);

    assert_eq!(waiting(&rig, later(3600)).await, 0);
}

#[tokio::test]
async fn unrefreshable_grant_warns_then_needs_reconnection() {
    let rig = rig(Network::default()).await;
    let ends_at = noon() + TimeDelta::days(60);
    let without = Credentials { refresh_token: None, ..Rig::credentials(Some(ends_at)) };
    let connection = accounts(&rig, "sandbox", 1, &without).await.remove(0);
    let needs_reconnection = async || {
        let read = rig.store.connection(connection.user_id, connection.connection_id).await;
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
        rig.clock.skip_to(from);
        assert_eq!((round(&rig).await, needs_reconnection().await), (0, from == ends_at), "{from}");
        assert_eq!(rig.events.types(), events, "{from}");
        let waits = usize::from(from != ends_at);
        assert_eq!((waiting(&rig, until - second).await, waiting(&rig, until).await), (0, waits), "{from}");
    }

    let events_sent = rig.events.all();
    assert_eq!(events_sent[0].detail["expires_at"], domain::schedule::show(ends_at));
    assert_eq!(events_sent[0].detail["connection_id"], serde_json::json!(connection.connection_id));
    assert_eq!(waiting(&rig, ends_at + TimeDelta::days(99)).await, 0);
}

#[tokio::test]
async fn unlimited_credentials_are_checked_every_week() {
    let rig = Rig::with(0, Network::default()).await;
    accounts(&rig, "sandbox", 1, &Rig::credentials(None)).await;

    assert_eq!(round(&rig).await, 0);

    let week = noon() + TimeDelta::days(7);
    assert_eq!((waiting(&rig, week - TimeDelta::seconds(1)).await, waiting(&rig, week).await), (0, 1));
    assert_eq!(rig.events.types(), [""; 0]);
}

#[tokio::test]
async fn eight_grants_are_refreshed_concurrently() {
    // No call ends before eight have started.
    let rig = rig(Network { meeting: Some(Barrier::new(8)), ..Network::default() }).await;
    accounts(&rig, "sandbox", 16, &ending()).await;

    assert_eq!(round(&rig).await, 16);
}

#[tokio::test]
async fn ninth_refresh_waits_until_another_ends() {
    // No call ends before nine have started.
    let rig = rig(Network { meeting: Some(Barrier::new(9)), ..Network::default() }).await;
    accounts(&rig, "sandbox", 9, &ending()).await;

    let others_are_slow = async {
        while rig.network.renewing.lock().unwrap().1 < 8 {
            waiting(&rig, noon()).await;
        }
        // Enough time for one more.
        for _ in 0..50 {
            waiting(&rig, noon()).await;
        }
    };
    let ended = tokio::select! {
        renewed = round(&rig) => Some(renewed),
        () = others_are_slow => None,
    };

    assert_eq!((ended, rig.network.renewing.lock().unwrap().1), (None, 8));
}

/// A platform with another name whose refresh takes this long.
fn slow(name: &'static str, clock: &Clock, seconds: i64) -> Network {
    let clock = clock.clone();
    let on_renewal = Box::new(move || clock.advance(TimeDelta::seconds(seconds)));
    Network { name: Some(name), renewal: Model::Rotating, on_renewal: Some(on_renewal), ..Network::default() }
}

/// Adds this platform to the one of the rig.
fn add_platform(rig: &mut Rig, platform: Network) -> Arc<Network> {
    let platform = Arc::new(platform);
    rig.renewable = Registry::from_adapters(vec![
        Box::new(Registered(Arc::clone(&rig.network))),
        Box::new(Registered(Arc::clone(&platform))),
    ]);
    platform
}

#[tokio::test]
async fn round_starts_nothing_after_its_time_and_next_continues() {
    let mut rig = rig(Network::default()).await;
    let slow = slow("slow", &rig.clock, 10);
    add_platform(&mut rig, slow);
    accounts(&rig, "slow", 40, &ending()).await;

    let first = round(&rig).await;
    let second = round(&rig).await;
    let third = round(&rig).await;

    // Twelve fit into a round, and those that had started by then.
    for renewed in [first, second] {
        assert!((12..12 + AT_ONCE).contains(&renewed), "{renewed}");
    }
    assert_eq!(first + second + third, 40);
}

#[tokio::test]
async fn unreachable_platform_does_not_delay_others() {
    let mut rig = rig(Network::default()).await;
    let away = slow("away", &rig.clock, 5);
    away.renewals.lock().unwrap().extend(vec![RefreshFault::Unreachable; 1000]);
    let away = add_platform(&mut rig, away);
    // One after the other they would take longer than a round.
    accounts(&rig, "away", 100, &ending()).await;
    accounts(&rig, "sandbox", 10, &ending()).await;

    assert_eq!(round(&rig).await, 10);

    let refresh_calls = usize::try_from(*away.renewed.lock().unwrap()).unwrap();
    assert!(
        usize::try_from(AWAY).unwrap() < refresh_calls && refresh_calls < 40,
        "and it is asked again afterwards: {refresh_calls}"
    );
}

#[tokio::test]
async fn briefly_unreachable_platform_is_retried_in_the_same_round() {
    let mut rig = rig(Network::default()).await;
    let away = slow("away", &rig.clock, 0);
    away.renewals.lock().unwrap().extend(vec![RefreshFault::Unreachable; usize::try_from(AWAY).unwrap() + AT_ONCE]);
    add_platform(&mut rig, away);
    accounts(&rig, "away", 100, &ending()).await;

    let renewed = round(&rig).await;

    assert!(100 - 2 * AT_ONCE <= renewed, "{renewed}");
}
