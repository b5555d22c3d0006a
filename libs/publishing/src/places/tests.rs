use std::time::Duration;

use cloud::queue::DeliveryMessage;
use domain::post::PostStatus;
use domain::testing::noon;

use super::*;
use crate::testing::{Fate, Network, Rig, later};

/// The same deployment as another environment of it sees it.
fn another(rig: &Rig) -> Publishing {
    Publishing { places: Places::default(), ..rig.publishing.clone() }
}

async fn fill(rig: &Rig, of: &CallsOf, places: usize, began: DateTime<Utc>) {
    for place in 0..places {
        rig.store.add_place(of, &format!("other{place}"), began, random_u64()).await.unwrap();
    }
}

#[test]
fn a_share_is_a_quarter_and_never_nothing() {
    let share = |environments| (Share { environments }.places(), Share { environments }.unasked());
    assert_eq!([2, 20, 1_000].map(share), [(1, 1), (5, 1), (250, 50)]);
}

#[tokio::test]
async fn what_finds_no_place_comes_back_later_and_no_attempt_is_counted() {
    let rig = Rig::new().await;
    let of = CallsOf::user(rig.user.user_id);
    let post = rig.schedule("Hello", noon()).await;
    fill(&rig, &of, rig.publishing.share.places(), noon() - TimeDelta::seconds(5)).await;

    rig.live(later(4)).await;
    let waiting = rig.delivery(&post).await;
    assert_eq!((rig.network.calls(), waiting.attempts, waiting.begun), (0, 0, false));
    assert!(later(10) <= waiting.look_at && waiting.look_at <= later(13), "{}", waiting.look_at);
    assert_eq!(rig.post(&post).await.status, PostStatus::Scheduled);

    // The places end by themselves.
    rig.live(noon() + LEASE + TimeDelta::seconds(60)).await;
    assert_eq!((rig.network.texts(), rig.network.calls()), (vec!["Hello".to_owned()], 1));
    assert_eq!(rig.store.open_calls(&of).await.unwrap().others("me", rig.clock.now()), 0, "all is given back");
}

#[tokio::test]
async fn calls_of_one_environment_share_a_place_and_the_last_gives_it_back() {
    let rig = Rig::with(30, Network::default()).await;
    let of = CallsOf::user(rig.user.user_id);
    let gate = rig.network.hold_publish();
    rig.schedule("Hello", noon()).await;
    let deliver = |message| {
        let (publishing, platforms) = (rig.publishing.clone(), rig.platforms.clone());
        async move { publishing.deliver(&platforms, message).await.unwrap() }
    };
    let all = futures::future::join_all(rig.queue.take().into_iter().map(|it| deliver(it.1)));
    let looked = async {
        gate.entered().await;
        let open = rig.store.open_calls(&of).await.unwrap();
        gate.open();
        open.others("me", noon())
    };

    assert_eq!(tokio::join!(all, looked).1, 1);
    assert_eq!(rig.network.calls(), 30);
    assert_eq!(rig.store.open_calls(&of).await.unwrap().others("me", noon()), 0);
}

#[tokio::test]
async fn a_single_call_takes_no_place_unless_it_is_slow() {
    let rig = Rig::new().await;
    let of = CallsOf::user(rig.user.user_id);
    let publishing = another(&rig);
    let limiter = publishing.limiter();
    let leave = || limiter.leave(of.clone(), OpenCalls::default(), 5, false);
    let open = async || rig.store.open_calls(&of).await.unwrap();

    limiter.counted(leave().await.unwrap().unwrap(), async {}).await;
    assert_eq!(open().await, OpenCalls::default());

    let seen = limiter.counted(leave().await.unwrap().unwrap(), async {
        tokio::time::sleep(COUNTED_AFTER + Duration::from_millis(200)).await;
        open().await.others("me", noon())
    });
    assert_eq!(Box::pin(seen).await, 1);
    assert_eq!(open().await.others("me", noon()), 0);
}

#[tokio::test]
async fn places_that_fast_calls_hold_are_waited_for() {
    let rig = Rig::new().await;
    let of = CallsOf::user(rig.user.user_id);
    fill(&rig, &of, 1, noon()).await;
    let open = rig.store.open_calls(&of).await.unwrap();
    // It is given back while this one waits for it.
    let (publishing, store) = (another(&rig), rig.store.clone());
    let limiter = publishing.limiter();
    let (leave, _) = tokio::join!(limiter.leave(of.clone(), open, 1, true), store.give_back_place(&of, "other0"));

    assert!(leave.unwrap().unwrap().place.is_some());
    assert!(rig.clock.now() < later(1));
}

#[tokio::test]
async fn of_a_crowd_whose_calls_are_fast_nobody_is_put_off() {
    let rig = Rig::new().await;
    let of = CallsOf::user(rig.user.user_id);
    let most = rig.publishing.share.places();
    // The time of the machine: who waits must not move it on for the others.
    let environments: Vec<_> = (0..5 * most).map(|_| Publishing { clock: Clock::System, ..another(&rig) }).collect();

    let calls = environments.iter().map(async |it| {
        let leave = it.limiter().leave(of.clone(), OpenCalls::default(), most, true).await.unwrap()?;
        it.limiter().counted(leave, tokio::time::sleep(Duration::from_millis(20))).await;
        Some(())
    });
    let called = futures::future::join_all(calls).await;

    assert_eq!(called.into_iter().flatten().count(), environments.len());
}

#[tokio::test]
async fn a_call_that_is_to_be_alone_gets_the_only_permit_also_within_an_environment() {
    let rig = Rig::new().await;
    let of = CallsOf::host("slow.example");
    let limiter = rig.publishing.limiter();
    let open = async || rig.store.open_calls(&of).await.unwrap();

    let first = limiter.leave_alone(of.clone(), &open().await).await.unwrap().unwrap();
    assert!(limiter.leave_alone(of.clone(), &open().await).await.unwrap().is_none());
    limiter.no_call(first).await;
    let read = open().await;
    assert!(limiter.leave_alone(of.clone(), &read).await.unwrap().is_some());
    assert!(limiter.leave_alone(of.clone(), &read).await.unwrap().is_none(), "another call was faster");
}

async fn leave_for(publishing: &Publishing, host: &str) -> Option<HostLeave> {
    publishing.leave_for_host(Some(host.to_owned())).await.unwrap()
}

fn within(leave: Option<HostLeave>) -> Option<Duration> {
    leave.unwrap().0.unwrap().within
}

/// A call of this host that took too long, and failed or did not.
async fn too_slow(rig: &Rig, host: &str, failed: bool) {
    let leave = leave_for(&rig.publishing, host).await.unwrap();
    let call = async { rig.clock.skip_to(rig.clock.now() + TOO_SLOW) };
    rig.publishing.within(leave, call, |_| failed).await.unwrap();
}

#[tokio::test]
async fn a_host_that_is_too_slow_again_and_again_gets_one_place_and_little_time() {
    let rig = Rig::new().await;
    let host = || leave_for(&rig.publishing, "slow.example");
    for _ in 0..STRIKES {
        assert_eq!(within(host().await), None);
        too_slow(&rig, "slow.example", true).await;
    }

    let leave = host().await.unwrap();
    assert_eq!(leave.0.as_ref().unwrap().within, Some(STRUCK_WITHIN));
    let open = rig.store.open_calls(&CallsOf::host("slow.example")).await.unwrap();
    assert_eq!(open.others("another", rig.clock.now()), 1);
    rig.clock.skip_to(rig.clock.now() + TimeDelta::seconds(2));
    assert!(leave_for(&another(&rig), "slow.example").await.is_none(), "the one place is held");

    rig.publishing.within(leave, async {}, |()| true).await.unwrap();
    assert_eq!(within(host().await), None, "it answered in time");
}

#[tokio::test]
async fn a_slow_step_that_succeeds_is_no_strike_against_its_host() {
    let rig = Rig::new().await;
    for _ in 0..STRIKES {
        too_slow(&rig, "busy.example", false).await;
    }
    assert_eq!(within(leave_for(&rig.publishing, "busy.example").await), None);
}

#[tokio::test]
async fn a_place_is_free_again_when_no_call_is_made_and_when_a_delivery_dies() {
    let rig = Rig::new().await;
    for _ in 0..STRIKES {
        too_slow(&rig, "slow.example", true).await;
    }
    let of = CallsOf::host("slow.example");
    let held = async || rig.store.open_calls(&of).await.unwrap().others("another", rig.clock.now());

    let unused = leave_for(&rig.publishing, "slow.example").await.unwrap();
    assert_eq!(held().await, 1);
    rig.publishing.no_call(unused).await;
    assert_eq!(held().await, 0);

    drop(leave_for(&rig.publishing, "slow.example").await.unwrap());
    assert!(rig.publishing.places.all().is_empty(), "it is not counted for ever");
    let next = leave_for(&rig.publishing, "slow.example").await.unwrap();
    rig.publishing.no_call(next).await;
    assert_eq!(held().await, 0, "the next gives it back");
}

#[tokio::test]
async fn a_call_that_takes_longer_than_a_slow_host_may_is_cut_off() {
    let rig = Rig::new().await;
    let mut leave = leave_for(&rig.publishing, "slow.example").await.unwrap();
    leave.0.as_mut().unwrap().within = Some(Duration::from_millis(10));

    assert_eq!(rig.publishing.within(leave, std::future::pending::<()>(), |()| true).await, None);
}

#[tokio::test]
async fn only_a_crowd_of_one_user_and_second_asks_for_places() {
    let rig = Rig::with(3, Network::default()).await;
    rig.schedule("three at once", later(400)).await;
    rig.schedule("a second later", later(401)).await;
    rig.clock.skip_to(later(300));
    rig.queue.take();

    rig.publishing.plan().await.unwrap();

    let mut asked: Vec<_> = rig.queue.take().iter().map(|it| it.1.in_a_crowd).collect();
    asked.sort_unstable();
    assert_eq!(asked, [false, false, true, true, true, true]);
}

#[tokio::test]
async fn what_is_tried_again_asks_for_a_place() {
    let rig = Rig::with(1, Network::default().fated([Fate::Busy(None)])).await;
    rig.schedule("Hello", later(400)).await;
    rig.clock.skip_to(later(399));
    rig.queue.take();
    rig.publishing.plan().await.unwrap();
    let [(_, message)] = rig.queue.take()[..] else { panic!() };
    assert!(!message.in_a_crowd);

    rig.deliver(message, 1).await;

    let [(_, DeliveryMessage { in_a_crowd, .. })] = rig.queue.take()[..] else { panic!() };
    assert!(in_a_crowd);
}
