use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cloud::seal::{SealError, Sealer};
use domain::post::PostStatus;
use domain::testing::noon;
use platforms::Renewal as Model;

use super::renew::RETRY_REFRESH;
use super::*;
use crate::testing::{Fate, Network, Renewal, Rig, later};

/// Credentials that end in half a minute and can be renewed.
async fn rig(renewals: impl IntoIterator<Item = Renewal>) -> Rig {
    ending(later(30), renewals).await
}

/// Credentials that end then and can be renewed.
async fn ending(ends_at: DateTime<Utc>, renewals: impl IntoIterator<Item = Renewal>) -> Rig {
    let network = Network { renewal: Model::Rotating, ..Network::default() };
    network.renewals.lock().unwrap().extend(renewals);
    let rig = Rig::with(1, network).await;
    rig.reconnect(0, Rig::credentials(Some(ends_at)), Some(noon())).await;
    rig
}

fn renewed(rig: &Rig) -> u32 {
    *rig.network.renewed.lock().unwrap()
}

/// What a delivery is given for its call.
async fn given(rig: &Rig, record: &ConnectionRecord) -> Result<Credentials, Setback> {
    let platform = rig.renewable.get("sandbox").unwrap();
    rig.publishing.credentials(platform, record, rig.clock.now()).await.unwrap()
}

fn token(credentials: &Credentials) -> &str {
    credentials.access_token.expose_secret()
}

/// Somebody takes the renewal and is never heard of again.
async fn a_worker_dies_renewing(rig: &Rig) {
    let connection = rig.connection(0).await.connection;
    let (user, id, generation) = (connection.user_id, connection.connection_id, connection.generation);
    let claim = rig.store.claim_refresh(user, id, generation, rig.clock.now()).await.unwrap();
    assert_eq!(claim, storage::RefreshClaim::Ours);
}

/// Waits until the end and looks that a post is out.
async fn goes_out(rig: &Rig, post: &domain::post::Post, until: DateTime<Utc>) {
    rig.live(until).await;
    assert_eq!(rig.network.texts(), ["Hello"]);
    assert_eq!(rig.post(post).await.status, PostStatus::Published);
}

#[tokio::test]
async fn credentials_that_end_are_renewed_before_the_call() {
    let rig = rig([Renewal::Rotated]).await;
    rig.schedule("Hello", noon()).await;

    rig.live(noon()).await;

    assert_eq!(rig.network.public.lock().unwrap()[0].token, "token1");
    let stored = rig.stored_credentials(0).await;
    assert_eq!(token(&stored), "token1");
    assert_eq!(stored.refresh_token.unwrap().expose_secret(), "renew1");
    let connection = rig.connection(0).await.connection;
    assert_eq!((connection.token_expires_at, connection.renewed_at), (Some(later(7200)), Some(noon())));
}

#[tokio::test]
async fn credentials_that_last_are_used_as_they_are() {
    let rig = ending(later(90), []).await;
    rig.schedule("Hello", noon()).await;

    rig.live(noon()).await;

    assert_eq!((renewed(&rig), rig.network.public.lock().unwrap()[0].token.as_str()), (0, "first"));
}

#[tokio::test]
async fn the_old_refresh_token_is_kept_when_none_comes_back() {
    let rig = rig([Renewal::Extended]).await;

    assert_eq!(rig.publishing.refresh_due(&rig.renewable).await.unwrap(), 1);

    let stored = rig.stored_credentials(0).await;
    assert_eq!(token(&stored), "token1");
    assert_eq!(stored.refresh_token.unwrap().expose_secret(), "renew");
}

#[tokio::test]
async fn an_access_token_is_extended_where_there_is_no_refresh_token() {
    let rig = Rig::with(1, Network { renewal: Model::Extending, ..Network::default() }).await;
    let credentials = Credentials { refresh_token: None, ..Rig::credentials(Some(later(30))) };
    rig.reconnect(0, credentials, None).await;

    let record = rig.connection(0).await;
    let new = given(&rig, &record).await.unwrap();

    assert_eq!((token(&new), renewed(&rig)), ("token1", 1));
    assert!(rig.stored_credentials(0).await.refresh_token.is_none());
}

#[tokio::test]
async fn what_cannot_be_renewed_is_used_to_its_end_and_then_asks_for_reconnection() {
    for renewal in [Model::Never, Model::Rotating] {
        let rig = Rig::with(1, Network { renewal, ..Network::default() }).await;
        let credentials = Credentials { refresh_token: None, ..Rig::credentials(Some(later(30))) };
        rig.reconnect(0, credentials, None).await;
        rig.schedule("Hello", later(29)).await;
        let post = rig.schedule("Too late", later(31)).await;

        rig.live(later(60)).await;

        assert_eq!((rig.network.texts(), renewed(&rig)), (vec!["Hello".to_owned()], 0));
        assert!(rig.connection(0).await.connection.needs_reconnection);
        assert!(rig.events.types().contains(&"connection.needs_reconnection"));
        rig.reconnect(0, Rig::credentials(None), None).await;
        rig.live(later(600)).await;
        assert_eq!(rig.post(&post).await.status, PostStatus::Published);
    }
}

#[tokio::test]
async fn of_many_renewals_at_once_one_is_made() {
    let rig = rig([Renewal::Rotated]).await;
    let record = rig.connection(0).await;

    let ends = futures::future::join_all((0..8).map(|_| given(&rig, &record))).await;

    assert_eq!(renewed(&rig), 1);
    let fresh = ends.iter().filter(|it| it.as_ref().is_ok_and(|it| token(it) == "token1")).count();
    assert!(0 < fresh, "{ends:?}");
    for end in ends {
        match end {
            // Whoever waited in vain takes the old ones while they last.
            Ok(credentials) => assert!(["token1", "first"].contains(&token(&credentials))),
            // Or comes back later.
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
    given(&rig, &record).await.unwrap();

    // With what was read before the renewal.
    let late = given(&rig, &record).await.unwrap();

    assert_eq!((token(&late), renewed(&rig)), ("token1", 1));
}

#[tokio::test]
async fn a_post_is_not_held_up_by_a_worker_that_died_renewing_while_the_old_token_lasts() {
    let rig = rig([]).await;
    a_worker_dies_renewing(&rig).await;
    let post = rig.schedule("Hello", noon()).await;

    goes_out(&rig, &post, later(10)).await;

    assert_eq!((renewed(&rig), rig.network.public.lock().unwrap()[0].token.as_str()), (0, "first"));
}

#[tokio::test]
async fn a_post_waits_no_longer_than_the_lease_of_a_worker_that_died_renewing() {
    let rig = ending(noon(), []).await;
    a_worker_dies_renewing(&rig).await;
    let post = rig.schedule("Hello", noon()).await;

    goes_out(&rig, &post, later(80)).await;

    assert_eq!((renewed(&rig), rig.network.calls()), (1, 1));
    assert!(later(60) <= rig.network.calls.lock().unwrap()[0], "the one that died may have spent its token");
}

#[tokio::test]
async fn a_platform_that_cannot_be_reached_does_not_make_a_post_late_while_the_old_token_lasts() {
    let rig = rig([Renewal::Unreachable]).await;
    let post = rig.schedule("Hello", noon()).await;

    goes_out(&rig, &post, noon()).await;

    assert_eq!((renewed(&rig), rig.network.public.lock().unwrap()[0].token.as_str()), (1, "first"));
}

#[tokio::test]
async fn a_platform_that_cannot_be_reached_has_not_revoked_anything() {
    let rig = ending(noon(), [Renewal::Unreachable, Renewal::Unreachable]).await;
    let post = rig.schedule("Hello", noon()).await;

    rig.live(later(3)).await;
    assert!(!rig.connection(0).await.connection.needs_reconnection);
    assert_eq!(rig.network.calls(), 0);
    goes_out(&rig, &post, later(120)).await;

    assert_eq!(renewed(&rig), 3);
    assert_eq!(rig.stored_credentials(0).await.refresh_token.unwrap().expose_secret(), "renew");
}

#[tokio::test]
async fn a_refresh_token_that_was_spent_by_a_lost_answer_asks_for_reconnection() {
    let rig = ending(noon(), [Renewal::Unreachable, Renewal::Gone]).await;
    let post = rig.schedule("Hello", noon()).await;

    rig.live(later(120)).await;
    assert_eq!((renewed(&rig), rig.network.calls()), (2, 0));
    assert_eq!(rig.events.types(), ["post.scheduled", "connection.needs_reconnection"]);

    rig.reconnect(0, Rig::credentials(None), None).await;
    goes_out(&rig, &post, later(600)).await;
}

#[tokio::test]
async fn a_refused_renewal_asks_for_reconnection_and_is_not_tried_again() {
    let rig = rig([Renewal::Gone]).await;
    let post = rig.schedule("Hello", noon()).await;

    rig.live(later(600)).await;
    assert_eq!(rig.publishing.refresh_due(&rig.renewable).await.unwrap(), 0);

    assert!(rig.connection(0).await.connection.needs_reconnection);
    assert_eq!((renewed(&rig), rig.network.calls()), (1, 0));
    assert_eq!(rig.events.types(), ["post.scheduled", "connection.needs_reconnection"]);
    let waiting = rig.post(&post).await;
    assert_eq!(waiting.status, PostStatus::Scheduled, "nothing was begun");
    assert!(waiting.targets[0].error_message.is_some());

    rig.reconnect(0, Rig::credentials(None), None).await;
    goes_out(&rig, &post, later(1200)).await;
}

#[tokio::test]
async fn a_rejected_token_is_renewed_and_the_post_sent_with_the_new_one() {
    let rig = ending(later(3000), [Renewal::Rotated]).await;
    rig.network.fates.lock().unwrap().push_back(Fate::Gone);
    rig.schedule("Hello", noon()).await;

    rig.live(later(60)).await;

    let public = rig.network.public.lock().unwrap().clone();
    assert_eq!((public.len(), public[0].token.as_str(), renewed(&rig)), (1, "token1", 1));
    assert!(!rig.connection(0).await.connection.needs_reconnection);
}

#[tokio::test]
async fn a_token_that_is_rejected_right_after_its_renewal_asks_for_reconnection() {
    let rig = ending(later(3000), [Renewal::Rotated, Renewal::Rotated]).await;
    rig.network.fates.lock().unwrap().extend([Fate::Gone, Fate::Gone]);
    let post = rig.schedule("Hello", noon()).await;

    rig.live(later(60)).await;
    assert!(rig.connection(0).await.connection.needs_reconnection);
    assert_eq!((renewed(&rig), rig.network.calls()), (1, 2), "once more with the new one, and no more");
    assert_eq!(rig.events.types(), ["post.scheduled", "connection.needs_reconnection"]);
    assert!(rig.post(&post).await.targets[0].error_message.as_ref().unwrap().contains("connect the account again"));

    rig.reconnect(0, Rig::credentials(None), None).await;
    goes_out(&rig, &post, later(600)).await;
}

#[tokio::test]
async fn a_token_that_has_worked_for_a_while_is_renewed_when_it_is_rejected() {
    let rig = rig([Renewal::Rotated, Renewal::Rotated]).await;
    assert_eq!(rig.publishing.refresh_due(&rig.renewable).await.unwrap(), 1);
    rig.live(noon() + ON_PROBATION).await;
    rig.network.fates.lock().unwrap().push_back(Fate::Gone);
    let post = rig.schedule("Hello", noon() + ON_PROBATION).await;

    goes_out(&rig, &post, noon() + ON_PROBATION * 2).await;

    assert_eq!((renewed(&rig), rig.network.public.lock().unwrap()[0].token.as_str()), (2, "token2"));
}

#[tokio::test]
async fn a_rejected_call_is_known_not_to_be_public_even_if_nobody_can_be_told_of_the_connection() {
    let rig = Rig::with(1, Network::default().fated([Fate::Gone])).await;
    let post = rig.schedule("Hello", later(60)).await;
    rig.events.down.store(true, Ordering::SeqCst);

    rig.live(later(61)).await;
    let delivery = rig.delivery(&post).await;
    assert_eq!((delivery.attempts, delivery.intent), (1, None));
    assert!(!rig.connection(0).await.connection.needs_reconnection, "it is said first");

    rig.events.down.store(false, Ordering::SeqCst);
    goes_out(&rig, &post, later(300)).await;
    assert_eq!(*rig.network.looks.lock().unwrap(), 0, "nothing was in doubt");
}

#[tokio::test]
async fn a_loss_is_told_before_it_is_written_down_and_again_if_it_could_not_be_told() {
    let rig = rig([Renewal::Gone, Renewal::Gone]).await;
    rig.events.down.store(true, Ordering::SeqCst);

    assert_eq!(rig.publishing.refresh_due(&rig.renewable).await.unwrap(), 0);
    assert!(!rig.connection(0).await.connection.needs_reconnection, "nobody was told");
    rig.events.down.store(false, Ordering::SeqCst);
    rig.clock.advance(TimeDelta::seconds(60));
    assert_eq!(rig.publishing.refresh_due(&rig.renewable).await.unwrap(), 0);

    let connection = rig.connection(0).await.connection;
    assert!(connection.needs_reconnection);
    let events = rig.events.all();
    let id = format!("connection.needs_reconnection:{}:{}", connection.connection_id, connection.generation);
    assert_eq!((events.len(), events[0].detail["id"].as_str()), (1, Some(id.as_str())));
}

#[tokio::test]
async fn a_loss_whose_writing_failed_is_told_again_under_the_same_id() {
    let mut rig = ending(noon(), []).await;
    let losses = Arc::new(AtomicU32::new(1));
    rig.publishing.store = storage::testing::losing_updates(&rig.store, Arc::clone(&losses));
    let connection = rig.connection(0).await.connection;

    rig.publishing.lose(&connection).await.unwrap_err();
    assert!(rig.publishing.lose(&connection).await.unwrap());

    let ids: Vec<_> = rig.events.all().iter().map(|it| it.detail["id"].clone()).collect();
    assert_eq!(ids.len(), 2);
    assert_eq!(ids[0], ids[1]);
    assert!(rig.publishing.lose(&connection).await.unwrap(), "it is lost");
    assert_eq!(rig.events.all().len(), 2, "and everybody knows");
}

#[tokio::test]
async fn a_reconnection_during_a_renewal_is_not_overwritten() {
    let rig = rig([Renewal::Gone]).await;
    let record = rig.connection(0).await;
    let gate = rig.network.hold_refresh();

    let reconnection = async {
        gate.entered().await;
        rig.reconnect(0, Rig::credentials(None), None).await;
        gate.open();
    };
    let (given, ()) = tokio::join!(given(&rig, &record), reconnection);

    assert_eq!(token(&given.unwrap()), "first", "those of the reconnection");
    let now = rig.connection(0).await.connection;
    assert!(!now.needs_reconnection, "what was refused were the old credentials");
    assert_eq!(rig.stored_credentials(0).await.expires_at, None);
    assert_eq!(rig.events.types(), [""; 0]);
}

#[tokio::test]
async fn new_credentials_are_stored_even_if_the_store_is_away_for_a_moment() {
    let mut rig = rig([Renewal::Rotated]).await;
    let losses = Arc::new(AtomicU32::new(0));
    rig.publishing.store = storage::testing::losing_updates(&rig.store, Arc::clone(&losses));
    let record = rig.connection(0).await;
    let gate = rig.network.hold_refresh();

    let outage = async {
        gate.entered().await;
        losses.store(4, Ordering::SeqCst);
        gate.open();
    };
    let (given, ()) = tokio::join!(given(&rig, &record), outage);

    assert_eq!(token(&given.unwrap()), "token1");
    assert_eq!(losses.load(Ordering::SeqCst), 0, "it was away");
    assert_eq!(rig.stored_credentials(0).await.refresh_token.unwrap().expose_secret(), "renew1");
}

/// Seals so often, and then no more.
struct Tired {
    sealer: Arc<dyn Sealer>,
    left: AtomicU32,
}

#[async_trait::async_trait]
impl Sealer for Tired {
    async fn seal(&self, plain: &[u8], context: &str) -> Result<Vec<u8>, SealError> {
        let less = |left: u32| left.checked_sub(1);
        match self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less) {
            Ok(_) => self.sealer.seal(plain, context).await,
            Err(_) => Err(SealError::Keys("away".to_owned())),
        }
    }

    async fn open(&self, sealed: &[u8], context: &str) -> Result<Vec<u8>, SealError> {
        self.sealer.open(sealed, context).await
    }
}

#[tokio::test]
async fn no_token_is_spent_on_credentials_that_could_not_be_sealed() {
    let mut rig = rig([]).await;
    rig.publishing.sealer = Arc::new(Tired { sealer: Arc::clone(&rig.publishing.sealer), left: AtomicU32::new(0) });
    let record = rig.connection(0).await;
    let platform = rig.renewable.get("sandbox").unwrap();

    let ended = rig.publishing.credentials(platform, &record, noon()).await;

    assert!(matches!(ended, Err(PublishingError::Seal(_))), "{ended:?}");
    assert_eq!(renewed(&rig), 0);
}

#[tokio::test]
async fn the_longer_a_platform_cannot_be_reached_the_more_rarely_it_is_asked() {
    let rig = ending(noon(), vec![Renewal::Unreachable; 2000]).await;
    rig.schedule("Hello", noon()).await;

    rig.live(later(3600)).await;

    assert!(20 < renewed(&rig) && renewed(&rig) < 80, "{}", renewed(&rig));
}

#[tokio::test]
async fn a_renewal_that_met_a_passing_failure_is_due_again_a_little_later() {
    let rig = rig([Renewal::Unreachable]).await;

    assert_eq!(rig.publishing.refresh_due(&rig.renewable).await.unwrap(), 0);
    assert_eq!(rig.publishing.refresh_due(&rig.renewable).await.unwrap(), 0);
    assert_eq!(renewed(&rig), 1, "not at once");
    rig.clock.advance(RETRY_REFRESH);
    assert_eq!(rig.publishing.refresh_due(&rig.renewable).await.unwrap(), 1);

    assert_eq!(rig.publishing.refresh_due(&rig.renewable).await.unwrap(), 0, "and then not before it ends again");
}
