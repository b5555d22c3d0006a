mod in_time;
mod recognised;

use chrono::TimeDelta;
use domain::delivery::{GIVE_UP_AFTER, LEASE, Published, Resolution, State};
use domain::post::{PostStatus, TargetStatus};
use domain::testing::noon;
use platforms::Registry;

use super::*;
use crate::Changed;
use crate::testing::{Fate, Network, Rig, SETTLES, TICK, later};
use crate::write::message_of;

/// Ended well, with nothing left behind.
async fn assert_published_once(rig: &Rig, post: &Post, words: &str) {
    assert_eq!(rig.network.texts(), [words]);
    let now = rig.post(post).await;
    assert_eq!(now.status, PostStatus::Published);
    assert_eq!(now.targets[0].status, TargetStatus::Published);
    assert_eq!(now.targets[0].platform_post_id.as_deref(), Some("p1"));
    assert_eq!(now.targets[0].error_message, None);
    assert_eq!((rig.pending(0).await, rig.counts().await.published), (0, 1));
    assert_eq!(rig.due().await, []);
}

async fn failure(rig: &Rig, post: &Post) -> String {
    let post = rig.post(post).await;
    assert_eq!((post.status, post.targets[0].status), (PostStatus::Failed, TargetStatus::Failed));
    assert_eq!((rig.pending(0).await, rig.counts().await.failed), (0, 1));
    assert_eq!(rig.due().await, []);
    post.targets[0].error_message.clone().unwrap()
}

#[tokio::test]
async fn a_post_goes_out_once_and_not_before_its_time() {
    let rig = Rig::new().await;
    let post = rig.schedule("Hello", later(100)).await;

    rig.live(later(97)).await;
    assert_eq!(rig.network.calls(), 0);
    rig.live(later(3600)).await;

    assert_published_once(&rig, &post, "Hello").await;
    assert_eq!(*rig.network.calls.lock().unwrap(), [later(100)]);
    assert_eq!(rig.events.types(), ["post.scheduled", "target.published", "post.published"]);
    assert_eq!(rig.queue.take(), []);
}

#[tokio::test]
async fn a_post_for_now_goes_out_at_once() {
    let rig = Rig::new().await;
    let post = rig.schedule("Hello", later(-60)).await;

    rig.live(noon()).await;

    assert_published_once(&rig, &post, "Hello").await;
}

#[tokio::test]
async fn a_message_that_comes_to_many_workers_makes_one_public_post() {
    let rig = Rig::new().await;
    let post = rig.schedule("Hello", later(1)).await;
    let message = rig.queue.take().remove(0).1;

    rig.deliver(message, 8).await;
    rig.deliver(message, 8).await;

    assert_published_once(&rig, &post, "Hello").await;
    assert_eq!(rig.network.calls(), 1);
}

#[tokio::test]
async fn a_message_long_before_its_time_goes_back_to_the_queue() {
    let rig = Rig::new().await;
    let post = rig.schedule("Hello", later(5000)).await;
    let message = message_of(&rig.delivery(&post).await);

    rig.deliver(message, 1).await;
    assert_eq!(rig.queue.take(), [(later(900), message)]);
    rig.clock.skip_to(later(4990));
    rig.deliver(message, 1).await;

    assert_eq!(rig.queue.take(), [(later(4998), message)]);
    assert_eq!(rig.network.calls(), 0);
}

#[tokio::test]
async fn a_message_of_an_older_revision_or_of_nothing_is_dropped() {
    let rig = Rig::new().await;
    let post = rig.schedule("Old", later(1)).await;
    let old = rig.queue.take().remove(0).1;
    assert!(matches!(rig.rewrite(&post, "New").await, Changed::Done(_)));
    let unknown = DeliveryMessage { post_id: rig.publishing.ids.fresh(), ..old };

    rig.clock.skip_to(later(2));
    rig.deliver(old, 8).await;
    rig.deliver(unknown, 1).await;

    assert_eq!(rig.network.calls(), 0);
    rig.live(later(60)).await;
    assert_published_once(&rig, &post, "New").await;
}

#[tokio::test]
async fn a_delivery_and_a_post_that_were_read_at_different_times_are_read_again() {
    let rig = Rig::new().await;
    let post = rig.schedule("Hello", noon()).await;
    let message = rig.queue.take().remove(0).1;
    // As if the change of the delivery were seen before that of the post.
    let torn = Post { revision: 2, ..rig.post(&post).await };
    let write = storage::PostWrite { before: Some(&rig.post(&post).await), after: Some(&torn), ..Default::default() };
    assert_eq!(rig.store.write_post(&write, noon()).await.unwrap(), storage::PostWritten::Done);

    rig.deliver(message, 1).await;

    assert_eq!(rig.network.calls(), 0);
}

#[tokio::test]
async fn a_refused_post_fails_with_the_words_of_the_platform() {
    let rig = Rig::with(1, Network::default().fated([Fate::Refused])).await;
    let post = rig.schedule("Hello", later(5)).await;

    rig.live(later(3600)).await;

    let words = failure(&rig, &post).await;
    assert_eq!(words, "Sandbox refused the post: not polite enough. Change it and give it a new time.");
    assert_eq!((rig.network.calls(), rig.network.texts().len()), (1, 0));
    assert_eq!(rig.events.types(), ["post.scheduled", "target.failed", "post.failed"]);
}

#[tokio::test]
async fn a_busy_platform_is_asked_again_when_it_says() {
    let rig = Rig::with(1, Network::default().fated([Fate::Busy(None), Fate::Busy(Some(later(500)))])).await;
    let post = rig.schedule("Hello", later(100)).await;

    rig.live(later(300)).await;
    let waiting = rig.post(&post).await;
    assert_eq!(waiting.status, PostStatus::Publishing);
    let words = "Sandbox did not take the post yet: too many posts. Trying again.";
    assert_eq!(waiting.targets[0].error_message.as_deref(), Some(words));
    rig.live(later(3600)).await;

    assert_published_once(&rig, &post, "Hello").await;
    let calls = rig.network.calls.lock().unwrap().clone();
    assert_eq!((calls.len(), calls[0], calls[2]), (3, later(100), later(500)));
    assert!(later(105) <= calls[1] && calls[1] <= later(107), "{}", calls[1]);
}

#[tokio::test]
async fn a_platform_that_stays_busy_is_given_up_a_day_later() {
    let rig = Rig::with(1, Network::default().fated(vec![Fate::Busy(None); 200])).await;
    let post = rig.schedule("Hello", later(5)).await;

    rig.live(later(3600)).await;
    rig.clock.skip_to(later(5) + GIVE_UP_AFTER - TimeDelta::seconds(60));
    rig.live(later(5) + GIVE_UP_AFTER - TimeDelta::seconds(5)).await;
    assert_eq!(rig.post(&post).await.status, PostStatus::Publishing);
    rig.live(later(5) + GIVE_UP_AFTER + TICK).await;

    let words = failure(&rig, &post).await;
    assert!(words.starts_with("Given up 24 hours after its time") && words.contains("too many posts"), "{words}");
    assert!(rig.network.calls() < 100, "{}", rig.network.calls());
}

#[tokio::test]
async fn a_lost_answer_is_found_and_nothing_is_sent_again() {
    let rig = Rig::with(1, Network::default().fated([Fate::LostAnswer])).await;
    let post = rig.schedule("Hello", later(5)).await;

    rig.live(later(3600)).await;

    assert_published_once(&rig, &post, "Hello").await;
    assert_eq!((rig.network.calls(), *rig.network.looks.lock().unwrap()), (1, 1));
}

#[tokio::test]
async fn a_lost_call_is_made_again_only_when_it_can_no_longer_take_effect() {
    let rig = Rig::with(1, Network::default().fated([Fate::LostCall])).await;
    let post = rig.schedule("Hello", later(5)).await;

    rig.live(later(5) + SETTLES - TimeDelta::milliseconds(1)).await;
    assert_eq!(rig.network.calls(), 1);
    assert!(0 < *rig.network.looks.lock().unwrap());
    rig.live(later(3600)).await;

    assert_published_once(&rig, &post, "Hello").await;
    let calls = rig.network.calls.lock().unwrap().clone();
    assert_eq!(calls.len(), 2);
    assert!(calls[0] + SETTLES <= calls[1] && calls[1] < calls[0] + SETTLES * 2, "{calls:?}");
}

#[tokio::test]
async fn after_an_error_that_was_answered_a_post_that_is_not_there_is_sent_again_soon() {
    let rig = Rig::with(1, Network::default().fated([Fate::TheirError])).await;
    let post = rig.schedule("Hello", later(5)).await;

    rig.live(later(15)).await;

    assert_published_once(&rig, &post, "Hello").await;
    assert_eq!(rig.network.calls(), 2);
}

#[tokio::test]
async fn what_stays_unclear_ends_a_day_later_and_says_that_it_may_be_public() {
    let rig = Rig::with(1, Network::default().fated([Fate::LostAnswer])).await;
    *rig.network.always.lock().unwrap() = Some(Resolution::Unclear { reason: "down".to_owned() });
    let post = rig.schedule("Hello", later(5)).await;

    rig.live(later(3600)).await;
    rig.clock.skip_to(later(5) + GIVE_UP_AFTER - TimeDelta::seconds(60));
    rig.live(later(5) + GIVE_UP_AFTER - TimeDelta::seconds(5)).await;
    assert_eq!(rig.post(&post).await.status, PostStatus::Publishing);
    rig.live(later(5) + GIVE_UP_AFTER + TimeDelta::hours(1)).await;

    assert!(failure(&rig, &post).await.contains("may be public"));
    assert_eq!(rig.network.calls(), 1);
}

#[tokio::test]
async fn what_can_never_be_known_fails_and_says_where_to_look() {
    let rig = Rig::with(1, Network::default().fated([Fate::LostCall])).await;
    let advice = "look at your page".to_owned();
    rig.network.resolutions.lock().unwrap().push_back(Resolution::Unknowable { advice });
    let post = rig.schedule("Hello", later(5)).await;

    rig.live(later(3600)).await;

    let words = failure(&rig, &post).await;
    assert!(words.starts_with("The post may be public: look at your page"), "{words}");
    assert_eq!(rig.network.calls(), 1);
}

#[tokio::test]
async fn a_worker_that_crashed_before_its_call_is_followed_by_one_that_asks_first() {
    let rig = Rig::new().await;
    let post = rig.schedule("Hello", noon()).await;
    let delivery = rig.delivery(&post).await;
    rig.leave(&delivery, delivery.clone().intended(noon())).await;

    rig.live(noon() + LEASE - TimeDelta::seconds(1)).await;
    assert_eq!(*rig.network.looks.lock().unwrap(), 0, "the worker may still be at it");
    rig.live(noon() + LEASE + TICK + TimeDelta::seconds(10)).await;

    assert_published_once(&rig, &post, "Hello").await;
    assert_eq!((rig.network.calls(), *rig.network.looks.lock().unwrap()), (1, 1));
}

#[tokio::test]
async fn a_worker_that_crashed_after_its_call_is_followed_by_one_that_finds_the_post() {
    let rig = Rig::new().await;
    let post = rig.schedule("Hello", noon()).await;
    let delivery = rig.delivery(&post).await;
    rig.network.public.lock().unwrap().push(crate::testing::a_public("Hello", &reference(&delivery)));
    rig.leave(&delivery, delivery.clone().intended(noon())).await;

    rig.live(later(300)).await;

    assert_published_once(&rig, &post, "Hello").await;
    assert_eq!(rig.network.calls(), 0);
}

#[tokio::test]
async fn an_outcome_that_the_post_was_not_told_is_told_by_the_sweep() {
    let rig = Rig::new().await;
    let post = rig.schedule("Hello", noon()).await;
    rig.queue.take();
    let delivery = rig.delivery(&post).await;
    let intended = rig.leave(&delivery, delivery.clone().intended(noon())).await;
    rig.network.public.lock().unwrap().push(crate::testing::a_public("Hello", &reference(&delivery)));
    let published = Published { platform_post_id: "p1".to_owned(), at: noon() };
    rig.leave(&intended, intended.clone().settled(Ok(published), noon(), 0)).await;
    assert_eq!(rig.post(&post).await.status, PostStatus::Scheduled);

    rig.live(later(200)).await;

    assert_published_once(&rig, &post, "Hello").await;
    assert_eq!((rig.network.calls(), *rig.network.looks.lock().unwrap()), (0, 0));
}

#[tokio::test]
async fn an_unknown_outcome_survives_that_its_platform_is_switched_off() {
    let mut rig = Rig::with(1, Network::default().fated([Fate::LostAnswer])).await;
    *rig.network.always.lock().unwrap() = Some(Resolution::Unclear { reason: "down".to_owned() });
    let post = rig.schedule("Hello", noon()).await;
    rig.live(later(10)).await;
    let on = std::mem::replace(&mut rig.platforms, Registry::of(Vec::new()));

    rig.live(later(900)).await;
    assert!(rig.delivery(&post).await.intent.is_some());
    rig.platforms = on;
    *rig.network.always.lock().unwrap() = None;
    rig.live(later(7200)).await;

    assert_published_once(&rig, &post, "Hello").await;
    assert_eq!(rig.network.calls(), 1);
}

#[tokio::test]
async fn a_post_of_a_platform_that_is_switched_off_waits_and_goes_out_later() {
    let mut rig = Rig::new().await;
    let post = rig.schedule("Hello", noon()).await;
    let on = std::mem::replace(&mut rig.platforms, Registry::of(Vec::new()));
    rig.live(later(900)).await;
    assert!(rig.post(&post).await.targets[0].error_message.is_some());

    rig.platforms = on;
    rig.live(later(1800)).await;

    assert_published_once(&rig, &post, "Hello").await;
}

#[tokio::test]
async fn a_revoked_grant_asks_for_reconnection_and_the_post_goes_out_after_it() {
    let rig = Rig::with(1, Network::default().fated([Fate::Gone])).await;
    let post = rig.schedule("Hello", later(5)).await;

    rig.live(later(3600)).await;
    assert!(rig.connection(0).await.connection.needs_reconnection);
    assert_eq!(rig.events.types(), ["post.scheduled", "connection.needs_reconnection"]);
    let waiting = rig.post(&post).await;
    assert_eq!((waiting.status, rig.pending(0).await), (PostStatus::Publishing, 1));
    let words = waiting.targets[0].error_message.clone().unwrap();
    assert!(words.contains("connect the account again"), "{words}");
    assert_eq!(rig.network.calls(), 1, "nothing is tried with a grant that is gone");

    rig.reconnect(0, Rig::credentials(None), None).await;
    rig.live(later(3600 + 330)).await;

    assert_published_once(&rig, &post, "Hello").await;
    assert_eq!(rig.network.calls(), 2);
}

#[tokio::test]
async fn a_grant_that_stays_gone_fails_the_post_a_day_later() {
    let rig = Rig::with(1, Network::default().fated([Fate::Gone])).await;
    let post = rig.schedule("Hello", later(5)).await;

    rig.live(later(1800)).await;
    rig.clock.skip_to(later(5) + GIVE_UP_AFTER - TimeDelta::seconds(60));
    rig.live(later(5) + GIVE_UP_AFTER - TimeDelta::seconds(5)).await;
    assert_eq!(rig.post(&post).await.status, PostStatus::Publishing);
    rig.live(later(5) + GIVE_UP_AFTER + TICK * 7).await;

    let words = failure(&rig, &post).await;
    assert!(
        words.starts_with("Given up 24 hours after its time") && words.contains("connect the account again"),
        "{words}"
    );
    assert_eq!(rig.network.calls(), 1);
}

#[tokio::test]
async fn a_grant_that_is_found_gone_in_doubt_asks_for_reconnection_and_the_doubt_is_settled_after_it() {
    let rig = Rig::with(1, Network::default().fated([Fate::LostAnswer])).await;
    let gone = Resolution::Disconnected { reason: "revoked".to_owned() };
    rig.network.resolutions.lock().unwrap().push_back(gone);
    let post = rig.schedule("Hello", noon()).await;

    rig.live(later(60)).await;
    assert!(rig.connection(0).await.connection.needs_reconnection);
    assert!(rig.delivery(&post).await.intent.is_some());
    rig.reconnect(0, Rig::credentials(None), None).await;
    rig.live(later(7200)).await;

    assert_published_once(&rig, &post, "Hello").await;
    assert_eq!(rig.network.calls(), 1);
}

#[tokio::test]
async fn an_open_intent_outlives_a_grant_that_is_gone() {
    let rig = Rig::with(1, Network::default().fated([Fate::LostAnswer])).await;
    rig.network.resolutions.lock().unwrap().extend([Resolution::Unclear { reason: "revoked".to_owned() }]);
    let post = rig.schedule("Hello", noon()).await;
    rig.live(later(3)).await;
    let record = rig.connection(0).await.connection;
    assert!(rig.store.mark_needs_reconnection(record.user_id, record.connection_id, record.generation).await.unwrap());

    rig.live(later(600)).await;
    assert!(rig.delivery(&post).await.intent.is_some());
    rig.reconnect(0, Rig::credentials(None), None).await;
    rig.live(later(7200)).await;

    assert_published_once(&rig, &post, "Hello").await;
    assert_eq!(rig.network.calls(), 1);
}

#[tokio::test]
async fn a_slow_call_shows_as_publishing() {
    let rig = Rig::new().await;
    let post = rig.schedule("Hello", noon()).await;
    let message = rig.queue.take().remove(0).1;
    let gate = rig.network.hold_publish();

    let shown = async {
        gate.entered().await;
        while rig.post(&post).await.status != PostStatus::Publishing {}
        gate.open();
    };
    let (delivered, ()) = tokio::join!(rig.publishing.deliver(&rig.platforms, message), shown);

    delivered.unwrap();
    assert_published_once(&rig, &post, "Hello").await;
}

#[tokio::test]
async fn preparation_goes_on_where_a_crash_left_it() {
    let lead = TimeDelta::minutes(10);
    let rig = Rig::with(1, Network { lead: Some(lead), ..Network::default() }).await;
    let again = |progress: &str, seconds| Ok(Step::Again { progress: progress.to_owned(), at: later(seconds) });
    let ready = Ok(Step::Ready { progress: Some("uploaded".to_owned()) });
    rig.network.steps.lock().unwrap().extend([again("one", 0), again("two", 700), ready]);
    let post = rig.schedule("Hello", later(1200)).await;

    rig.live(later(597)).await;
    assert_eq!(rig.network.prepared.lock().unwrap().len(), 0, "not before the lead");
    rig.live(later(601)).await;
    assert_eq!(rig.delivery(&post).await.progress.as_deref(), Some("two"));
    // A worker takes the next step and is never heard of again.
    let delivery = rig.delivery(&post).await;
    rig.leave(&delivery, delivery.clone().held(later(700))).await;
    rig.clock.skip_to(later(700));
    rig.live(later(700) + LEASE - TimeDelta::seconds(1)).await;
    assert_eq!(rig.network.prepared.lock().unwrap().len(), 2);
    rig.live(later(1100)).await;
    assert!(rig.delivery(&post).await.prepared);
    assert_eq!(rig.post(&post).await.status, PostStatus::Scheduled);
    rig.live(later(1300)).await;

    let given = [None, Some("one".to_owned()), Some("two".to_owned())];
    assert_eq!(*rig.network.prepared.lock().unwrap(), given);
    assert_eq!(rig.network.public.lock().unwrap()[0].progress.as_deref(), Some("uploaded"));
    assert_eq!(*rig.network.calls.lock().unwrap(), [later(1200)]);
    assert_published_once(&rig, &post, "Hello").await;
}

#[tokio::test]
async fn what_the_platform_no_longer_knows_is_prepared_anew_and_the_post_goes_out() {
    let network = Network { lead: Some(TimeDelta::minutes(10)), ..Network::default() };
    let rig = Rig::with(1, network.fated([Fate::Stale])).await;
    let ready = |progress: &str| Ok(Step::Ready { progress: Some(progress.to_owned()) });
    rig.network.steps.lock().unwrap().extend([ready("old"), ready("new")]);
    let post = rig.schedule("Hello", later(1200)).await;

    rig.live(later(1201)).await;
    let waiting = rig.post(&post).await;
    assert_eq!((waiting.status, waiting.targets[0].status), (PostStatus::Publishing, TargetStatus::Publishing));
    let words = "Sandbox no longer knows what came before the post: a file has expired. Doing that again first.";
    assert_eq!(waiting.targets[0].error_message.as_deref(), Some(words));
    rig.live(later(1300)).await;

    assert_eq!(*rig.network.prepared.lock().unwrap(), [None, None]);
    assert_eq!(rig.network.public.lock().unwrap()[0].progress.as_deref(), Some("new"));
    assert_eq!((rig.network.calls(), *rig.network.looks.lock().unwrap()), (2, 0));
    assert_published_once(&rig, &post, "Hello").await;
}

#[tokio::test]
async fn a_preparation_that_meets_a_passing_failure_is_tried_again_and_the_post_can_still_be_changed() {
    let rig = Rig::with(1, Network { lead: Some(TimeDelta::minutes(10)), ..Network::default() }).await;
    let lost = Setback::Unknown { may_still_run: true, reason: "no answer".to_owned() };
    let busy = Setback::Busy { retry_at: None, reason: "busy".to_owned() };
    rig.network.steps.lock().unwrap().extend([Err(lost), Err(busy)]);
    let post = rig.schedule("Old", later(1200)).await;

    rig.live(later(650)).await;
    assert_eq!(rig.network.prepared.lock().unwrap().len(), 3);
    let waiting = rig.post(&post).await;
    assert_eq!((waiting.status, &waiting.targets[0].error_message), (PostStatus::Scheduled, &None));
    assert!(matches!(rig.rewrite(&post, "New").await, Changed::Done(_)));
    rig.live(later(1300)).await;

    assert_eq!(rig.network.prepared.lock().unwrap().len(), 4, "the new text is prepared anew");
    assert_published_once(&rig, &post, "New").await;
    assert_eq!(*rig.network.looks.lock().unwrap(), 0);
}

#[tokio::test]
async fn a_file_that_the_platform_refuses_fails_the_post_before_its_time() {
    let rig = Rig::with(1, Network { lead: Some(TimeDelta::minutes(10)), ..Network::default() }).await;
    let refused = Setback::Refused { reason: "too dark".to_owned() };
    rig.network.steps.lock().unwrap().push_back(Err(refused));
    let post = rig.schedule("Hello", later(1200)).await;

    rig.live(later(700)).await;

    let words = failure(&rig, &post).await;
    assert!(words.starts_with("Sandbox refused what comes before the post: too dark."), "{words}");
    assert_eq!(rig.network.calls(), 0);
}

#[tokio::test]
async fn a_delivery_whose_post_is_gone_is_removed() {
    let rig = Rig::new().await;
    let post = rig.schedule("Hello", noon()).await;
    let message = rig.queue.take().remove(0).1;
    let before = rig.post(&post).await;
    let write = storage::PostWrite { before: Some(&before), ..Default::default() };
    assert_eq!(rig.store.write_post(&write, noon()).await.unwrap(), storage::PostWritten::Done);

    rig.deliver(message, 2).await;

    assert_eq!((rig.deliveries(&post).await, rig.due().await), (Vec::new(), Vec::new()));
    assert_eq!(rig.network.calls(), 0);
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

#[tokio::test]
async fn whatever_happens_a_post_goes_out_at_most_once_and_its_end_is_told_truly() {
    for seed in 0..6 {
        let mut dice = Dice(seed);
        let fates = [Fate::Public, Fate::Busy(None), Fate::LostAnswer, Fate::LostCall, Fate::TheirError, Fate::Refused];
        let fates: Vec<_> = (0..60).map(|_| fates[dice.below(6)].clone()).collect();
        let rig = Rig::with(2, Network::default().fated(fates)).await;
        let mut posts = Vec::new();
        for index in 0..4 {
            let at = later(i64::try_from(dice.below(300)).unwrap());
            posts.push(rig.schedule(&format!("post {index}"), at).await);
        }
        for step in 1..40 {
            match dice.below(6) {
                0 => drop(rig.queue.take()),
                1 => {
                    let post = &posts[dice.below(posts.len())];
                    for delivery in rig.deliveries(post).await {
                        rig.deliver(message_of(&delivery), 3).await;
                    }
                }
                2 => {
                    let post = &posts[dice.below(posts.len())];
                    rig.rewrite(post, &format!("post {} at {step}", post.post_id)).await;
                }
                _ => {}
            }
            rig.live(later(step * 20)).await;
        }
        rig.live(later(7200) + GIVE_UP_AFTER).await;

        let public = rig.network.public.lock().unwrap().clone();
        for post in &posts {
            let post = rig.post(post).await;
            for delivery in rig.deliveries(&post).await {
                let of = format!("{}-{}-", delivery.post_id, delivery.target_id);
                let texts: Vec<_> = public.iter().filter(|it| it.reference.starts_with(&of)).collect();
                let target = post.target(delivery.target_id).unwrap();
                match delivery.state {
                    State::Published(_) => {
                        assert_eq!(texts.len(), 1, "seed {seed}: {texts:?}");
                        assert_eq!(texts[0].text, post.text_of(target).as_str(), "seed {seed}");
                    }
                    State::Failed { .. } => assert_eq!(texts.len(), 0, "seed {seed}: {texts:?}"),
                    State::Waiting => panic!("seed {seed}: {delivery:?}"),
                }
            }
            assert!(matches!(post.status, PostStatus::Published | PostStatus::Failed), "seed {seed}");
        }
        assert_eq!((rig.pending(0).await, rig.pending(1).await), (0, 0), "seed {seed}");
        let counts = rig.counts().await;
        assert_eq!((counts.published + counts.failed, counts.of(None)), (4, 4), "seed {seed}");
        assert_eq!(rig.due().await, [], "seed {seed}");
    }
}

#[tokio::test]
async fn in_a_very_full_minute_a_post_goes_out_on_time_and_is_told_later() {
    let rig = Rig::new().await;
    let post = rig.schedule("Hello", later(5)).await;
    let message = rig.queue.take().remove(0).1;

    rig.clock.skip_to(later(3));
    rig.deliver(DeliveryMessage { roll_up_at: Some(later(600)), ..message }, 1).await;

    assert_eq!(*rig.network.calls.lock().unwrap(), [later(5)]);
    assert_eq!(rig.post(&post).await.status, PostStatus::Scheduled);
    rig.live(later(597)).await;
    assert_eq!(rig.post(&post).await.status, PostStatus::Scheduled, "the sweep does not hurry it");
    rig.live(later(600)).await;
    assert_published_once(&rig, &post, "Hello").await;
}

#[tokio::test]
async fn an_end_that_was_put_off_and_whose_message_was_lost_is_told_by_the_sweep() {
    let rig = Rig::new().await;
    let post = rig.schedule("Hello", noon()).await;
    let message = rig.queue.take().remove(0).1;
    rig.deliver(DeliveryMessage { roll_up_at: Some(later(300)), ..message }, 1).await;
    rig.queue.take();

    rig.live(later(300) + TICK * 3).await;

    assert_published_once(&rig, &post, "Hello").await;
}
