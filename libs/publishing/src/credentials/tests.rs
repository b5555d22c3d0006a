use domain::post::PostStatus;
use domain::testing::noon;

use super::*;
use crate::testing::{Fate, Network, Renewal, Rig, TICK, later};

/// Credentials that end soon, on a platform that renews them an hour before.
async fn rig(renewals: impl IntoIterator<Item = Renewal>) -> Rig {
    let network = Network { refresh_lead: Some(TimeDelta::hours(1)), ..Network::default() };
    network.renewals.lock().unwrap().extend(renewals);
    let rig = Rig::with(1, network).await;
    rig.reconnect(0, Rig::credentials(Some(later(30))), Some(noon())).await;
    rig
}

fn renewed(rig: &Rig) -> u32 {
    *rig.network.renewed.lock().unwrap()
}

#[tokio::test]
async fn credentials_that_end_are_renewed_before_the_call() {
    let rig = rig([Renewal::Rotated]).await;
    rig.schedule("Hello", noon()).await;

    rig.live(noon()).await;

    assert_eq!(rig.network.public.lock().unwrap()[0].token, "token1");
    let stored = rig.stored_credentials(0).await;
    assert_eq!(stored.access_token.expose_secret(), "token1");
    assert_eq!(stored.refresh_token.unwrap().expose_secret(), "renew1");
    assert_eq!(rig.connection(0).await.connection.token_expires_at, Some(later(7200)));
}

#[tokio::test]
async fn credentials_that_last_are_used_as_they_are() {
    let rig = rig([]).await;
    rig.reconnect(0, Rig::credentials(Some(later(90))), None).await;
    rig.schedule("Hello", noon()).await;

    rig.live(noon()).await;

    assert_eq!((renewed(&rig), rig.network.public.lock().unwrap()[0].token.as_str()), (0, "first"));
}

#[tokio::test]
async fn the_old_refresh_token_is_kept_when_none_comes_back() {
    let rig = rig([Renewal::Extended]).await;

    assert_eq!(rig.publishing.refresh_due().await.unwrap(), 1);

    let stored = rig.stored_credentials(0).await;
    assert_eq!(stored.access_token.expose_secret(), "token1");
    assert_eq!(stored.refresh_token.unwrap().expose_secret(), "renew");
}

#[tokio::test]
async fn of_many_renewals_at_once_one_is_made() {
    let rig = rig([Renewal::Rotated]).await;
    let record = rig.connection(0).await;
    let platform = rig.publishing.platforms.get("sandbox").unwrap();

    let renewals = (0..8).map(|_| rig.publishing.credentials(platform, &record, noon()));
    let ends = futures::future::join_all(renewals).await;

    assert_eq!(renewed(&rig), 1);
    for end in ends {
        match end.unwrap() {
            Ok(credentials) => assert_eq!(credentials.access_token.expose_secret(), "token1"),
            // Whoever waited in vain comes back later.
            Err(Setback::Busy { .. }) => {}
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(!rig.connection(0).await.connection.needs_reconnection);
}

#[tokio::test]
async fn who_comes_while_another_renews_is_given_the_result() {
    let rig = rig([Renewal::Rotated]).await;
    let record = rig.connection(0).await;
    let platform = rig.publishing.platforms.get("sandbox").unwrap();
    rig.publishing.credentials(platform, &record, noon()).await.unwrap().unwrap();

    // With what was read before the renewal.
    let late = rig.publishing.credentials(platform, &record, noon()).await.unwrap().unwrap();

    assert_eq!((late.access_token.expose_secret(), renewed(&rig)), ("token1", 1));
}

#[tokio::test]
async fn a_platform_that_cannot_be_reached_has_not_revoked_anything() {
    let rig = rig([Renewal::Unreachable, Renewal::Unreachable]).await;
    let post = rig.schedule("Hello", noon()).await;

    rig.live(later(3)).await;
    assert!(!rig.connection(0).await.connection.needs_reconnection);
    assert_eq!(rig.network.calls(), 0);
    rig.live(later(120)).await;

    assert_eq!((renewed(&rig), rig.network.texts()), (3, vec!["Hello".to_owned()]));
    assert_eq!(rig.post(&post).await.status, PostStatus::Published);
    assert_eq!(rig.stored_credentials(0).await.refresh_token.unwrap().expose_secret(), "renew");
}

#[tokio::test]
async fn a_renewal_that_met_a_passing_failure_is_due_again_a_little_later() {
    let rig = rig([Renewal::Unreachable]).await;

    assert_eq!(rig.publishing.refresh_due().await.unwrap(), 0);
    assert_eq!(rig.publishing.refresh_due().await.unwrap(), 0);
    assert_eq!(renewed(&rig), 1, "not at once");
    rig.clock.advance(RETRY_REFRESH);
    assert_eq!(rig.publishing.refresh_due().await.unwrap(), 1);

    assert_eq!(rig.publishing.refresh_due().await.unwrap(), 0, "and then not before it ends again");
}

#[tokio::test]
async fn a_refused_renewal_asks_for_reconnection_and_is_not_tried_again() {
    let rig = rig([Renewal::Gone]).await;
    let post = rig.schedule("Hello", noon()).await;

    rig.live(later(600)).await;
    assert_eq!(rig.publishing.refresh_due().await.unwrap(), 0);

    assert!(rig.connection(0).await.connection.needs_reconnection);
    assert_eq!((renewed(&rig), rig.network.calls()), (1, 0));
    assert_eq!(rig.events.types(), ["post.scheduled", "connection.needs_reconnection"]);
    let waiting = rig.post(&post).await;
    assert_eq!(waiting.status, PostStatus::Scheduled, "nothing was begun");
    assert!(waiting.targets[0].error_message.is_some());

    rig.reconnect(0, Rig::credentials(None), None).await;
    rig.live(later(1200)).await;
    assert_eq!(rig.network.texts(), ["Hello"]);
}

#[tokio::test]
async fn a_rejected_token_is_renewed_and_the_post_sent_with_the_new_one() {
    let rig = rig([Renewal::Rotated]).await;
    rig.reconnect(0, Rig::credentials(Some(later(3000))), None).await;
    rig.network.fates.lock().unwrap().push_back(Fate::Gone);
    rig.schedule("Hello", noon()).await;

    rig.live(later(60)).await;

    let public = rig.network.public.lock().unwrap().clone();
    assert_eq!((public.len(), public[0].token.as_str(), renewed(&rig)), (1, "token1", 1));
    assert!(!rig.connection(0).await.connection.needs_reconnection);
}

#[tokio::test]
async fn a_reconnection_during_a_renewal_is_not_overwritten() {
    let rig = rig([Renewal::Gone]).await;
    let record = rig.connection(0).await;
    let platform = rig.publishing.platforms.get("sandbox").unwrap();
    let gate = rig.network.hold_refresh();

    let reconnection = async {
        gate.entered().await;
        rig.reconnect(0, Rig::credentials(None), None).await;
        gate.open();
    };
    let (ended, ()) = tokio::join!(rig.publishing.credentials(platform, &record, noon()), reconnection);

    assert!(ended.unwrap().is_err());
    let now = rig.connection(0).await.connection;
    assert!(!now.needs_reconnection, "what was refused were the old credentials");
    assert_eq!(rig.stored_credentials(0).await.access_token.expose_secret(), "first");
    assert_eq!(rig.events.types(), [""; 0]);
}

#[tokio::test]
async fn credentials_that_cannot_be_read_do_not_keep_others_from_being_renewed() {
    let network = Network { refresh_lead: Some(TimeDelta::hours(1)), ..Network::default() };
    let rig = Rig::with(3, network).await;
    for account in 0..3 {
        rig.reconnect(account, Rig::credentials(Some(later(30))), Some(noon())).await;
    }
    let broken = rig.connection(1).await;
    let found = Some(broken.connection.connection_id);
    let broken = ConnectionRecord { credentials: b"broken".to_vec(), ..broken };
    storage::testing::connect(&rig.store, &broken, Some(noon() - TICK), found).await;

    assert_eq!(rig.publishing.refresh_due().await.unwrap(), 2);
}

#[tokio::test]
async fn the_longer_a_platform_cannot_be_reached_the_more_rarely_it_is_asked() {
    let rig = rig(vec![Renewal::Unreachable; 2000]).await;
    rig.schedule("Hello", noon()).await;

    rig.live(later(3600)).await;

    assert!(20 < renewed(&rig) && renewed(&rig) < 80, "{}", renewed(&rig));
}
