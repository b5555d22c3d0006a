use domain::delivery::{LEASE_DURATION, Published};
use platforms::Followed;
use platforms::conformance::log::Log;
use storage::Disconnected;

use super::*;

fn network(results: impl IntoIterator<Item = Result<Followed, AttemptError>>) -> Network {
    let platform = Network { follow_ups: vec!["comment", "playlist"], ..Network::default() };
    platform.following.lock().unwrap().extend(results);
    platform
}

fn busy() -> Result<Followed, AttemptError> {
    Err(AttemptError::RetryLater { retry_at: None, reason: "too many comments".to_owned() })
}

fn followed(rig: &Rig) -> Vec<String> {
    rig.network.followed.lock().unwrap().iter().map(|it| it.0.clone()).collect()
}

/// The missed follow-ups and the reasons in the log.
fn missed_in(log: &Log) -> Vec<String> {
    let lines = log.text();
    let field = |line: &str, name: &str| {
        let value = line.split_once(&format!("{name}=")).map(|it| it.1.split(' ').next().unwrap().replace('"', ""));
        value.unwrap_or_default()
    };
    let missed = lines.lines().filter(|it| it.contains("were not done"));
    let summary = |it: &str| ["follow_up", "follow_ups_missed", "why"].map(|name| field(it, name)).join(" ");
    missed.map(summary).collect()
}

#[tokio::test]
async fn follow_ups_run_in_order_and_delay_nothing() {
    let again = Ok(Followed::Again { progress: "half".to_owned(), at: later(20) });
    let (log, _kept) = Log::capture();
    let rig = Rig::with(1, network([busy(), again])).await;
    let post = rig.schedule("Hello", later(5)).await;

    rig.live(later(10)).await;
    assert_eq!(rig.post(&post).await.status, PostStatus::Published, "before anything follows");
    assert_eq!((rig.pending(0).await, rig.due().await.len()), (0, 1));
    rig.live(later(3600)).await;

    assert_published_once(&rig, &post, "Hello").await;
    let followed = rig.network.followed.lock().unwrap().clone();
    let expected = [("comment", None), ("comment", None), ("comment", Some("half")), ("playlist", None)];
    assert_eq!(followed, expected.map(|(name, progress)| (name.to_owned(), progress.map(str::to_owned))));
    assert_eq!(rig.events.types(), ["post.scheduled", "target.published", "post.published"]);
    assert_eq!((rig.network.calls(), missed_in(&log)), (1, vec![]));
}

#[tokio::test]
async fn follow_ups_run_after_an_unknown_outcome_too() {
    let rig = Rig::with(1, network([]).with_faults([PublishFault::LostAnswer])).await;
    let post = rig.schedule("Hello", later(5)).await;

    rig.live(later(3600)).await;

    assert_published_once(&rig, &post, "Hello").await;
    assert_eq!(followed(&rig), ["comment", "playlist"]);
}

#[tokio::test]
async fn follow_up_with_unknown_outcome_is_skipped_and_next_runs() {
    let lost = Err(AttemptError::Unknown { may_still_run: true, retry_at: None, reason: "no answer".to_owned() });
    let (log, _kept) = Log::capture();
    let rig = Rig::with(1, network([lost])).await;
    let post = rig.schedule("Hello", later(5)).await;

    rig.live(later(7200)).await;

    assert_published_once(&rig, &post, "Hello").await;
    assert_eq!(followed(&rig), ["comment", "playlist"]);
    assert_eq!(missed_in(&log), ["comment 1 unknown"]);
}

#[tokio::test]
async fn failing_follow_up_is_given_up_within_the_hour() {
    let (log, _kept) = Log::capture();
    let rig = Rig::with(1, network(vec![busy(); 40])).await;
    let post = rig.schedule("Hello", later(5)).await;

    rig.live(later(2 * 3600)).await;

    assert_published_once(&rig, &post, "Hello").await;
    let followed = followed(&rig);
    assert!((5..=10).contains(&followed.len()), "{followed:?}");
    assert_eq!(missed_in(&log), ["comment 1 busy", "playlist 1 busy"], "once each, and not for every try");
}

/// A post whose worker died after the publication, with a comment and a playlist as follow-ups.
async fn crash_after_publication(rig: &Rig) -> (Post, Delivery) {
    let post = rig.schedule("Hello", noon()).await;
    rig.queue.take();
    let delivery = rig.delivery(&post).await;
    let intended = rig.leave(&delivery, delivery.clone().open_intent(noon())).await;
    rig.network.public.lock().unwrap().push(crate::testing::a_public_post("Hello", &reference(&delivery)));
    let names = vec!["comment".to_owned(), "playlist".to_owned()];
    let published = intended.clone().record_publish(Ok(Published::new("p1", noon())), noon(), 0);
    let published = rig.leave(&intended, published.with_follow_ups(names, noon())).await;
    (post, published)
}

#[tokio::test]
async fn follow_up_not_started_within_the_hour_is_late() {
    for (has_begun, missed) in [(false, "comment 2 late"), (true, "comment 2 unknown")] {
        let (log, _kept) = Log::capture();
        let rig = Rig::with(1, network([])).await;
        let (post, published) = crash_after_publication(&rig).await;
        if has_begun {
            rig.leave(&published, published.clone().begin_follow_up(noon())).await;
        }

        rig.clock.skip_to(later(2 * 3600));
        rig.live(later(2 * 3600 + 600)).await;

        assert_published_once(&rig, &post, "Hello").await;
        assert_eq!((followed(&rig), missed_in(&log)), (vec![], vec![missed.to_owned()]));
    }
}

#[tokio::test]
async fn follow_ups_after_a_lost_grant_are_logged_as_missed() {
    let (log, _kept) = Log::capture();
    let platform = Network { renewal: platforms::RefreshPolicy::Rotating, ..network([busy()]) };
    platform.renewals.lock().unwrap().extend(vec![crate::testing::RefreshFault::Gone; 9]);
    let rig = Rig::with(1, platform).await;
    let post = rig.schedule("Hello", later(5)).await;
    rig.live(later(10)).await;
    rig.reconnect(0, Rig::credentials(Some(later(11))), None).await;

    rig.live(later(7200)).await;

    assert_eq!((rig.post(&post).await.status, followed(&rig)), (PostStatus::Published, vec!["comment".to_owned()]));
    assert_eq!(missed_in(&log), ["comment 1 disconnected", "playlist 1 disconnected"]);
}

#[tokio::test]
async fn many_workers_make_each_call_once() {
    let rig = Rig::with(1, network([])).await;
    let post = rig.schedule("Hello", later(1)).await;
    let message = rig.queue.take().remove(0).1;

    rig.deliver(message, 8).await;
    rig.live(later(600)).await;

    assert_published_once(&rig, &post, "Hello").await;
    assert_eq!(followed(&rig), ["comment", "playlist"]);
}

#[tokio::test]
async fn crash_after_publication_loses_and_repeats_no_follow_up() {
    for has_begun in [false, true] {
        let rig = Rig::with(1, network([])).await;
        let (post, published) = crash_after_publication(&rig).await;
        if has_begun {
            rig.leave(&published, published.clone().begin_follow_up(noon())).await;
            rig.live(noon() + LEASE_DURATION - TimeDelta::seconds(1)).await;
            assert_eq!(followed(&rig), Vec::<String>::new(), "the worker may still be at it");
        }

        rig.live(later(600)).await;

        assert_published_once(&rig, &post, "Hello").await;
        let expected: &[&str] = if has_begun { &["playlist"] } else { &["comment", "playlist"] };
        assert_eq!(followed(&rig), expected);
    }
}

#[tokio::test]
async fn no_follow_up_runs_after_disconnection() {
    let rig = Rig::with(1, network([busy()])).await;
    let post = rig.schedule("Hello", later(5)).await;
    rig.live(later(10)).await;
    assert_eq!(followed(&rig), ["comment"]);

    let id = rig.accounts[0].connection_id;
    let disconnected = rig.store.delete_connection(rig.user.user_id, id, noon()).await.unwrap();
    assert!(matches!(disconnected, Disconnected::Deleted { .. }), "a published post does not hold it");
    rig.live(later(7200)).await;

    assert_eq!(followed(&rig), ["comment"]);
    assert_eq!((rig.post(&post).await.status, rig.due().await), (PostStatus::Published, vec![]));
}
